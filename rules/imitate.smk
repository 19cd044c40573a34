"""Blocks of all lengths -> imitators of GCC -> schedules of named sets -> metrics."""

IMITATOR = "data/imitations/{imitation}/{imitator}/{seed}"
CORPORA = {  # name -> its blocks and DAGs; they are never mixed
    "released": ("data/corpus/blocks.parquet", DAGS.format(dependencies="full")),
    "compiled": ("data/compiled/blocks.parquet", "data/compiled/dags.parquet"),
}


def blocks_of(corpus):
    """Tables of blocks of a corpus as a network reads them."""
    instructions = f"data/instructions/{corpus}"
    return dict(
        encodings=f"{instructions}/encodings.parquet",
        instructions=f"{instructions}/blocks.parquet",
        dags=CORPORA[corpus][1],
    )


def corpus_of(wildcards):
    """Corpus of the wildcard's set, or of its imitation."""
    named = getattr(wildcards, "set", None) or P.imitations[wildcards.imitation].tested[0]
    return P.sets[named].corpus


def table(name):
    """One of `blocks_of` the wildcard's corpus, as an input function."""
    return lambda wildcards: blocks_of(corpus_of(wildcards))[name]


INSTRUCTIONS = {name: table(name) for name in ("encodings", "instructions", "dags")}


def stored_orders(wildcards):
    """Table that holds the input orders of the wildcard's set; POCSNet's splits say what is held out."""
    if P.sets[wildcards.set].input == "before_scheduling":
        return "data/compiled/input_orders.parquet"
    return SPLITS.format(dependencies="full") if P.sets[wildcards.set].corpus == "released" else []


def of_imitation(pattern):
    """Paths of all its models and baselines, tested sets and seeds, as an input function."""

    def paths(wildcards):
        chosen = P.imitations[wildcards.imitation]
        trained = [
            path
            for model in chosen.models
            for path in expand(
                pattern,
                imitation=wildcards.imitation,
                imitator=model,
                set=chosen.tested,
                seed=chosen.seeds_of(model),
            )
        ]
        simple = expand(
            pattern,
            imitation=wildcards.imitation,
            imitator=chosen.baselines,
            set=chosen.tested,
            seed=chosen.seeds[0],
        )
        return sorted({*trained, *(simple if "{set}" in pattern else [])})

    return paths


def imitator_weights(wildcards):
    """Weights of the wildcard's imitator; none of a baseline."""
    trained = wildcards.imitator in P.imitations[wildcards.imitation].models
    return IMITATOR + "/weights.safetensors" if trained else []


def architecture(settings):
    """Modules of an imitator's encoder and head, which are imported by name."""
    return f"pipeline.blocks.models.encoders.{settings.encoder.kind}", f"pipeline.blocks.models.heads.{settings.head.kind}"


def architectures(wildcards):
    """The same of all imitators of the wildcard's imitation."""
    models = P.imitations[wildcards.imitation].models.values()
    return sorted({module for settings in models for module in architecture(settings)})


def scheduler(wildcards):
    """Settings of the wildcard's imitator or baseline as a scheduler."""
    trained = wildcards.imitator in P.imitations[wildcards.imitation].models
    return {"method": "ordering"} if trained else config["schedulers"][wildcards.imitator]


rule following:
    """Of the released corpus alone: the compiled programs are not kept."""
    input:
        src=src("following"),
        manifest="data/corpus/manifest.parquet",
        artifacts=expand("data/raw/{source}", source=sorted(P.corpus.sources)),
        blocks="data/corpus/blocks.parquet",
    output:
        following="data/following/released.parquet",
    params:
        settings=section("corpus"),
    log:
        "logs/following.log",
    benchmark:
        "benchmarks/rules/following.tsv"
    message:
        "Reading what stands behind every block in its program"
    shell:
        "python -m pipeline.stages.following --settings {params.settings:q} --manifest {input.manifest}"
        " --blocks {input.blocks} --out {output.following} 2> >(tee {log} >&2)"


