"""Numbers that are made once and committed; claims, pages and runs on the dashboard."""


SHIPPED_POLICY = "robust"  # network of the experiment `gflownet`
SHIPPED_WHOLE_GRAPH = ("placement_transfer", "generalised")  # experiment, and its network


def with_evidence():
    """The experiment that has a section `evidence`."""
    return next(name for name, e in P.experiments.items() if isinstance(e, Imitation) and e.evidence is not None)


def tables_of(name):
    """Tables that are published under a name."""
    if name == "dag_verification":
        return [path("verification"), path("sensitivity")]
    if name == "trials":
        return expand(path("trial_history"), trial=P.trials.models)
    if name == EVIDENCE:
        of, where = with_evidence(), evidence(with_evidence())
        run = dict(experiment=of, set=where.set, method=P.experiments[of].shipped, seed=where.seed)
        return [*(path(kind, experiment=of) for kind in ("ceiling", "twins", "audit")), path("errors", **run), path("error_shares", **run)]
    chosen, results = P.experiments[name], path("results", experiment=name)
    if chosen.task == "reproduction":
        sweeps = expand(path("sweep", experiment=name), dependencies=chosen.dependencies, seed=chosen.seeds)
        return [results, *trainings(name, "history"), *sweeps]
    if chosen.task == "imitation":
        return [results, path("parts", experiment=name), *trainings(name, "history")]
    if chosen.task == "devices":
        drawn = ["gantts", "memory_curves", "kept_points"] if chosen.shown else []
        return [path(kind, experiment=name) for kind in ("results", "parts", *drawn)]
    if chosen.task == "policies":
        drawn = ["gantts", "memory_curves", "kept_points"] if chosen.shown else []
        histories = [path("policy_history", experiment=name, model=model, seed=seed) for model in chosen.models for seed in chosen.seeds]
        return [*(path(kind, experiment=name) for kind in ("results", "parts", *drawn)), *histories]
    if chosen.task == "placement":
        histories = [path("whole_graph_history", experiment=name, model=model, seed=seed) for model in chosen.models for seed in chosen.seeds_of(model)]
        drawn = ["placed_operations", "memory_curves"] if chosen.shown else []
        return [*(path(kind, experiment=name) for kind in ("results", "parts", *drawn)), *histories]
    if chosen.task == "fusion":
        histories = [path("whole_graph_history", experiment=name, model=model, seed=seed) for model in chosen.models for seed in chosen.seeds_of(model)]
        drawn = ["fused_operations"] if chosen.shown else []
        return [*(path(kind, experiment=name) for kind in ("results", "parts", *drawn)), *histories]
    if chosen.task == "execution":
        return [path(kind, experiment=name) for kind in ("results", "parts", "executed_points")]
    if chosen.task == "processors":
        return [results, path("parts", experiment=name), *([path("timelines", experiment=name)] if chosen.shown else [])]
    return [results, path("outcomes", experiment=name)]


def inputs_of(name):
    """Further data behind the numbers: sets of blocks, those that networks learned from among them."""
    if name not in P.experiments:
        return []
    chosen = P.experiments[name]
    if isinstance(chosen, Fusion):
        return expand(path("graphs"), graph_set=chosen.sets)
    if isinstance(chosen, OnGraphs):
        return [*expand(path("graphs"), graph_set=chosen.sets), EXPERT_PLACEMENTS if isinstance(chosen, Placement) else FROZEN_TARGETS]
    learned = [m.training for m in chosen.models.values()] if isinstance(chosen, Imitation | Processors) else []
    return expand(path("sets"), set=unique([*chosen.sets, *learned]))


