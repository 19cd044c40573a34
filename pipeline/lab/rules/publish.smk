"""Numbers that are published once and committed; claims, pages and runs on the dashboard."""

from pipeline.lab import places
from pipeline.lab.page.pages import fresh

SHIPPED_POLICY = ("gflownet", "robust")  # experiment, and its network
SHIPPED_WHOLE_GRAPH = ("placement_transfer", "generalised")
LEARNED = "learned_machines_small"  # network of the experiment `processors`
SCHEDULES = ["gantts", "memory_curves", "kept_points"]
DRAWN = {  # task -> tables that a page draws, of an experiment with a section `shown`
    "devices": SCHEDULES,
    "policies": SCHEDULES,
    "placement": ["placed_operations", "memory_curves"],
    "fusion": ["fused_operations"],
    "processors": ["timelines"],
}
RESULTS = {  # task -> tables of numbers, where they are not `results` and `parts`
    "reproduction": ["results"],
    "hardware": ["results", "outcomes"],
    "execution": ["results", "parts", "executed_points"],
}
HISTORIES = {"policies": "policy_history", "placement": "whole_graph_history", "fusion": "whole_graph_history"}
MEASURED = ("hardware", "execution")  # tasks whose numbers are times of a machine
READ_BY_ALL = ["corpus", "dags", "instructions", "sets", "splits", "tokens"]  # folders of data/, of blocks


def with_evidence():
    """The experiment that has a section `evidence`."""
    return next(name for name, e in P.experiments.items() if isinstance(e, Imitation) and e.evidence is not None)


def network_files(experiment, kind, model=None):
    """Weights or histories of every seed of an experiment's networks, or of one of them."""
    chosen = P.experiments[experiment]
    models = chosen.models if model is None else [model]
    return [path(kind, experiment=experiment, model=name, seed=seed) for name in models for seed in chosen.seeds_of(name)]


def tables_of(name):
    """Tables that are published under a name."""
    if name == "dag_verification":
        return [path("verification"), path("sensitivity")]
    if name == EVIDENCE:
        experiment, chosen = with_evidence(), evidence(with_evidence())
        run = dict(experiment=experiment, set=chosen.set, method=P.experiments[experiment].shipped, seed=chosen.seed)
        tables = [path(kind, experiment=experiment) for kind in ("ceiling", "twins", "audit")]
        return tables + [path(kind, **run) for kind in ("errors", "error_shares")]
    chosen = P.experiments[name]
    kinds = RESULTS.get(chosen.task, ["results", "parts"])
    if getattr(chosen, "shown", None):
        kinds = kinds + DRAWN[chosen.task]
    tables = [path(kind, experiment=name) for kind in kinds]
    if chosen.task in HISTORIES:
        tables += network_files(name, HISTORIES[chosen.task])
    if chosen.task in ("reproduction", "imitation"):
        tables += trainings(name, "history")
    if chosen.task == "reproduction":
        tables += expand(path("sweep", experiment=name), dependencies=chosen.dependencies, seed=chosen.seeds)
    return tables


def inputs_of(name):
    """Further data behind the numbers: sets of blocks, those that networks learned from among them."""
    chosen = P.experiments.get(name)
    if chosen is None:
        return []
    if isinstance(chosen, OnGraphs):
        frozen = [] if isinstance(chosen, Fusion) else [EXPERT_PLACEMENTS if isinstance(chosen, Placement) else FROZEN_TARGETS]
        return expand(path("graphs"), graph_set=chosen.sets) + frozen
    learned = [m.training for m in chosen.models.values()] if isinstance(chosen, Imitation | Processors) else []
    return expand(path("sets"), set=unique([*chosen.sets, *learned]))


def made_alike(name):
    """Folders of data/ with the tables, on the tiny corpus, of the code that computes the numbers of a name."""
    chosen = P.experiments.get(name)
    task = {EVIDENCE: "imitation"}.get(name) if chosen is None else chosen.task
    if task in MEASURED:
        return []
    if task is None:
        return ["verification", *READ_BY_ALL]
    of_task = [f"experiments/{name}" for name, experiment in P.experiments.items() if experiment.task == task]
    wing = ["graphs"] if isinstance(chosen, OnGraphs) else READ_BY_ALL
    return of_task + wing + ["optima"] * (task == "processors")


