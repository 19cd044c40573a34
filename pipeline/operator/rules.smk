"""Residuals of the projection on real blocks."""


rule residuals:
    input:
        src=src("residuals"),
        dags=path("dags", dependencies="full"),
    output:
        out=path("residuals"),
    params:
        settings=section("residuals"),
    log: "logs/residuals.log"
    benchmark: "benchmarks/rules/residuals.tsv"
    message: "Projecting onto the dependencies of real blocks: violations against iterations"
    shell: stage("residuals", "settings")


COMPLETE["residuals"] = rules.residuals.output