def stages_of(name):
    """Modules of all that computes an experiment's numbers."""
    if name not in P.experiments:
        return {"dag_verification": ["verify"], "trials": ["train"], EVIDENCE: ["ceiling", "audit", "errors"]}[name], []
    chosen = P.experiments[name]
    if isinstance(chosen, Fusion):
        return ["fusion_graphs", *(["train_fusing"] if chosen.models else []), "fuse_graphs", "judge_fusions", "evaluate_fusion", "fusion_examples"], []
    if isinstance(chosen, Placement):
        own = [module for method in chosen.methods for module in P.graph_methods[method].modules()]
        return ["placed_graphs", *(["train_whole_graph"] if chosen.models else []), "place_graphs", "judge_placements", "evaluate_placement", "placement_examples"], unique(own)
    if isinstance(chosen, OnGraphs):
        own = [module for method in chosen.methods for module in P.graph_methods[method].modules()]
        judging = {"devices": ["judge_graphs", "evaluate_graphs", "graph_examples"], "policies": ["train_policy", "judge_graphs", "measure_distances", "evaluate_policies", "graph_examples"], "execution": ["coarsen_graphs", "time_graph_schedules", "simulate_executed", "evaluate_execution"]}
        placed = isinstance(chosen, Execution) and chosen.places
        made = ["expert_placements", "place_graphs", "placed_schedules"] if placed else ["schedule_graphs"]
        return ["graph_sets", *made, *judging[chosen.task]], unique(own)
    made = [P.entry(name, m).modules(n.settings if (n := P.network(name, m)) else None) for m in P.methods_of(name)]
    stages = ["schedule", "judge", "evaluate"]
    stages += {"reproduction": ["train", "sweep"], "imitation": ["train_ordering"], "processors": ["train_ordering", "learn_policy", "optima"], "hardware": ["time_orders"]}[chosen.task]
    return stages, unique([f"pipeline.analysis.{chosen.task}_task", *(module for of in made for module in of)])


def sources_published(name):
    stages, more = stages_of(name)
    return closure(*(f"pipeline.stages.{stage}" for stage in stages), *more)


def settings_of_graphs(name):
    """Sets, methods, devices and links of an experiment on computation graphs, resolved."""
    chosen = P.on_graphs[name]
    if isinstance(chosen, Fusion):
        return settings_of_fusion(chosen)
    kind, sets = ("placement_sets", P.placement_sets) if isinstance(chosen, Placement) else ("graph_sets", P.graph_sets)
    devices = unique(d for one in chosen.sets if (d := sets[one].device) is not None)
    named = {kind: chosen.sets, "graph_methods": chosen.methods, "devices": devices, "links": [t for t in chosen.targets if t in P.links]}
    resolved = {key: {one: config[key][one] for one in names} for key, names in named.items()}
    if chosen.networks is not None:
        used = unique(network for method in chosen.methods if (network := P.graph_methods[method].network))
        resolved["networks"] = {network: json.loads(section("experiments", by, "models", network)) for network in used if (by := P.trained_by(name, network)) != name}
    return {"methods": resolved.pop("graph_methods"), **resolved}


def settings_of_fusion(chosen):
    """Sets, methods, the device and links of an experiment that fuses, resolved."""
    networks = unique(network for method in chosen.methods if (network := P.fusion_methods[method].network))
    borrowed = {network: json.loads(section("experiments", chosen.networks, "models", network)) for network in networks if network not in chosen.models}
    device = {} if chosen.machine == THIS_MACHINE else {"device": config["devices"][chosen.machine]}
    return {
        "methods": {method: config["fusion_methods"][method] for method in chosen.methods},
        "fusion_sets": {name: config["fusion_sets"][name] for name in chosen.sets},
        "links": {target: config["links"][target] for target in chosen.targets if target in P.links},
        **device,
        **({"networks": borrowed} if borrowed else {}),
    }


def settings_published(name):
    """All settings behind what is published under a name, resolved."""
    if name == EVIDENCE:
        return json.loads(section("experiments", with_evidence(), "evidence"))
    if name in SECTIONS:
        return json.loads(section(name))
    chosen = json.loads(section("experiments", name))
    if isinstance(P.experiments[name], OnGraphs):
        return chosen | settings_of_graphs(name) | {"intervals": json.loads(INTERVALS)}
    entries = {method: config["methods"][method] for method in P.experiments[name].methods}
    return chosen | {"methods": entries, "split": config["split"], "intervals": json.loads(INTERVALS)}


def shown():
    """The parameters that pages speak of: an experiment that is neither evaluated nor published changes no page."""
    names = [name for name in P.experiments if name in (*P.report.all, *COMMITTED, *ASKED)]
    on_blocks = [name for name in names if name not in P.on_graphs]
    methods = {method for name in on_blocks for method in P.experiments[name].methods}
    sets = {name for chosen in on_blocks for name in P.experiments[chosen].sets}
    sections = {key: config[key] for key in ("corpus", "split", "tokens", "evaluation", "residuals")}
    of = {"methods": sorted(methods), "sets": sorted(sets)}
    whole = {"experiments": {name: P.experiments[name].model_dump(mode="json") for name in names}}  # with defaults
    graphs = {"graphs": {name: settings_of_graphs(name) for name in names if name in P.on_graphs}}
    return sections | whole | graphs | {key: {name: config[key][name] for name in chosen} for key, chosen in of.items()}


