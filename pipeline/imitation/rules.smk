"""The evidence behind the imitation of GCC's orders, and the imitator in the package."""

from pipeline.imitation.settings import Imitation


def with_evidence():
    """The experiment that has a section `evidence`."""
    return next(name for name, e in P.experiments.items() if isinstance(e, Imitation) and e.evidence is not None)


def evidence(experiment):
    """Which training, sets and seed the evidence on an imitator is of."""
    return P.experiments[experiment].evidence


rule ceiling:
    input:
        **blocks_of("released"),
        src=src("ceiling"),
        blocks=path("blocks", corpus="released"),
        training=lambda w: path("sets", set=evidence(w.experiment).training),
        sets=lambda w: expand(path("sets"), set=[evidence(w.experiment).development, *experiment_of(w).sets]),
    output:
        out=path("ceiling"),
        twins_out=path("twins"),
    params:
        source=lambda w: P.sets[evidence(w.experiment).training].sources[0],
    message: "Orders of blocks that are equal up to renaming ({wildcards.experiment})"
    shell: stage("ceiling", "source")


rule audit:
    input:
        **blocks_of("released"),
        src=src("audit"),
        blocks=path("blocks", corpus="released"),
        set=lambda w: path("sets", set=evidence(w.experiment).development),
    output:
        out=path("audit"),
    params:
        seed=P.split.seed,
        sampler=P.split.sampler,
        confidence=P.evaluation.confidence,
    message: "Sorting instructions by every feature of a network alone"
    shell: stage("audit", "seed", "sampler", "confidence")


def leading_decoder(network):
    """The decoder that measures a network during its training; the network's confidence is in its orders."""
    return "greedy" if network.head.kind in ("pointer", "pairwise") else "best"


rule errors:
    input:
        src=src("errors"),
        blocks=of_set("blocks"),
        encodings=of_set("encodings"),
        instructions=of_set("instructions"),
        dags=of_set("dags"),
        schedules=path("schedules", target=GCC),
        confidence=path("confidence", target=GCC),
    output:
        out=path("errors"),
        shares_out=path("error_shares"),
    params:
        decoder=lambda w: leading_decoder(P.network(w.experiment, w.method).settings),
        n_blocks=200,
        seed=P.split.seed,
        level=P.evaluation.confidence,
    message: "Sorting wrong blocks of {wildcards.method} on {wildcards.set} by kind ({wildcards.experiment})"
    shell: stage("errors", "decoder", "n_blocks", "seed", "level")


def shipping():
    """The experiment that has a section `shipped`, and that network's name."""
    return next((name, e.shipped) for name, e in P.experiments.items() if isinstance(e, Imitation) and e.shipped)


def shipped_imitator():
    """Settings of the network that is shipped."""
    experiment, model = shipping()
    return P.experiments[experiment].models[model]


def trainings_to_ship(kind):
    """Files of all its trainings, as an input function."""
    return lambda w: trainings(shipping()[0], kind, [shipping()[1]])


rule ship:
    """Put the best seed of the imitator into the package: `snakemake data/published/shipped.done`."""
    input:
        src=lambda w: src("ship", *architecture(shipped_imitator())),
        weights=trainings_to_ship("weights"),
        history=trainings_to_ship("history"),
        results=lambda w: path("results", experiment=shipping()[0]),
        training=lambda w: path("sets", set=shipped_imitator().training),
    output:
        touch("data/published/shipped.done"),
    params:
        options=reading,
        facts=lambda w: json.dumps({"sources": config["sets"][shipped_imitator().training]["sources"]}),
    message: "Putting the best imitator into the package, with its model card"
    shell: stage("ship", "facts", kind="imitator")


def evidence_tables():
    """Tables of the evidence, which are published beside the experiment with a section `evidence`."""
    experiment, chosen = with_evidence(), evidence(with_evidence())
    run = dict(experiment=experiment, set=chosen.set, method=chosen.model, seed=chosen.seed)
    tables = [path(kind, experiment=experiment) for kind in ("ceiling", "twins", "audit")]
    return tables + [path(kind, **run) for kind in ("errors", "error_shares")]


FURTHER["imitation_evidence"] = Further(
    tables=evidence_tables,
    settings=lambda: json.loads(section("experiments", with_evidence(), "evidence")),
    alike=lambda: experiments_of("imitation"),
)