rule instructions:
    input:
        src=src("instructions"),
        blocks=lambda w: CORPORA[w.corpus][0],
        following=lambda w: "data/following/released.parquet" if w.corpus == "released" else [],
    output:
        encodings="data/instructions/{corpus}/encodings.parquet",
        instructions="data/instructions/{corpus}/blocks.parquet",
    log:
        "logs/instructions/{corpus}.log",
    benchmark:
        "benchmarks/rules/instructions/{corpus}.tsv"
    message:
        "Describing every distinct instruction of the {wildcards.corpus} corpus"
    shell:
        "python -m pipeline.stages.instructions --blocks {input.blocks} --following '{input.following}'"
        " --encodings {output.encodings} --instructions {output.instructions} 2> >(tee {log} >&2)"


rule sets:
    input:
        src=src("sets"),
        blocks=lambda w: CORPORA[corpus_of(w)][0],
        instructions=INSTRUCTIONS["instructions"],
        dags=INSTRUCTIONS["dags"],
        stored=stored_orders,
    output:
        chosen="data/sets/{set}.parquet",
    params:
        settings=lambda w: section("sets", w.set),
        seed=P.split.seed,
        sampler=P.split.sampler,
    log:
        "logs/sets/{set}.log",
    benchmark:
        "benchmarks/rules/sets/{set}.tsv"
    message:
        "Choosing the blocks of {wildcards.set}, of all lengths, and their input orders"
    shell:
        "python -m pipeline.stages.sets --name {wildcards.set} --settings {params.settings:q} --seed {params.seed}"
        " --sampler {params.sampler} --blocks {input.blocks} --instructions {input.instructions}"
        " --dags {input.dags} --stored '{input.stored}' --out {output.chosen} 2> >(tee {log} >&2)"


rule imitate:
    input:
        **INSTRUCTIONS,
        src=lambda w: src("imitate", *architecture(P.imitations[w.imitation].models[w.imitator])),
        training=lambda w: f"data/sets/{P.imitations[w.imitation].models[w.imitator].training}.parquet",
        development=lambda w: f"data/sets/{P.imitations[w.imitation].models[w.imitator].development}.parquet",
    output:
        weights=IMITATOR + "/weights.safetensors",
        history=IMITATOR + "/history.parquet",
    params:
        settings=lambda w: section("imitations", w.imitation, "models", w.imitator),
    threads: lambda w: P.imitations[w.imitation].models[w.imitator].threads
    priority: 10
    log:
        "logs/imitate/{imitation}/{imitator}/{seed}.log",
    benchmark:
        "benchmarks/rules/imitate/{imitation}/{imitator}/{seed}.tsv"
    message:
        "Training {wildcards.imitator} on GCC's orders ({wildcards.imitation}, seed {wildcards.seed})"
    shell:
        "python -m pipeline.stages.imitate --settings {params.settings:q} --seed {wildcards.seed}"
        " --encodings {input.encodings} --instructions {input.instructions} --dags {input.dags}"
        " --training {input.training} --development {input.development}"
        " --weights {output.weights} --history {output.history} 2> >(tee {log} >&2)"


rule schedule_set:
    input:
        **INSTRUCTIONS,
        src=lambda w: src("schedule_set", f"pipeline.blocks.schedulers.{scheduler(w)['method']}"),
        weights=imitator_weights,
        chosen="data/sets/{set}.parquet",
    output:
        schedules="data/imitated/{imitation}/{imitator}/{set}/{seed}/schedules.parquet",
        confidence="data/imitated/{imitation}/{imitator}/{set}/{seed}/confidence.parquet",
    params:
        scheduler=lambda w: json.dumps(scheduler(w), sort_keys=True),
    log:
        "logs/schedule_set/{imitation}/{imitator}/{set}/{seed}.log",
    benchmark:
        "benchmarks/rules/schedule_set/{imitation}/{imitator}/{set}/{seed}.tsv"
    message:
        "Scheduling {wildcards.set} with {wildcards.imitator} ({wildcards.imitation}, seed {wildcards.seed})"
    shell:
        "python -m pipeline.stages.schedule_set --scheduler {params.scheduler:q} --seed {wildcards.seed} --set {input.chosen}"
        " --encodings {input.encodings} --instructions {input.instructions} --dags {input.dags}"
        " --weights '{input.weights}' --machine '' --out {output.schedules} --confidence {output.confidence} 2> >(tee {log} >&2)"


