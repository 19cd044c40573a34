"""Every scheduler on processor models: best orders, networks that learn them, cycles by llvm-mca."""

IN_ORDER = next(iter(P.scheduling.machines))  # the processor whose optimum can be proven
MACHINE = "data/instructions/released/machines/{machine}.parquet"
OPTIMA = "data/optima/{machine}/{exact}/{set}.parquet"
SCHEDULED = "data/scheduling/{set}/{machine}/{scheduler}/{seed}/schedules.parquet"
LEARNED = "data/scheduling/models/{scheduler}/{seed}"
CYCLES = "data/scheduling/{set}/{machine}/cycles_{iterations}.parquet"
POLICY = "data/scheduling/policies/{machine}/{scheduler}.safetensors"


def judge(machine, iterations):
    """JSON of llvm-mca's settings for a processor."""
    return P.scheduling.machines[machine].machine(int(iterations)).model_dump_json()


def settings_of(scheduler):
    """JSON of a scheduler's settings; a network that learned best orders has none."""
    trained = scheduler in P.scheduling.models
    return json.dumps({"method": "ordering"} if trained else config["scheduling"]["schedulers"][scheduler], sort_keys=True)


def weights_of(wildcards):
    """What the wildcard's scheduler is loaded from."""
    name = wildcards.scheduler
    if name in P.scheduling.models:
        return LEARNED + "/weights.safetensors"
    chosen = P.scheduling.schedulers[name]
    if chosen.learning is not None:
        return POLICY
    return f"data/imitations/imitation/{chosen.model}/{{seed}}/weights.safetensors" if chosen.model else []


def seeds_of(scheduler):
    trained = scheduler in P.scheduling.models or P.scheduling.schedulers[scheduler].model is not None
    return P.scheduling.seeds if trained else P.scheduling.seeds[:1]


def best_orders(purpose):
    """Tables `optima` that the wildcard's network learns from, as an input function."""

    def paths(wildcards):
        model = P.scheduling.models[wildcards.scheduler]
        return [
            OPTIMA.format(machine=name, exact=P.scheduling.machines[name].best, set=getattr(model, purpose))
            for name in model.machines
        ]

    return paths


def serves(scheduler, machine):
    """Whether a scheduler is run for a machine."""
    if scheduler in P.scheduling.models:
        return machine in P.scheduling.models[scheduler].machines
    wanted = P.scheduling.schedulers[scheduler].machines
    return wanted is None or machine in wanted


def schedules_on(split, machine):
    """Schedules of a set for a machine, of every scheduler and seed."""
    return [
        SCHEDULED.format(set=split, machine=machine, scheduler=name, seed=seed)
        for name in (*P.scheduling.schedulers, *P.scheduling.models)
        if serves(name, machine)
        for seed in seeds_of(name)
    ]


def judged():
    """Tables of cycles of each tested set on each machine."""
    return [
        CYCLES.format(set=split, machine=name, iterations=iterations)
        for split in P.scheduling.tested
        for name, one in P.scheduling.machines.items()
        for iterations in one.iterations
    ]


rule optima:
    input:
        src=lambda w: src("optima", f"pipeline.blocks.schedulers.{P.scheduling.schedulers[w.exact].method}"),
        chosen="data/sets/{set}.parquet",
        blocks="data/corpus/blocks.parquet",
        instructions=blocks_of("released")["instructions"],
        dags=blocks_of("released")["dags"],
        machine=MACHINE,
    output:
        optima=OPTIMA,
    params:
        scheduler=lambda w: settings_of(w.exact),
        settings=lambda w: judge(w.machine, 1),
        seed=P.split.seed,
    log:
        "logs/optima/{machine}/{exact}/{set}.log",
    benchmark:
        "benchmarks/rules/optima/{machine}/{exact}/{set}.tsv"
    message:
        "Finding the best orders of {wildcards.set} on {wildcards.machine} ({wildcards.exact})"
    shell:
        "python -m pipeline.stages.optima --scheduler {params.scheduler:q} --seed {params.seed} --set {input.chosen}"
        " --blocks {input.blocks} --instructions {input.instructions} --dags {input.dags}"
        " --machine {wildcards.machine} --settings {params.settings:q} --table {input.machine} --out {output.optima}"
        " 2> >(tee {log} >&2)"


