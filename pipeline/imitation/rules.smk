"""The imitator in the package."""

from pipeline.imitation.settings import Imitation


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
        src=src("ship"),
        weights=trainings_to_ship("weights"),
        history=trainings_to_ship("history"),
        results=lambda w: path("results", experiment=shipping()[0]),
        training=lambda w: path("sets", set=shipped_imitator().training),
    output:
        touch("data/published/shipped.done"),
    params:
        options=reading,
        facts=lambda w: json.dumps({"sources": config["sets"][shipped_imitator().training]["sources"]}),
    log: "logs/ship.log"
    benchmark: "benchmarks/rules/ship.tsv"
    message: "Putting the best imitator into the package, with its model card"
    shell: stage("ship", "facts", kind="imitator")
