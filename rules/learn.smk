"""DAGs and tokens -> weights -> schedules."""

NETWORK = dict(
    dags=DAGS,
    splits=SPLITS,
    tokens="data/tokens/tokens.parquet",
    vocabulary="data/tokens/vocabulary.parquet",
)


rule train:
    input:
        **NETWORK,
        src=src("train"),
    output:
        weights=WEIGHTS,
        history=HISTORIES,
    params:
        settings=lambda w: section("experiments", w.experiment, "models", w.model),
        sampler=P.split.sampler,
    log:
        "logs/train/{experiment}/{dependencies}/{model}/{seed}.log",
    benchmark:
        "benchmarks/rules/train/{experiment}/{dependencies}/{model}/{seed}.tsv"
    priority: 10
    message:
        "Training {wildcards.model} (experiment {wildcards.experiment}, dependencies {wildcards.dependencies}, seed {wildcards.seed})"
    shell:
        "python -m pipeline.stages.train --settings {params.settings:q} --seed {wildcards.seed}"
        " --sampler {params.sampler}"
        " --dags {input.dags} --splits {input.splits} --tokens {input.tokens} --vocabulary {input.vocabulary}"
        " --weights {output.weights} --history {output.history} 2> >(tee {log} >&2)"


rule schedule:
    input:
        **NETWORK,
        src=lambda w: src("schedule", f"pipeline.blocks.schedulers.{P.schedulers[w.scheduler].method}"),
        weights=weights,
    output:
        schedules="data/schedules/{experiment}/{dependencies}/{scheduler}/{split}/{seed}.parquet",
    params:
        settings=lambda w: section("schedulers", w.scheduler),
        training=lambda w: (
            section("experiments", w.experiment, "models", P.schedulers[w.scheduler].model)
            if P.schedulers[w.scheduler].model
            else "null"
        ),
    log:
        "logs/schedule/{experiment}/{dependencies}/{scheduler}/{split}/{seed}.log",
    benchmark:
        "benchmarks/rules/schedule/{experiment}/{dependencies}/{scheduler}/{split}/{seed}.tsv"
    message:
        "Scheduling {wildcards.split} blocks with {wildcards.scheduler} (experiment {wildcards.experiment}, dependencies {wildcards.dependencies}, seed {wildcards.seed})"
    shell:
        "python -m pipeline.stages.schedule --settings {params.settings:q} --training {params.training:q}"
        " --seed {wildcards.seed} --split {wildcards.split}"
        " --dags {input.dags} --splits {input.splits} --tokens {input.tokens} --vocabulary {input.vocabulary}"
        " --weights '{input.weights}' --out {output.schedules} 2> >(tee {log} >&2)"


rule sweep:
    input:
        **NETWORK,
        src=src("sweep"),
        weights="data/models/{experiment}/{dependencies}/popocs/{seed}/weights.safetensors",
    output:
        sweep="data/sweep/{experiment}/{dependencies}/{seed}.parquet",
    params:
        training=lambda w: section("experiments", w.experiment, "models", "popocs"),
        settings=section("evaluation", "sweep_iterations"),
    log:
        "logs/sweep/{experiment}/{dependencies}/{seed}.log",
    benchmark:
        "benchmarks/rules/sweep/{experiment}/{dependencies}/{seed}.tsv"
    message:
        "Violations against test-time iterations (Figure 3), seed {wildcards.seed}"
    shell:
        "python -m pipeline.stages.sweep --settings {params.settings:q} --training {params.training:q}"
        " --seed {wildcards.seed} --weights {input.weights}"
        " --dags {input.dags} --splits {input.splits} --tokens {input.tokens} --vocabulary {input.vocabulary}"
        " --out {output.sweep} 2> >(tee {log} >&2)"


rule examples:
    input:
        **NETWORK,
        src=src("examples"),
        blocks="data/corpus/blocks.parquet",
        sinkhorn=first_seed("sinkhorn"),
        popocs=first_seed("popocs"),
    output:
        examples="data/examples/{experiment}/{dependencies}.parquet",
    params:
        models=lambda w: section("experiments", w.experiment, "models"),
        settings=section("evaluation", "example_blocks"),
    log:
        "logs/examples/{experiment}/{dependencies}.log",
    benchmark:
        "benchmarks/rules/examples/{experiment}/{dependencies}.tsv"
    message:
        "Example blocks with their matrices before and after projection"
    shell:
        "python -m pipeline.stages.examples --settings {params.settings:q} --models {params.models:q}"
        " --sinkhorn {input.sinkhorn} --popocs {input.popocs} --blocks {input.blocks}"
        " --dags {input.dags} --splits {input.splits} --tokens {input.tokens} --vocabulary {input.vocabulary}"
        " --out {output.examples} 2> >(tee {log} >&2)"


rule trial:
    input:
        dags=DAGS.format(dependencies=P.trials.dependencies),
        splits=SPLITS.format(dependencies=P.trials.dependencies),
        tokens=NETWORK["tokens"],
        vocabulary=NETWORK["vocabulary"],
        src=src("train"),
    output:
        weights=temp("data/trials/{trial}.safetensors"),
        history="data/trials/{trial}.parquet",
    params:
        settings=lambda w: section("trials", "models", w.trial),
        seed=P.trials.seed,
        sampler=P.split.sampler,
    log:
        "logs/trial/{trial}.log",
    benchmark:
        "benchmarks/rules/trial/{trial}.tsv"
    message:
        "Trying {wildcards.trial} on the development split"
    shell:
        "python -m pipeline.stages.train --settings {params.settings:q} --seed {params.seed} --sampler {params.sampler}"
        " --dags {input.dags} --splits {input.splits} --tokens {input.tokens} --vocabulary {input.vocabulary}"
        " --weights {output.weights} --history {output.history} 2> >(tee {log} >&2)"


rule tuning:
    """Freeze what was tried beside the report, as `publish` does for experiments."""
    input:
        src=src("tuning"),
        histories=expand("data/trials/{trial}.parquet", trial=P.trials.models),
    output:
        touch("data/published/tuning.done"),
    params:
        settings=section("trials"),
    log:
        "logs/tuning.log",
    benchmark:
        "benchmarks/rules/tuning.tsv"
    message:
        "Publishing what was tried in reports/tuning/trials.csv"
    shell:
        "python -m pipeline.stages.tuning --settings {params.settings:q}"
        " --histories {input.histories} --out reports/tuning/trials.csv 2> >(tee {log} >&2)"