def settings_now():
    """Name of what is published -> its settings as they are now, which are compared with those that were recorded."""
    names = [name for name in unique([*COMMITTED, *ASKED]) if name in MAY_BE_ASKED]
    return json.dumps({name: settings_published(name) for name in names}, sort_keys=True)


def recorded():
    """Source files that published numbers were made by: pages say where these have changed since."""
    made = {name for asked in ASKED for name in sources_published(asked)}
    for name in {*COMMITTED} - {*ASKED}:
        sources = json.loads(Path("reports/published", name, "provenance.json").read_text())["sources"]
        made |= {*sources} if isinstance(sources, dict) else set()
    return unique(file for file in made if os.path.isfile(file))


def weights_of(name):
    """Trained networks behind the numbers."""
    chosen = P.experiments.get(name)
    if isinstance(chosen, OnGraphs):
        return [path("network_weights", experiment=name, model=model, seed=seed) for model in chosen.models for seed in chosen.seeds_of(model)]
    return trainings(name, "weights") if hasattr(chosen, "models") else []


rule publish:
    """Freeze numbers beside the report, with where they come from: `snakemake data/published/<name>.done`."""
    input:
        src=src("publish"),
        tables=lambda w: tables_of(w.experiment),
        inputs=lambda w: inputs_of(w.experiment),
        weights=lambda w: weights_of(w.experiment),
    output:
        folder=directory(path("published", experiment="{experiment,%s}" % ("|".join(ASKED) or "nothing_is_asked_for"))),
        done=touch("data/published/{experiment}.done"),
    params:
        options=reading,
        experiment="{experiment}",
        settings=lambda w: json.dumps(settings_published(w.experiment), sort_keys=True),
        sources=lambda w: sources_published(w.experiment),
    log:
        "logs/publish/{experiment}.log",
    benchmark:
        "benchmarks/rules/publish/{experiment}.tsv"
    message:
        "Publishing {wildcards.experiment} in reports/published"
    shell:
        stage("publish", "experiment", "settings", "sources", out="{output.folder}")


rule ship:
    """The best seed of the network that an experiment ships, into the package: `snakemake data/published/shipped.done`."""
    input:
        src=lambda w: src("ship", *architecture(P.experiments[with_evidence()].models[P.experiments[with_evidence()].shipped], decoding=True)),
        weights=lambda w: trainings(with_evidence(), "weights", [P.experiments[with_evidence()].shipped]),
        history=lambda w: trainings(with_evidence(), "history", [P.experiments[with_evidence()].shipped]),
        results=lambda w: path("results", experiment=with_evidence()),
        training=lambda w: path("sets", set=evidence(with_evidence()).training),
    output:
        touch("data/published/shipped.done"),
    params:
        options=reading,
        sources=lambda w: section("sets", evidence(with_evidence()).training, "sources"),
    log:
        "logs/ship.log",
    benchmark:
        "benchmarks/rules/ship.tsv"
    message:
        "Putting the best imitator into the package, with its model card"
    shell:
        stage("ship", "sources")


def shipped_whole_graph(kind):
    """Files of every seed of the network."""
    experiment, model = SHIPPED_WHOLE_GRAPH
    return [path(kind, experiment=experiment, model=model, seed=seed) for seed in P.experiments[experiment].seeds]


rule ship_policy:
    """The best seed of the policy that an experiment ships, into the package: `snakemake data/published/shipped_policy.done`."""
    input:
        src=src("ship_policy"),
        weights=lambda w: [path("network_weights", experiment="gflownet", model=SHIPPED_POLICY, seed=seed) for seed in P.experiments["gflownet"].seeds],
        history=lambda w: [path("policy_history", experiment="gflownet", model=SHIPPED_POLICY, seed=seed) for seed in P.experiments["gflownet"].seeds],
        results=path("results", experiment="gflownet"),
    output:
        touch("data/published/shipped_policy.done"),
    params:
        options=reading,
        methods=[name for name in P.experiments["gflownet"].methods if P.graph_methods[name].network == SHIPPED_POLICY],
    log:
        "logs/ship_policy.log",
    benchmark:
        "benchmarks/rules/ship_policy.tsv"
    message:
        "Putting the best policy into the package, with its model card"
    shell:
        stage("ship_policy", "methods")


