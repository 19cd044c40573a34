"""C sources -> blocks with the order before GCC's last scheduling pass, and their DAGs. Not part of `all`: ask for a file by name."""


def compiled_files(wildcards):
    """What is not pinned: a user's own programs, and the files that are laid over the others."""
    programs = P.compiled.programs.values()
    own = [one.artifact.path for one in programs if one.artifact.kind == "folder"]
    laid_over = [one.overlay for one in programs if one.overlay is not None]
    return sorted(str(path) for folder in own + laid_over for path in Path(folder).rglob("*") if path.is_file())


rule compile:
    input:
        src=src("compile"),
        files=compiled_files,
    output:
        blocks="data/compiled/blocks.parquet",
        input_orders="data/compiled/input_orders.parquet",
        skipped="data/compiled/skipped.parquet",
        statistics="data/compiled/statistics.parquet",
    params:
        settings=section("compiled"),
    threads: 2
    log:
        "logs/compile.log",
    benchmark:
        "benchmarks/rules/compile.tsv"
    message:
        "Compiling C programs with and without the last scheduling pass, pairing their blocks"
    shell:
        "python -m pipeline.stages.compile --settings {params.settings:q} --cores {threads}"
        " --blocks {output.blocks} --input-orders {output.input_orders}"
        " --skipped {output.skipped} --statistics {output.statistics} 2> >(tee {log} >&2)"


rule compiled_dags:
    input:
        src=src("dags"),
        blocks="data/compiled/blocks.parquet",
    output:
        dags="data/compiled/dags.parquet",
    threads: 2
    log:
        "logs/compiled_dags.log",
    benchmark:
        "benchmarks/rules/compiled_dags.tsv"
    message:
        "Building dependency DAGs of the compiled blocks"
    shell:
        "python -m pipeline.stages.dags --dependencies full --cores {threads}"
        " --blocks {input.blocks} --out {output.dags} 2> >(tee {log} >&2)"
