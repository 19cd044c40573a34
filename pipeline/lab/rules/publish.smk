"""Numbers that are published once and committed; claims, pages and runs on the dashboard."""

from pipeline.lab import places
from pipeline.lab.page.pages import files as page_files
from pipeline.lab.page.pages import fresh

COMMITTED = sorted(file.parent.name for file in Path("reports/published").glob("*/provenance.json"))
PUBLISHABLE = {*P.experiments, *FURTHER}
PUBLISHED = [path("published", experiment=name) for name in COMMITTED]  # sources of the report
READ_BY_ALL = ["corpus", "dags", "instructions", "sets", "splits", "tokens"]  # folders of data/, of blocks


def tables_of(name):
    """Tables that are published under a name."""
    if name in FURTHER:
        return FURTHER[name].tables()
    chosen = P.experiments[name]
    drawn = chosen.drawn if getattr(chosen, "shown", None) else ()
    tables = [path(kind, experiment=name) for kind in (*chosen.results, *drawn)]
    if chosen.history:
        tables += (network_files if name in P.on_graphs else trainings)(name, chosen.history)
    for kind in chosen.by_schedule:
        tables += schedules(name, kind)
    for kind in chosen.by_training:
        tables += expand(path(kind, experiment=name), dependencies=chosen.dependencies, seed=chosen.seeds)
    return tables


def inputs_of(name):
    """Further data behind the numbers: sets of blocks, those that networks learned from among them."""
    chosen = P.experiments.get(name)
    if chosen is None:
        return []
    if isinstance(chosen, OnGraphs):
        return expand(path("graphs"), graph_set=chosen.sets) + [chosen.frozen_table] * (chosen.frozen_table is not None)
    learned = [m.training for m in chosen.models.values()] if isinstance(chosen, LearnsOrders) else []
    return expand(path("sets"), set=unique([*chosen.sets, *learned]))


def made_alike(name):
    """Folders of data/ with the tables, on the tiny corpus, of the code that computes the numbers of a name."""
    if name in FURTHER:
        return [*FURTHER[name].alike(), *READ_BY_ALL]
    chosen = P.experiments[name]
    wing = ["graphs"] if isinstance(chosen, OnGraphs) else READ_BY_ALL
    return [*experiments_of(chosen.task), *wing, *chosen.beside]


def experiments_of(task):
    """Folders of the experiments of a task."""
    return [f"experiments/{name}" for name, experiment in P.experiments.items() if experiment.task == task]


def settings_of_graphs(name):
    """Sets, methods, devices and links of an experiment on computation graphs, resolved."""
    chosen = P.on_graphs[name]
    methods, settings = chosen.sections(P)[1], chosen.settings_of_machines(config)
    if chosen.networks is not None:
        networks = {methods[method].network for method in chosen.methods} - {None, *chosen.models}
        settings["networks"] = {model: config["experiments"][chosen.networks]["models"][model] for model in networks}
    return settings | {
        "methods": {method: config[chosen.section_of_methods][method] for method in chosen.methods},
        chosen.section_of_sets: {set: config[chosen.section_of_sets][set] for set in chosen.sets},
        "links": {target: config["links"][target] for target in chosen.targets if target in P.links},
    }


def settings_published(name):
    """All settings behind the numbers published under a name, resolved."""
    if name in FURTHER:
        return FURTHER[name].settings()
    chosen = json.loads(section("experiments", name))
    if isinstance(P.experiments[name], OnGraphs):
        return chosen | settings_of_graphs(name) | {"intervals": json.loads(INTERVALS)}
    entries = {method: config["methods"][method] for method in P.experiments[name].methods}
    return chosen | {"methods": entries, "split": config["split"], "intervals": json.loads(INTERVALS)}


def settings_tracked(name):
    """As settings_published, with the judges and sets of blocks that are only named there."""
    chosen = settings_published(name)
    names = () if name in P.on_graphs else ("judges", "sets")
    return chosen | {key: {each: config[key][each] for each in chosen[key]} for key in names}


def settings_shown():
    """The parameters that pages show: an experiment that is neither evaluated nor published changes no page."""
    names = [name for name in P.experiments if name in (*P.report.all, *COMMITTED)]
    on_blocks = [P.experiments[name] for name in names if name not in P.on_graphs]
    return {
        **{key: config[key] for key in ("corpus", "split", "tokens", "evaluation", "residuals") if key in config},
        "experiments": {name: P.experiments[name].model_dump(mode="json") for name in names},  # with defaults
        "graphs": {name: settings_of_graphs(name) for name in names if name in P.on_graphs},
        "methods": {method: config["methods"][method] for chosen in on_blocks for method in chosen.methods},
        "sets": {set: config["sets"][set] for chosen in on_blocks for set in chosen.sets},
    }


def settings_now():
    """Published name -> its present settings, which are compared with the recorded ones; as JSON."""
    names = [name for name in COMMITTED if name in PUBLISHABLE]
    return json.dumps({name: settings_published(name) for name in names}, sort_keys=True)


def weights_behind(name):
    """Trained networks behind the numbers."""
    if name in P.on_graphs:
        return network_files(name, "network_weights")
    return trainings(name, "weights") if name in P.experiments else []


