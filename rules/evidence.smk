"""Schedules -> latencies, metrics, reports and MLflow runs."""

from pipeline.report.pages import FILES as PAGES

PUBLISHED = sorted(map(str, Path("reports/published").glob("*.csv")))


rule evaluate:
    input:
        src=src("evaluate"),
        dags=of_experiment(DAGS),
        schedules=of_experiment(SCHEDULES),
        splits=of_experiment(SPLITS),
        latency=of_experiment(LATENCIES),
    output:
        results="data/metrics/{experiment}.parquet",
    params:
        settings=section("evaluation", only=["bootstrap_samples", "confidence"]),
        machines=section("latency", "machines"),
    log:
        "logs/evaluate/{experiment}.log",
    benchmark:
        "benchmarks/rules/evaluate/{experiment}.tsv"
    message:
        "Metrics with bootstrap intervals (experiment {wildcards.experiment})"
    shell:
        "python -m pipeline.stages.evaluate --experiment {wildcards.experiment} --settings {params.settings:q}"
        " --machines {params.machines:q} --dags {input.dags} --splits {input.splits}"
        " --schedules {input.schedules} --latency {input.latency}"
        " --out {output.results} 2> >(tee {log} >&2)"


rule report:
    input:
        src=src("report"),
        templates=sorted(map(str, [*Path("pipeline/report").rglob("*.j2"), "pipeline/report/index/deviations.md"])),
        published=PUBLISHED,
        tuning=sorted(map(str, Path("reports/tuning").glob("*.csv"))),
        results=files(RESULTS, *P.report.experiments),
        histories=files(HISTORIES, *P.report.experiments),
        sweeps=files(SWEEPS, *P.report.experiments),
        examples=files(EXAMPLES, *P.report.experiments),
        blocks="data/corpus/blocks.parquet",
        skipped="data/corpus/skipped.parquet",
        statistics=files(STATISTICS, *P.report.experiments),
        dags=files(DAGS, *P.report.experiments),
        splits=files(SPLITS, *P.report.experiments),
        residuals="data/operators/residuals.parquet",
    output:
        pages=expand("reports/{page}", page=PAGES),
        results="reports/results.csv",
        metrics="reports/metrics.json",
        figures=directory("reports/figures"),
        plots=directory("reports/plots"),
    params:
        settings=json.dumps(config, sort_keys=True),
    log:
        "logs/report.log",
    benchmark:
        "benchmarks/rules/report.tsv"
    message:
        "Writing the report"
    shell:
        "python -m pipeline.stages.report --settings {params.settings:q}"
        " --results {input.results} --histories {input.histories} --sweeps {input.sweeps} --examples {input.examples}"
        " --published '{input.published}' --tuning '{input.tuning}' --blocks {input.blocks} --skipped {input.skipped}"
        " --statistics {input.statistics} --dags {input.dags} --splits {input.splits} --residuals {input.residuals}"
        " --out reports 2> >(tee {log} >&2)"


rule publish:
    """Freeze an experiment's results beside the report: the long one is run once and committed."""
    input:
        src=src("publish"),
        results="data/metrics/{experiment}.parquet",
        histories=of_experiment(HISTORIES),
        sweeps=of_experiment(SWEEPS),
    output:
        touch("data/published/{experiment}.done"),
    log:
        "logs/publish/{experiment}.log",
    benchmark:
        "benchmarks/rules/publish/{experiment}.tsv"
    message:
        "Publishing the results of {wildcards.experiment} in reports/published"
    shell:
        "python -m pipeline.stages.publish --experiment {wildcards.experiment} --results {input.results}"
        " --histories {input.histories} --sweeps {input.sweeps} --out reports/published 2> >(tee {log} >&2)"


rule verify:
    """Runs machine code of the corpus, in confined child processes; so only when asked for."""
    input:
        src=src("verify"),
        blocks="data/corpus/blocks.parquet",
        dags=DAGS.format(dependencies="full"),
    output:
        verification="data/verification/verification.parquet",
        sensitivity="data/verification/sensitivity.parquet",
    params:
        settings=section("verification"),
    threads: 2
    log:
        "logs/verify.log",
    benchmark:
        "benchmarks/rules/verify.tsv"
    message:
        "Running legal orders of blocks, and swaps that break an edge"
    shell:
        "python -m pipeline.stages.verify --settings {params.settings:q} --cores {threads}"
        " --blocks {input.blocks} --dags {input.dags}"
        " --verification {output.verification} --sensitivity {output.sensitivity} 2> >(tee {log} >&2)"


rule publish_verification:
    input:
        **rules.verify.output,
        src=src("publish_verification"),
    output:
        touch("data/published/dag_verification.done"),
    log:
        "logs/publish_verification.log",
    benchmark:
        "benchmarks/rules/publish_verification.tsv"
    message:
        "Publishing what running the code says of the dependencies in reports/published"
    shell:
        "python -m pipeline.stages.publish_verification --verification {input.verification}"
        " --sensitivity {input.sensitivity} --out reports/published 2> >(tee {log} >&2)"


rule track:
    input:
        src=src("track"),
        results="data/metrics/{experiment}.parquet",
        histories=of_experiment(HISTORIES),
        weights=of_experiment(WEIGHTS),
        splits=of_experiment(SPLITS),
        report=rules.report.output.pages,
    output:
        runs="data/tracking/{experiment}.json",
    params:
        settings=lambda w: section("experiments", w.experiment),
        schedulers=section("schedulers"),
    log:
        "logs/track/{experiment}.log",
    benchmark:
        "benchmarks/rules/track/{experiment}.tsv"
    message:
        "Logging runs to MLflow: `make dashboard` shows them"
    shell:
        "python -m pipeline.stages.track --experiment {wildcards.experiment} --settings {params.settings:q}"
        " --schedulers {params.schedulers:q}"
        " --results {input.results} --histories {input.histories} --weights {input.weights}"
        " --splits {input.splits} --reports reports --out {output.runs} 2> >(tee {log} >&2)"


rule track_published:
    """Of what was run once and published: nothing is run for the dashboard."""
    input:
        src=src("track_published"),
        published=PUBLISHED,
    output:
        runs="data/tracked/published.json",
    params:
        imitations=section("imitations"),
        scheduling=section("scheduling"),
    log:
        "logs/track_published.log",
    benchmark:
        "benchmarks/rules/track_published.tsv"
    message:
        "Logging published experiments to MLflow"
    shell:
        "python -m pipeline.stages.track_published --imitations {params.imitations:q} --scheduling {params.scheduling:q}"
        " --published '{input.published}' --out {output.runs} 2> >(tee {log} >&2)"