rule learn_optima:
    input:
        **blocks_of("released"),
        src=lambda w: src("imitate", *architecture(P.scheduling.models[w.scheduler])),
        training=lambda w: f"data/sets/{P.scheduling.models[w.scheduler].training}.parquet",
        development=lambda w: f"data/sets/{P.scheduling.models[w.scheduler].development}.parquet",
        machines=lambda w: expand(MACHINE, machine=P.scheduling.models[w.scheduler].machines),
        best_training=best_orders("training"),
        best_development=best_orders("development"),
    output:
        weights=LEARNED + "/weights.safetensors",
        history=LEARNED + "/history.parquet",
    params:
        settings=lambda w: section("scheduling", "models", w.scheduler),
    threads: lambda w: P.scheduling.models[w.scheduler].threads
    log:
        "logs/learn_optima/{scheduler}/{seed}.log",
    benchmark:
        "benchmarks/rules/learn_optima/{scheduler}/{seed}.tsv"
    message:
        "Training {wildcards.scheduler} on the best orders found (seed {wildcards.seed})"
    shell:
        "python -m pipeline.stages.imitate --settings {params.settings:q} --seed {wildcards.seed}"
        " --encodings {input.encodings} --instructions {input.instructions} --dags {input.dags}"
        " --training {input.training} --development {input.development}"
        " --machine {input.machines} --best-training {input.best_training} --best-development {input.best_development}"
        " --weights {output.weights} --history {output.history} 2> >(tee {log} >&2)"


rule learn_policy:
    input:
        src=src("learn_policy"),
        machine=MACHINE,
        instructions=blocks_of("released")["instructions"],
        dags=blocks_of("released")["dags"],
        training=f"data/sets/{next(iter(P.scheduling.models.values())).training}.parquet",
    output:
        weights=POLICY,
    params:
        settings=lambda w: section("scheduling", "schedulers", w.scheduler, "learning"),
        seed=P.split.seed,
    log:
        "logs/learn_policy/{machine}/{scheduler}.log",
    benchmark:
        "benchmarks/rules/learn_policy/{machine}/{scheduler}.tsv"
    message:
        "Learning {wildcards.scheduler} for {wildcards.machine} from rollouts"
    shell:
        "python -m pipeline.stages.learn_policy --settings {params.settings:q} --seed {params.seed}"
        " --machine {input.machine} --instructions {input.instructions} --dags {input.dags}"
        " --training {input.training} --weights {output.weights} 2> >(tee {log} >&2)"


rule schedule_machine:
    input:
        **blocks_of("released"),
        src=lambda w: src("schedule_set", f"pipeline.blocks.schedulers.{json.loads(settings_of(w.scheduler))['method']}"),
        weights=weights_of,
        chosen="data/sets/{set}.parquet",
        machine=MACHINE,
    output:
        schedules=SCHEDULED,
        confidence="data/scheduling/{set}/{machine}/{scheduler}/{seed}/confidence.parquet",
    params:
        scheduler=lambda w: settings_of(w.scheduler),
    log:
        "logs/schedule_machine/{set}/{machine}/{scheduler}/{seed}.log",
    benchmark:
        "benchmarks/rules/schedule_machine/{set}/{machine}/{scheduler}/{seed}.tsv"
    message:
        "Scheduling {wildcards.set} for {wildcards.machine} with {wildcards.scheduler} (seed {wildcards.seed})"
    shell:
        "python -m pipeline.stages.schedule_set --scheduler {params.scheduler:q} --seed {wildcards.seed}"
        " --set {input.chosen} --encodings {input.encodings} --instructions {input.instructions} --dags {input.dags}"
        " --weights '{input.weights}' --machine {input.machine} --out {output.schedules}"
        " --confidence {output.confidence} 2> >(tee {log} >&2)"