rule evaluate_sets:
    input:
        src=src("evaluate_sets"),
        blocks=lambda w: CORPORA[corpus_of(w)][0],
        dags=INSTRUCTIONS["dags"],
        sets=lambda w: expand("data/sets/{set}.parquet", set=P.imitations[w.imitation].tested),
        schedules=of_imitation("data/imitated/{imitation}/{imitator}/{set}/{seed}/schedules.parquet"),
    output:
        results="data/imitations/{imitation}/results.parquet",
        parts="data/imitations/{imitation}/parts.parquet",
    params:
        settings=section("evaluation", only=["bootstrap_samples", "confidence"]),
    log:
        "logs/evaluate_sets/{imitation}.log",
    benchmark:
        "benchmarks/rules/evaluate_sets/{imitation}.tsv"
    message:
        "Metrics of imitators with intervals ({wildcards.imitation})"
    shell:
        "python -m pipeline.stages.evaluate_sets --experiment {wildcards.imitation} --settings {params.settings:q}"
        " --blocks {input.blocks} --dags {input.dags} --sets {input.sets} --schedules {input.schedules}"
        " --results {output.results} --parts {output.parts} 2> >(tee {log} >&2)"


rule publish_imitation:
    """Freeze an imitation's numbers beside the report: it is trained once and committed."""
    input:
        src=lambda w: src("publish_imitation", *architectures(w)),
        results="data/imitations/{imitation}/results.parquet",
        parts="data/imitations/{imitation}/parts.parquet",
        histories=of_imitation(IMITATOR + "/history.parquet"),
        weights=of_imitation(IMITATOR + "/weights.safetensors"),
        training=lambda w: sorted({f"data/sets/{m.training}.parquet" for m in P.imitations[w.imitation].models.values()}),
    output:
        touch("data/published/{imitation}.done"),
    log:
        "logs/publish_imitation/{imitation}.log",
    benchmark:
        "benchmarks/rules/publish_imitation/{imitation}.tsv"
    message:
        "Publishing the results of {wildcards.imitation} in reports/published"
    shell:
        "python -m pipeline.stages.publish_imitation --experiment {wildcards.imitation} --results {input.results}"
        " --parts {input.parts} --histories {input.histories} --weights {input.weights} --training {input.training}"
        " --out reports/published 2> >(tee {log} >&2)"


SHIPPED, SHIPPED_SETTINGS = next(iter(P.imitations["imitation"].models.items()))


def trainings_of_shipped(pattern):
    return expand(pattern, imitation="imitation", imitator=SHIPPED, seed=P.imitations["imitation"].seeds_of(SHIPPED))


rule ship:
    """The first imitator of the main experiment, into the package."""
    input:
        src=src("ship", *architecture(SHIPPED_SETTINGS)),
        weights=trainings_of_shipped(IMITATOR + "/weights.safetensors"),
        histories=trainings_of_shipped(IMITATOR + "/history.parquet"),
        results="data/imitations/imitation/results.parquet",
        training=f"data/sets/{SHIPPED_SETTINGS.training}.parquet",
    output:
        touch("data/published/shipped.done"),
    params:
        sources=section("sets", SHIPPED_SETTINGS.training, "sources"),
    log:
        "logs/ship.log",
    benchmark:
        "benchmarks/rules/ship.tsv"
    message:
        "Putting the best imitator into the package, with its model card"
    shell:
        "python -m pipeline.stages.ship --weights {input.weights} --histories {input.histories}"
        " --results {input.results} --training {input.training} --sources {params.sources:q} 2> >(tee {log} >&2)"


rule ceiling:
    input:
        **INSTRUCTIONS,
        src=src("ceiling"),
        blocks="data/corpus/blocks.parquet",
        training="data/sets/training.parquet",
        sets=lambda w: expand("data/sets/{set}.parquet", set=["development", *P.imitations[w.imitation].tested]),
    output:
        ceiling="data/imitations/{imitation}/ceiling.parquet",
        twins="data/imitations/{imitation}/twins.parquet",
    params:
        source=P.sets["training"].sources[0],
    log:
        "logs/ceiling/{imitation}.log",
    benchmark:
        "benchmarks/rules/ceiling/{imitation}.tsv"
    message:
        "Orders of blocks that are equal up to renaming ({wildcards.imitation})"
    shell:
        "python -m pipeline.stages.ceiling --source {params.source} --blocks {input.blocks}"
        " --encodings {input.encodings} --instructions {input.instructions} --dags {input.dags}"
        " --training {input.training} --sets {input.sets} --out {output.ceiling} --twins-out {output.twins}"
        " 2> >(tee {log} >&2)"


