"""How near the operators come to the constraints of real blocks."""


rule residuals:
    input:
        src=src("residuals"),
        dags=DAGS.format(dependencies="full"),
    output:
        residuals="data/operators/residuals.parquet",
    params:
        settings=section("residuals"),
    log:
        "logs/residuals.log",
    benchmark:
        "benchmarks/rules/residuals.tsv"
    message:
        "Projecting onto the dependencies of real blocks: violations against iterations"
    shell:
        "python -m pipeline.stages.residuals --settings {params.settings:q} --dags {input.dags}"
        " --out {output.residuals} 2> >(tee {log} >&2)"
