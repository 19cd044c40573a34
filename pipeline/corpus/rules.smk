"""From source artifacts to basic blocks, dependency DAGs, splits, sets and tokens."""



SHARDS = range(P.corpus.shards)


# Jobs that de-duplicate, each a range of block_id: `--set-scatter partitions=64`, or `set-scatter` in a profile.
scattergather:
    partitions=2,


PARTITIONS = scatter.partitions("{scatteritem}")  # 1-of-2, 2-of-2
# The module that `ingest` imports by name (stages/ingest.py) for sources that may hold files of every format.
FORMATS = ["learned_schedulers.blocks.read.corpus_source"] if any(s.kind == "bhive" for s in P.corpus.sources.values()) else []
ARTIFACTS = [path("raw", source=source) for source in sorted(P.corpus.sources)]


rule fetch:
    input:
        src=src("fetch"),
        files=own_files,
    output:
        out=path("raw"),
    params:
        source="{source}",
        settings=lambda w: section("corpus", "sources", w.source),
    log: "logs/fetch/{source}.log"
    benchmark: "benchmarks/rules/fetch/{source}.tsv"
    message: "Fetching {wildcards.source}: pinned, checked, cached"
    shell: stage("fetch", "source", "settings")


rule manifest:
    input:
        src=src("manifest"),
        artifacts=ARTIFACTS,
    output:
        out=path("manifest"),
    params:
        settings=section("corpus"),
    log: "logs/manifest.log"
    benchmark: "benchmarks/rules/manifest.tsv"
    message: "Listing the files of all sources and dealing them out to {P.corpus.shards} shards"
    shell: stage("manifest", "settings")


rule ingest:
    input:
        src=src("ingest", *FORMATS),
        files=ARTIFACTS,
        manifest=path("manifest"),
    output:
        blocks=expand(path("shards", shard="{{shard}}/{partition}"), partition=PARTITIONS),
        skipped=path("skipped_shards"),
    params:
        settings=section("corpus"),
        shard="{shard}",
    log: "logs/ingest/{shard}.log"
    benchmark: "benchmarks/rules/ingest/{shard}.tsv"
    message: "Cutting machine code into basic blocks, shard {wildcards.shard}"
    shell: stage("ingest", "settings", "shard")


rule deduplicate:
    input:
        src=src("deduplicate"),
        shards=expand(path("shards", shard="{shard}/{{partition}}"), shard=SHARDS),
    output:
        blocks=path("partitions"),
    wildcard_constraints:
        partition=r"\d+-of-\d+",
    params:
        partitions=len(PARTITIONS),
    log: "logs/deduplicate/{partition}.log"
    benchmark: "benchmarks/rules/deduplicate/{partition}.tsv"
    message: "Keeping one of the blocks that are equal after masking, partition {wildcards.partition}"
    shell: stage("deduplicate", "partitions")


rule join_partitions:
    input:
        src=src("join_partitions"),
        partitions=expand(path("partitions"), partition=PARTITIONS),
        skipped_shards=expand(path("skipped_shards"), shard=SHARDS),
    output:
        blocks=path("blocks"),
        skipped=path("skipped"),
    log: "logs/join_partitions.log"
    benchmark: "benchmarks/rules/join_partitions.tsv"
    message: "Joining the partitions to the corpus"
    shell: stage("join_partitions")


rule dags:
    input:
        src=src("dags"),
        blocks=path("blocks"),
    output:
        out=path("dags"),
    params:
        dependencies="{dependencies}",
    threads: 2
    log: "logs/dags/{dependencies}.log"
    benchmark: "benchmarks/rules/dags/{dependencies}.tsv"
    message: "Building dependency DAGs of the corpus, mode {wildcards.dependencies}"
    shell: stage("dags", "dependencies", cores="{threads}")


rule describe:
    input:
        src=src("describe"),
        blocks=path("blocks"),
        dags=path("dags"),
    output:
        out=path("corpus"),
    log: "logs/describe/{dependencies}.log"
    benchmark: "benchmarks/rules/describe/{dependencies}.tsv"
    message: "Describing the corpus: lengths, legal orders, kinds of dependencies, mode {wildcards.dependencies}"
    shell: stage("describe")


rule split:
    input:
        src=src("split"),
        blocks=path("blocks"),
        dags=path("dags"),
    output:
        out=path("splits"),
    params:
        settings=section("split"),
    log: "logs/split/{dependencies}.log"
    benchmark: "benchmarks/rules/split/{dependencies}.tsv"
    message: "Drawing training, development and test blocks and their input orders, mode {wildcards.dependencies}"
    shell: stage("split", "settings")


rule following:
    input:
        src=src("following"),
        files=ARTIFACTS,
        manifest=path("manifest"),
        blocks=path("blocks"),
    output:
        out=path("following"),
    params:
        settings=section("corpus"),
    log: "logs/following.log"
    benchmark: "benchmarks/rules/following.tsv"
    message: "Reading the instructions that follow every block in its program"
    shell: stage("following", "settings")


rule instructions:
    input:
        src=src("instructions"),
        blocks=path("blocks"),
        following=path("following"),
    output:
        encodings=path("encodings"),
        instructions=path("instructions"),
    log: "logs/instructions.log"
    benchmark: "benchmarks/rules/instructions.tsv"
    message: "Describing every distinct instruction of the corpus"
    shell: stage("instructions")


rule sets:
    input:
        src=src("sets"),
        blocks=path("blocks"),
        dags=of_set("dags"),
        splits=of_set("splits"),
    output:
        out=path("sets"),
    params:
        name="{set}",
        settings=lambda w: section("sets", w.set),
        seed=P.split.seed,
        sampler=P.split.sampler,
    log: "logs/sets/{set}.log"
    benchmark: "benchmarks/rules/sets/{set}.tsv"
    message: "Choosing the blocks of {wildcards.set} and their input orders"
    shell: stage("sets", "name", "settings", "seed", "sampler")


rule verify:
    """It runs machine code of the corpus, in confined child processes; so nothing but a request runs it."""
    input:
        src=src("verify"),
        blocks=path("blocks"),
        dags=path("dags", dependencies="full"),
    output:
        verification=path("verification"),
        sensitivity=path("sensitivity"),
    params:
        settings=section("dag_verification"),
    threads: 2
    log: "logs/verify.log"
    benchmark: "benchmarks/rules/verify.tsv"
    message: "Running legal orders of blocks, and swaps that break an edge"
    shell: stage("verify", "settings", cores="{threads}")


FURTHER["dag_verification"] = Further(
    tables=lambda: [path("verification"), path("sensitivity")],
    settings=lambda: json.loads(section("dag_verification")),
    alike=lambda: ["verification"],
)