rule audit:
    input:
        **blocks_of("released"),
        src=src("audit"),
        blocks="data/corpus/blocks.parquet",
        chosen="data/sets/development.parquet",
    output:
        audit="data/imitations/audit.parquet",
    params:
        seed=P.split.seed,
        sampler=P.split.sampler,
        confidence=P.evaluation.confidence,
    log:
        "logs/audit.log",
    benchmark:
        "benchmarks/rules/audit.tsv"
    message:
        "Sorting instructions by every feature of an imitator alone"
    shell:
        "python -m pipeline.stages.audit --seed {params.seed} --sampler {params.sampler}"
        " --confidence {params.confidence} --blocks {input.blocks} --encodings {input.encodings}"
        " --instructions {input.instructions} --dags {input.dags} --set {input.chosen} --out {output.audit} 2> >(tee {log} >&2)"


def first_decoder(wildcards):
    """Of the head of the wildcard's imitator: its confidence is of that decoder's orders."""
    head = P.imitations[wildcards.imitation].models[wildcards.imitator].head.kind
    return "greedy" if head in ("pointer", "pairwise") else "best"


rule errors:
    input:
        **INSTRUCTIONS,
        src=src("errors"),
        blocks=lambda w: CORPORA[corpus_of(w)][0],
        schedules="data/imitated/{imitation}/{imitator}/{set}/{seed}/schedules.parquet",
        confidence="data/imitated/{imitation}/{imitator}/{set}/{seed}/confidence.parquet",
    output:
        errors="data/imitations/{imitation}/errors/{imitator}/{set}/{seed}.parquet",
        shares="data/imitations/{imitation}/error_shares/{imitator}/{set}/{seed}.parquet",
    params:
        decoder=first_decoder,
        n_blocks=200,
        seed=P.split.seed,
        level=P.evaluation.confidence,
    log:
        "logs/errors/{imitation}/{imitator}/{set}/{seed}.log",
    benchmark:
        "benchmarks/rules/errors/{imitation}/{imitator}/{set}/{seed}.tsv"
    message:
        "Sorting wrong blocks of {wildcards.imitator} on {wildcards.set} by kind ({wildcards.imitation})"
    shell:
        "python -m pipeline.stages.errors --decoder {params.decoder} --n-blocks {params.n_blocks} --seed {params.seed}"
        " --level {params.level} --blocks {input.blocks} --encodings {input.encodings}"
        " --instructions {input.instructions} --dags {input.dags} --schedules {input.schedules}"
        " --confidence {input.confidence} --out {output.errors} --shares-out {output.shares} 2> >(tee {log} >&2)"


def published_errors(kind):
    """Table `errors` or `error_shares` that is published, as an input function.

    Of the main experiment's first model and seed, on the test blocks of all lengths from the programs trained on.
    """

    def path(wildcards):
        main = P.imitations["imitation"]
        return f"data/imitations/imitation/{kind}/{next(iter(main.models))}/test_4_40/{main.seeds[0]}.parquet"

    return path


rule publish_imitation_evidence:
    """Freeze what bounds the main experiment's imitators beside the report: it is measured once and committed."""
    input:
        src=src("publish_imitation_evidence"),
        ceiling="data/imitations/imitation/ceiling.parquet",
        twins="data/imitations/imitation/twins.parquet",
        audit="data/imitations/audit.parquet",
        errors=published_errors("errors"),
        shares=published_errors("error_shares"),
    output:
        touch("data/published/imitation_evidence.done"),
    log:
        "logs/publish_imitation_evidence.log",
    benchmark:
        "benchmarks/rules/publish_imitation_evidence.tsv"
    message:
        "Publishing ceiling, twins, wrong blocks and audit of the imitators in reports/published"
    shell:
        "python -m pipeline.stages.publish_imitation_evidence --ceiling {input.ceiling} --twins {input.twins}"
        " --audit {input.audit} --errors {input.errors} --shares {input.shares} --out reports/published"
        " 2> >(tee {log} >&2)"
