"""Orders timed on the processor of this machine: only when asked for, since it runs machine code of the corpus."""

TIMED = "data/hardware/{set}/timings.parquet"
TIMED_BLOCKS = "data/hardware/{set}/timed_blocks.parquet"


def to_be_timed(split):
    """Schedules of a set for the processors whose orders are timed."""
    return [path for machine in P.hardware.machines for path in schedules_on(split, machine)]


rule time_orders:
    input:
        src=src("time_orders"),
        chosen="data/sets/{set}.parquet",
        blocks="data/corpus/blocks.parquet",
        dags=blocks_of("released")["dags"],
        schedules=lambda w: to_be_timed(w.set),
    output:
        timings=TIMED,
        timed_blocks=TIMED_BLOCKS,
    params:
        settings=section("hardware"),
    threads: 1024  # all there are: whatever runs beside it is measured, too
    log:
        "logs/time_orders/{set}.log",
    benchmark:
        "benchmarks/rules/time_orders/{set}.tsv"
    message:
        "Timing orders of {wildcards.set} on this processor"
    shell:
        "python -m pipeline.stages.time_orders --settings {params.settings:q} --set {input.chosen}"
        " --blocks {input.blocks} --dags {input.dags} --schedules {input.schedules}"
        " --timings {output.timings} --timed-blocks {output.timed_blocks} 2> >(tee {log} >&2)"


rule evaluate_hardware:
    input:
        src=src("evaluate_hardware"),
        blocks="data/corpus/blocks.parquet",
        instructions=blocks_of("released")["instructions"],
        timings=expand(TIMED, set=P.scheduling.tested),
        timed_blocks=expand(TIMED_BLOCKS, set=P.scheduling.tested),
        machines=expand(MACHINE, machine=P.scheduling.machines),
        schedules=[path for split in P.scheduling.tested for path in to_be_timed(split)],
    output:
        results="data/hardware/results.parquet",
        outcomes="data/hardware/outcomes.parquet",
    params:
        settings=section("evaluation", only=["bootstrap_samples", "confidence"]),
        machines=json.dumps({name: one.machine(1).model_dump() for name, one in P.scheduling.machines.items()}),
    log:
        "logs/evaluate_hardware.log",
    benchmark:
        "benchmarks/rules/evaluate_hardware.tsv"
    message:
        "Cycles on hardware against GCC's, and how well processor models rank the same orders"
    shell:
        "python -m pipeline.stages.evaluate_hardware --settings {params.settings:q} --machine-settings {params.machines:q}"
        " --blocks {input.blocks} --instructions {input.instructions} --timings {input.timings}"
        " --timed-blocks {input.timed_blocks} --machines {input.machines} --schedules {input.schedules}"
        " --results {output.results} --outcomes {output.outcomes} 2> >(tee {log} >&2)"


rule publish_hardware:
    """Freeze what was measured beside the report: another machine measures other figures."""
    input:
        src=src("publish_hardware"),
        results="data/hardware/results.parquet",
        outcomes="data/hardware/outcomes.parquet",
    output:
        touch("data/published/hardware.done"),
    log:
        "logs/publish_hardware.log",
    benchmark:
        "benchmarks/rules/publish_hardware.tsv"
    message:
        "Publishing what was timed on this processor in reports/published"
    shell:
        "python -m pipeline.stages.publish_hardware --results {input.results} --outcomes {input.outcomes}"
        " --out reports/published 2> >(tee {log} >&2)"
