"""The only DAG. Every rule runs one stage: read tables, call one function, write tables."""
import sys

sys.path.insert(0, workflow.basedir)

if not config:
    configfile: "params.yaml"


include: "rules/common.smk"


localrules:
    all,


rule all:
    input:
        "reports/index.html",
        files(RUNS, *P.report.experiments),
        "data/tracked/imitations.json",


include: "rules/corpus.smk"
include: "rules/compiled.smk"
include: "rules/learn.smk"
include: "rules/imitate.smk"
include: "rules/operators.smk"
include: "rules/evidence.smk"
include: "rules/versions.smk"
