"""The only DAG. Every rule runs one stage: read tables, call one function, write tables."""
import sys

sys.path.insert(0, workflow.basedir)

if not config:
    configfile: "params.yaml"


include: "pipeline/lab/rules/common.smk"


# Where jobs go to other machines, these stay: one needs the network, one writes MLflow's store in this folder.
localrules:
    all,
    fetch,
    track,


onstart:
    lock_dvc_out()


onsuccess:
    verify_all()  # a file that was damaged after its last reader had run


rule all:
    input:
        "reports/index.html",
        "reports/ro-crate-metadata.json",
        path("tracked"),


for name in ("experiments", "graphs"):

    include: f"pipeline/lab/rules/{name}.smk"


for file in chapters.files("rules.smk"):

    include: str(file)
    # Snakemake lets the file's folder come first, where a chapter's `numbers` would stand for Python's.
    sys.path.remove(str(file.parent))


include: "pipeline/lab/rules/publish.smk"
include: "pipeline/lab/rules/versions.smk"


complete(workflow.rules)