rule publish:
    """Freeze numbers beside the report, with their provenance: `snakemake data/published/<name>.done`; the next report shows them."""
    input:
        src=src("publish", *chapters.module_names("summaries")),
        tables=lambda w: tables_of(w.experiment),
        inputs=lambda w: inputs_of(w.experiment),
        weights=lambda w: weights_behind(w.experiment),
        behaviour="reports/behaviour.json",
    output:
        touch("data/published/{experiment}.done"),
    wildcard_constraints:
        experiment="|".join(sorted(PUBLISHABLE)),
    params:
        options=lambda w, input: " ".join([reading(w, input), flags([("alike", made_alike(w.experiment))])]),
        experiment="{experiment}",
        settings=lambda w: json.dumps(settings_published(w.experiment), sort_keys=True),
        folder=path("published"),
    log: "logs/publish/{experiment}.log"
    benchmark: "benchmarks/rules/publish/{experiment}.tsv"
    message: "Publishing {wildcards.experiment} in reports/published"
    shell: stage("publish", "experiment", "settings", out="{params.folder}")


def settings_logged():
    """JSON: experiment -> the settings that its runs on the dashboard name."""
    return json.dumps({**json.loads(settings_now()), **{name: settings_tracked(name) for name in P.report.all}}, sort_keys=True)


rule claims:
    input:
        src=src("claims", *chapters.module_names("claims")),
        behaviour="reports/behaviour.json",
        results=[path("results", experiment=name) for name in P.report.all],
        published=PUBLISHED,
    output:
        out=report("reports/claims.csv", caption="captions/claims.rst", category="Tables"),
        metrics="reports/metrics.json",
    params:
        settings_now=settings_logged(),
    log: "logs/claims.log"
    benchmark: "benchmarks/rules/claims.tsv"
    message: "Comparing the numbers with the claims"
    shell: stage("claims", "settings_now")


PAGE_MODULES = [name for kind in ("claims", "figures", "prepared") for name in chapters.module_names(kind)]
REPORT_MODES = unique(mode for name in P.report.experiments for mode in P.experiments[name].dependencies)


def files_of_page(kind, chapter):
    """Files of a kind that a chapter's page reads: of its experiments in the report, or of the released corpus."""
    if "experiment" not in places.names(kind):
        values = {"corpus": ["released"], "dependencies": REPORT_MODES}
        return expand(path(kind), **{name: values[name] for name in places.names(kind)})
    files = []
    for name in P.report.experiments:
        chosen = P.experiments[name]
        if chosen.task == chapter:
            values = {"experiment": [name], "dependencies": chosen.dependencies, "seed": chosen.seeds}
            files += expand(path(kind), **{each: values[each] for each in places.names(kind)})
    return files


FRESH = {kind: files_of_page(kind, chapter) for kind, chapter in fresh().items()}


rule report:
    input:
        src=src("report", *PAGE_MODULES, *SETTINGS),  # methods' names for people
        files=[
            *map(str, chapters.files("page.md")),
            *sorted(str(file) for ending in ("css", "j2", "js", "md") for file in Path("pipeline/lab/page").glob(f"*.{ending}")),
            *(file for files in FRESH.values() for file in files),
        ],
        behaviour="reports/behaviour.json",
        results=[path("results", experiment=name) for name in P.report.all],
        parts=[path("parts", experiment=name) for name in P.report.graph_experiments],
        history=[file for name in P.report.experiments for file in trainings(name, "history")],
        published=PUBLISHED,
        claims=rules.claims.output.out,
    output:
        pages=[
            report(page, caption="captions/page.rst", category="Pages", labels={"page": Path(page).stem}) if page.endswith(".html") else page
            for page in expand("reports/{page}", page=page_files())
        ],
        results_csv="reports/results.csv",
        figures=report(
            directory("reports/figures"),
            patterns=["{figure}.png"],
            caption="captions/figure.rst",
            category="Figures",
            labels={"figure": "{figure}"},
        ),
        plots=directory("reports/plots"),
    params:
        options=reading,
        settings=json.dumps(settings_shown(), sort_keys=True),
        settings_now=settings_now(),
        fresh=json.dumps(FRESH, sort_keys=True),
    log: "logs/report.log"
    benchmark: "benchmarks/rules/report.tsv"
    message: "Writing the report"
    shell: stage("report", "settings", "settings_now", "fresh", out="reports")


rule crate:
    """Describe the report to machines: RO-Crate's metadata, with the commit; git ignores it."""
    input:
        src=src("crate"),
        pages=rules.report.output.pages,
        tables=[rules.report.output.results_csv, rules.claims.output.out, *glob("reports/published/*/*.csv")],
        figures=rules.report.output.figures,
        citation="CITATION.cff",
        licences="docs/licences.md",
    output:
        out="reports/ro-crate-metadata.json",
    params:
        options=options,
        sources=section("corpus", "sources"),
    log: "logs/crate.log"
    benchmark: "benchmarks/rules/crate.tsv"
    message: "Describing the report to machines"
    shell: stage("crate", "sources")


rule track:
    input:
        src=src("track", *chapters.module_names("settings")),
        results=[path("results", experiment=name) for name in P.report.all],
        history=[file for name in P.report.experiments for file in trainings(name, "history")],
        weights=[file for name in P.report.experiments for file in trainings(name, "weights")],
        published=[path("published", experiment=name) for name in COMMITTED if name in P.experiments],
        data=unique(file for name in P.report.all for file in inputs_of(name) if Path(file).parent.name == "sets"),
    output:
        runs=path("tracked"),
    params:
        options=options,
        settings=settings_logged(),
    log:
        "logs/track.log",
    benchmark:
        "benchmarks/rules/track.tsv"
    message:
        "Logging runs to MLflow: `make dashboard` shows them"
    shell:
        stage("track", "settings")