def settings_of_graphs(name):
    """Sets, methods, devices and links of an experiment on computation graphs, resolved."""
    chosen = P.on_graphs[name]
    section_of_sets, section_of_methods, settings = "graph_sets", "graph_methods", {}
    if isinstance(chosen, Fusion):
        section_of_sets, section_of_methods = "fusion_sets", "fusion_methods"
        if chosen.machine != THIS_MACHINE:
            settings["device"] = config["devices"][chosen.machine]
    else:
        section_of_sets = "placement_sets" if isinstance(chosen, Placement) else "graph_sets"
        devices = {getattr(P, section_of_sets)[set].device for set in chosen.sets} - {None}
        settings["devices"] = {device: config["devices"][device] for device in devices}
    if chosen.networks is not None:
        networks = {getattr(P, section_of_methods)[method].network for method in chosen.methods} - {None, *chosen.models}
        settings["networks"] = {model: config["experiments"][chosen.networks]["models"][model] for model in networks}
    return settings | {
        "methods": {method: config[section_of_methods][method] for method in chosen.methods},
        section_of_sets: {set: config[section_of_sets][set] for set in chosen.sets},
        "links": {target: config["links"][target] for target in chosen.targets if target in P.links},
    }


def settings_published(name):
    """All settings behind the numbers published under a name, resolved."""
    if name == EVIDENCE:
        return json.loads(section("experiments", with_evidence(), "evidence"))
    if name in SECTIONS:
        return json.loads(section(name))
    chosen = json.loads(section("experiments", name))
    if isinstance(P.experiments[name], OnGraphs):
        return chosen | settings_of_graphs(name) | {"intervals": json.loads(INTERVALS)}
    entries = {method: config["methods"][method] for method in P.experiments[name].methods}
    return chosen | {"methods": entries, "split": config["split"], "intervals": json.loads(INTERVALS)}


def settings_shown():
    """The parameters that pages show: an experiment that is neither evaluated nor published changes no page."""
    names = [name for name in P.experiments if name in (*P.report.all, *COMMITTED, *REQUESTED)]
    on_blocks = [P.experiments[name] for name in names if name not in P.on_graphs]
    return {
        **{key: config[key] for key in ("corpus", "split", "tokens", "evaluation", "residuals")},
        "experiments": {name: P.experiments[name].model_dump(mode="json") for name in names},  # with defaults
        "graphs": {name: settings_of_graphs(name) for name in names if name in P.on_graphs},
        "methods": {method: config["methods"][method] for chosen in on_blocks for method in chosen.methods},
        "sets": {set: config["sets"][set] for chosen in on_blocks for set in chosen.sets},
    }


def settings_now():
    """Published name -> its present settings, which are compared with the recorded ones; as JSON."""
    names = [name for name in unique([*COMMITTED, *REQUESTED]) if name in PUBLISHABLE]
    return json.dumps({name: settings_published(name) for name in names}, sort_keys=True)


def weights_behind(name):
    """Trained networks behind the numbers."""
    if name in P.on_graphs:
        return network_files(name, "network_weights")
    return trainings(name, "weights") if hasattr(P.experiments.get(name), "models") else []


rule publish:
    """Freeze numbers beside the report, with their provenance: `snakemake data/published/<name>.done`."""
    input:
        src=src("publish"),
        tables=lambda w: tables_of(w.experiment),
        inputs=lambda w: inputs_of(w.experiment),
        weights=lambda w: weights_behind(w.experiment),
        behaviour="reports/behaviour.json",
    output:
        folder=directory(path("published", experiment="{experiment,%s}" % ("|".join(REQUESTED) or "nothing_is_requested"))),
        done=touch("data/published/{experiment}.done"),
    params:
        options=lambda w, input: " ".join([reading(w, input), flags([("alike", made_alike(w.experiment))])]),
        experiment="{experiment}",
        settings=lambda w: json.dumps(settings_published(w.experiment), sort_keys=True),
    message: "Publishing {wildcards.experiment} in reports/published"
    shell: stage("publish", "experiment", "settings", out="{output.folder}")


def shipped_imitator():
    """Name of the network of the experiment with evidence that is shipped."""
    return P.experiments[with_evidence()].shipped


rule ship:
    """Put the best seed of the imitator into the package: `snakemake data/published/shipped.done`."""
    input:
        src=lambda w: src("ship", *architecture(P.experiments[with_evidence()].models[shipped_imitator()])),
        weights=lambda w: trainings(with_evidence(), "weights", [shipped_imitator()]),
        history=lambda w: trainings(with_evidence(), "history", [shipped_imitator()]),
        results=lambda w: path("results", experiment=with_evidence()),
        training=lambda w: path("sets", set=evidence(with_evidence()).training),
    output:
        touch("data/published/shipped.done"),
    params:
        options=reading,
        facts=lambda w: json.dumps({"sources": config["sets"][evidence(with_evidence()).training]["sources"]}),
    message: "Putting the best imitator into the package, with its model card"
    shell: stage("ship", "facts", kind="imitator")


def methods_with(experiment, model):
    """Methods of an experiment on graphs that use a network."""
    return [method for method in P.experiments[experiment].methods if P.graph_methods[method].network == model]