rule ship_whole_graph:
    """The best seed of the network for whole graphs, into the package: `snakemake data/published/shipped_whole_graph.done`."""
    input:
        src=src("ship_whole_graph"),
        weights=shipped_whole_graph("network_weights"),
        history=shipped_whole_graph("whole_graph_history"),
        results=path("results", experiment=SHIPPED_WHOLE_GRAPH[0]),
    output:
        touch("data/published/shipped_whole_graph.done"),
    params:
        options=reading,
        settings=json.dumps(P.experiments[SHIPPED_WHOLE_GRAPH[0]].models[SHIPPED_WHOLE_GRAPH[1]].model_dump(), sort_keys=True),
        methods=[name for name in P.experiments[SHIPPED_WHOLE_GRAPH[0]].methods if P.graph_methods[name].network == SHIPPED_WHOLE_GRAPH[1]],
    log:
        "logs/ship_whole_graph.log",
    benchmark:
        "benchmarks/rules/ship_whole_graph.tsv"
    message:
        "Putting the best network for whole graphs into the package, with its model card"
    shell:
        stage("ship_whole_graph", "settings", "methods")


rule claims:
    input:
        src=src("claims"),
        files=recorded(),
        results=[path("results", experiment=name) for name in P.report.all],
        published=PUBLISHED,
    output:
        out="reports/claims.csv",
    params:
        options=options,
        settings_now=settings_now(),
    log:
        "logs/claims.log",
    benchmark:
        "benchmarks/rules/claims.tsv"
    message:
        "Asking the numbers what was claimed"
    shell:
        stage("claims", "settings_now")


rule report:
    input:
        src=src("report"),
        files=[*sorted(map(str, [*Path("pipeline/report").rglob("*.j2"), *Path("pipeline/report").rglob("*.md")])), *recorded()],
        results=[path("results", experiment=name) for name in P.report.all],
        parts=[path("parts", experiment=name) for name in P.report.graph_experiments],
        history=[file for name in P.report.experiments for file in trainings(name, "history")],
        sweep=[file for name in P.report.experiments for file in tables_of(name) if "/sweep/" in file],
        examples=[file for name in P.report.experiments for file in expand(path("examples", experiment=name), dependencies=P.experiments[name].dependencies)],
        published=PUBLISHED,
        claims=rules.claims.output.out,
        blocks=path("blocks", corpus="released"),
        skipped=path("skipped", corpus="released"),
        corpus=expand(path("corpus"), dependencies=unique(d for name in P.report.experiments for d in P.experiments[name].dependencies)),
        dags=expand(path("dags", corpus="released"), dependencies=unique(d for name in P.report.experiments for d in P.experiments[name].dependencies)),
        splits=expand(path("splits"), dependencies=unique(d for name in P.report.experiments for d in P.experiments[name].dependencies)),
        residuals=path("residuals"),
    output:
        pages=expand("reports/{page}", page=PAGES),
        results_csv="reports/results.csv",
        metrics="reports/metrics.json",
        figures=directory("reports/figures"),
        plots=directory("reports/plots"),
    params:
        options=reading,
        settings=json.dumps(shown(), sort_keys=True),
        settings_now=settings_now(),
    log:
        "logs/report.log",
    benchmark:
        "benchmarks/rules/report.tsv"
    message:
        "Writing the report"
    shell:
        stage("report", "settings", "settings_now", out="reports")


rule track:
    input:
        src=src("track"),
        files=[*rules.report.output.pages, rules.report.output.results_csv, *recorded()],
        results=[path("results", experiment=name) for name in P.report.all],
        history=[file for name in P.report.experiments for file in trainings(name, "history")],
        weights=[file for name in P.report.experiments for file in trainings(name, "weights")],
        splits=expand(path("splits"), dependencies=unique(d for name in P.report.experiments for d in P.experiments[name].dependencies)),
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
