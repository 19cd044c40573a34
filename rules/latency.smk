"""Orders -> cycles, and what processor models say of single instructions."""


rule latency:
    input:
        src=src("latency"),
        blocks="data/corpus/blocks.parquet",
        dags=of_experiment(DAGS),
        schedules=of_experiment(SCHEDULES),
    output:
        latency="data/latency/{experiment}/{machine}.parquet",
    params:
        settings=lambda w: section("latency", "machines", w.machine),
    threads: 2
    log:
        "logs/latency/{experiment}/{machine}.log",
    benchmark:
        "benchmarks/rules/latency/{experiment}/{machine}.tsv"
    message:
        "llvm-mca on {wildcards.machine}: cycles of every distinct valid order (experiment {wildcards.experiment})"
    shell:
        "python -m pipeline.stages.latency --machine {wildcards.machine} --settings {params.settings:q} --threads {threads}"
        " --blocks {input.blocks} --dags {input.dags} --schedules {input.schedules}"
        " --out {output.latency} 2> >(tee {log} >&2)"


def scheduled_sets(corpus):
    """Sets of a corpus whose blocks are scheduled on processor models, or learned from, sorted."""
    learned = (name for one in P.scheduling.models.values() for name in (one.training, one.development))
    return sorted(name for name in {*P.scheduling.tested, *learned} if P.sets[name].corpus == corpus)


rule machine_instructions:
    input:
        src=src("machine_instructions"),
        encodings="data/instructions/{corpus}/encodings.parquet",
        instructions="data/instructions/{corpus}/blocks.parquet",
        sets=lambda w: expand("data/sets/{set}.parquet", set=scheduled_sets(w.corpus)),
    output:
        machine="data/instructions/{corpus}/machines/{machine}.parquet",
    params:
        settings=lambda w: judge(w.machine, 1),
    threads: 2
    log:
        "logs/machine_instructions/{corpus}/{machine}.log",
    benchmark:
        "benchmarks/rules/machine_instructions/{corpus}/{machine}.tsv"
    message:
        "llvm-mca on {wildcards.machine}: distinct instructions of the {wildcards.corpus} corpus"
    shell:
        "python -m pipeline.stages.machine_instructions --machine {wildcards.machine} --settings {params.settings:q}"
        " --encodings {input.encodings} --instructions {input.instructions} --sets {input.sets}"
        " --threads {threads} --out {output.machine} 2> >(tee {log} >&2)"