rule ship_policy:
    """Put the best seed of the policy into the package: `snakemake data/published/shipped_policy.done`."""
    input:
        src=src("ship"),
        weights=lambda w: network_files(SHIPPED_POLICY[0], "network_weights", SHIPPED_POLICY[1]),
        history=lambda w: network_files(SHIPPED_POLICY[0], "policy_history", SHIPPED_POLICY[1]),
        results=path("results", experiment=SHIPPED_POLICY[0]),
    output:
        touch("data/published/shipped_policy.done"),
    params:
        options=reading,
        methods=methods_with(*SHIPPED_POLICY),
    message: "Putting the best policy into the package, with its model card"
    shell: stage("ship", "methods", kind="policy")


rule ship_schedulers:
    """Put policies and a network for processors into the package: `snakemake data/published/shipped_schedulers.done`."""
    input:
        src=lambda w: src("ship", *architecture(P.experiments["processors"].models[LEARNED])),
        weights=lambda w: trainings("processors", "weights", [LEARNED]),
        history=lambda w: trainings("processors", "history", [LEARNED]),
        policies=[path("policies", experiment="processors", target=target, method="policy") for target in P.processors],
        training=lambda w: path("sets", set=P.experiments["processors"].models[LEARNED].training),
    output:
        touch("data/published/shipped_schedulers.done"),
    params:
        options=reading,
        facts=lambda w: json.dumps({
            "sources": config["sets"][P.experiments["processors"].models[LEARNED].training]["sources"],
            "policy_blocks": P.methods["policy"].settings.learning.blocks,
        }),
    message: "Putting the policies and the best network for processors into the package, with their model card"
    shell: stage("ship", "facts", kind="schedulers")


rule ship_whole_graph:
    """Put the best seed of the network into the package: `snakemake data/published/shipped_whole_graph.done`."""
    input:
        src=src("ship"),
        weights=network_files(SHIPPED_WHOLE_GRAPH[0], "network_weights", SHIPPED_WHOLE_GRAPH[1]),
        history=network_files(SHIPPED_WHOLE_GRAPH[0], "whole_graph_history", SHIPPED_WHOLE_GRAPH[1]),
        results=path("results", experiment=SHIPPED_WHOLE_GRAPH[0]),
    output:
        touch("data/published/shipped_whole_graph.done"),
    params:
        options=reading,
        facts=json.dumps({"trained": P.experiments[SHIPPED_WHOLE_GRAPH[0]].models[SHIPPED_WHOLE_GRAPH[1]].model_dump()}, sort_keys=True),
        methods=methods_with(*SHIPPED_WHOLE_GRAPH),
    message: "Putting the best network for whole graphs into the package, with its model card"
    shell: stage("ship", "facts", "methods", kind="whole_graph")


rule claims:
    input:
        src=src("claims", *chapters.module_names("claims")),
        behaviour="reports/behaviour.json",
        results=[path("results", experiment=name) for name in P.report.all],
        published=PUBLISHED,
    output:
        out="reports/claims.csv",
    params:
        settings_now=settings_now(),
    message: "Comparing the numbers with the claims"
    shell: stage("claims", "settings_now")


PAGE_MODULES = [".".join(file.with_suffix("").parts) for file in sorted(Path("pipeline").glob("*/page/**/*.py"))]
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
        src=src("report", *PAGE_MODULES),
        files=[
            *sorted(str(file) for ending in ("css", "j2", "js", "md") for file in Path("pipeline").rglob(f"page/**/*.{ending}")),
            *(file for files in FRESH.values() for file in files),
        ],
        behaviour="reports/behaviour.json",
        results=[path("results", experiment=name) for name in P.report.all],
        parts=[path("parts", experiment=name) for name in P.report.graph_experiments],
        history=[file for name in P.report.experiments for file in trainings(name, "history")],
        published=PUBLISHED,
        claims=rules.claims.output.out,
    output:
        pages=expand("reports/{page}", page=page_files()),
        results_csv="reports/results.csv",
        metrics="reports/metrics.json",
        figures=directory("reports/figures"),
        plots=directory("reports/plots"),
    params:
        options=reading,
        settings=json.dumps(settings_shown(), sort_keys=True),
        settings_now=settings_now(),
        fresh=json.dumps(FRESH, sort_keys=True),
    message: "Writing the report"
    shell: stage("report", "settings", "settings_now", "fresh", out="reports")


rule track:
    input:
        src=src("track"),
        files=rules.report.output.pages,
        results=[path("results", experiment=name) for name in P.report.all],
        history=[file for name in P.report.experiments for file in trainings(name, "history")],
        weights=[file for name in P.report.experiments for file in trainings(name, "weights")],
        published=PUBLISHED,
    output:
        runs=path("tracked"),
    params:
        options=options,
        settings=json.dumps({**json.loads(settings_now()), **{name: settings_published(name) for name in P.report.all}}, sort_keys=True),
    log:
        "logs/track.log",
    benchmark:
        "benchmarks/rules/track.tsv"
    message:
        "Logging runs to MLflow: `make dashboard` shows them"
    shell:
        stage("track", "settings", reports="reports")