rule cycles:
    input:
        src=src("latency"),
        blocks="data/corpus/blocks.parquet",
        dags=blocks_of("released")["dags"],
        schedules=lambda w: schedules_on(w.set, w.machine),
    output:
        latency=CYCLES,
    params:
        settings=lambda w: judge(w.machine, w.iterations),
    threads: 2
    log:
        "logs/cycles/{set}/{machine}/{iterations}.log",
    benchmark:
        "benchmarks/rules/cycles/{set}/{machine}/{iterations}.tsv"
    message:
        "llvm-mca on {wildcards.machine}: cycles of every order of {wildcards.set}, iterations {wildcards.iterations}"
    shell:
        "python -m pipeline.stages.latency --machine {wildcards.machine} --settings {params.settings:q} --threads {threads}"
        " --blocks {input.blocks} --dags {input.dags} --schedules {input.schedules} --out {output.latency}"
        " 2> >(tee {log} >&2)"


rule evaluate_cycles:
    input:
        src=src("evaluate_cycles"),
        sets=expand("data/sets/{set}.parquet", set=P.scheduling.tested),
        dags=blocks_of("released")["dags"],
        cycles=judged(),
        schedules=[path for split in P.scheduling.tested for name in P.scheduling.machines for path in schedules_on(split, name)],
        optima=[
            OPTIMA.format(machine=machine, exact=name, set=split)
            for machine in P.scheduling.machines
            for name, one in P.scheduling.schedulers.items()
            if one.exact and serves(name, machine)
            for split in P.scheduling.tested
        ],
    output:
        results="data/scheduling/results.parquet",
        by_length="data/scheduling/by_length.parquet",
    params:
        settings=section("evaluation", only=["bootstrap_samples", "confidence"]),
    log:
        "logs/evaluate_cycles.log",
    benchmark:
        "benchmarks/rules/evaluate_cycles.tsv"
    message:
        "Cycles of every scheduler against GCC's and the best orders known"
    shell:
        "python -m pipeline.stages.evaluate_cycles --settings {params.settings:q} --sets {input.sets} --dags {input.dags}"
        " --cycles {input.cycles} --schedules {input.schedules} --optima {input.optima}"
        " --results {output.results} --by-length {output.by_length} 2> >(tee {log} >&2)"


rule scheduling_examples:
    input:
        src=src("scheduling_examples"),
        chosen=f"data/sets/{P.scheduling.tested[-1]}.parquet",
        blocks="data/corpus/blocks.parquet",
        instructions=blocks_of("released")["instructions"],
        dags=blocks_of("released")["dags"],
        machine=MACHINE.format(machine=IN_ORDER),
        learned=SCHEDULED.format(
            set=P.scheduling.tested[-1], machine=IN_ORDER, scheduler=next(iter(P.scheduling.models)), seed=P.scheduling.seeds[0]
        ),
        optima=OPTIMA.format(machine=IN_ORDER, exact=P.scheduling.machines[IN_ORDER].best, set=P.scheduling.tested[-1]),
    output:
        examples="data/scheduling/examples.parquet",
    params:
        seed=P.split.seed,
    log:
        "logs/scheduling_examples.log",
    benchmark:
        "benchmarks/rules/scheduling_examples.tsv"
    message:
        "Drawing example blocks whose best order beats GCC's"
    shell:
        "python -m pipeline.stages.scheduling_examples --seed {params.seed} --n-blocks 5 --longest 16"
        " --set {input.chosen} --blocks {input.blocks} --instructions {input.instructions} --dags {input.dags}"
        " --machine {input.machine} --learned {input.learned} --optima {input.optima} --out {output.examples}"
        " 2> >(tee {log} >&2)"


rule publish_cycles:
    """Freeze the comparison beside the report: it is measured once and committed."""
    input:
        src=src("publish_cycles"),
        results="data/scheduling/results.parquet",
        by_length="data/scheduling/by_length.parquet",
        examples="data/scheduling/examples.parquet",
    output:
        touch("data/published/latency.done"),
    log:
        "logs/publish_cycles.log",
    benchmark:
        "benchmarks/rules/publish_cycles.tsv"
    message:
        "Publishing the schedulers' cycles in reports/published"
    shell:
        "python -m pipeline.stages.publish_cycles --results {input.results} --by-length {input.by_length}"
        " --examples {input.examples} --out reports/published 2> >(tee {log} >&2)"
