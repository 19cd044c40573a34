"""Source artifacts -> blocks -> DAGs -> splits and tokens."""


rule fetch:
    input:
        src=src("fetch"),
        files=own_files,
    output:
        artifact="data/raw/{source}",
    params:
        settings=lambda w: section("corpus", "sources", w.source),
    log:
        "logs/fetch/{source}.log",
    benchmark:
        "benchmarks/rules/fetch/{source}.tsv"
    message:
        "Fetching {wildcards.source}: pinned, checked, cached"
    shell:
        "python -m pipeline.stages.fetch --source {wildcards.source} --settings {params.settings:q}"
        " --out {output.artifact} 2> >(tee {log} >&2)"


rule manifest:
    input:
        src=src("manifest"),
        artifacts=expand("data/raw/{source}", source=sorted(P.corpus.sources)),
    output:
        manifest="data/corpus/manifest.parquet",
    params:
        settings=section("corpus"),
    log:
        "logs/manifest.log",
    benchmark:
        "benchmarks/rules/manifest.tsv"
    message:
        "Listing the files of all sources and dealing them out to {P.corpus.shards} shards"
    shell:
        "python -m pipeline.stages.manifest --settings {params.settings:q}"
        " --artifacts {input.artifacts} --out {output.manifest} 2> >(tee {log} >&2)"


rule ingest:
    input:
        src=src("ingest"),
        manifest="data/corpus/manifest.parquet",
        artifacts=expand("data/raw/{source}", source=sorted(P.corpus.sources)),
    output:
        blocks="data/corpus/shards/{shard}.parquet",
        skipped="data/corpus/skipped/{shard}.parquet",
    params:
        settings=section("corpus"),
    log:
        "logs/ingest/{shard}.log",
    benchmark:
        "benchmarks/rules/ingest/{shard}.tsv"
    message:
        "Cutting machine code into basic blocks, shard {wildcards.shard}"
    shell:
        "python -m pipeline.stages.ingest --settings {params.settings:q} --shard {wildcards.shard}"
        " --manifest {input.manifest} --blocks {output.blocks} --skipped {output.skipped} 2> >(tee {log} >&2)"


rule deduplicate:
    input:
        src=src("deduplicate"),
        blocks=expand("data/corpus/shards/{shard}.parquet", shard=SHARDS),
        skipped=expand("data/corpus/skipped/{shard}.parquet", shard=SHARDS),
    output:
        blocks="data/corpus/blocks.parquet",
        skipped="data/corpus/skipped.parquet",
    log:
        "logs/deduplicate.log",
    benchmark:
        "benchmarks/rules/deduplicate.tsv"
    message:
        "Keeping one of the blocks that are equal after masking"
    shell:
        "python -m pipeline.stages.deduplicate --shards {input.blocks} --skipped-shards {input.skipped}"
        " --blocks {output.blocks} --skipped {output.skipped} 2> >(tee {log} >&2)"


rule dags:
    input:
        src=src("dags"),
        blocks="data/corpus/blocks.parquet",
    output:
        dags="data/dags/{dependencies}.parquet",
    threads: 2
    log:
        "logs/dags/{dependencies}.log",
    benchmark:
        "benchmarks/rules/dags/{dependencies}.tsv"
    message:
        "Building dependency DAGs, mode {wildcards.dependencies}"
    shell:
        "python -m pipeline.stages.dags --dependencies {wildcards.dependencies} --cores {threads}"
        " --blocks {input.blocks} --out {output.dags} 2> >(tee {log} >&2)"


rule describe:
    input:
        src=src("describe"),
        blocks="data/corpus/blocks.parquet",
        dags=DAGS,
    output:
        statistics=STATISTICS,
    log:
        "logs/describe/{dependencies}.log",
    benchmark:
        "benchmarks/rules/describe/{dependencies}.tsv"
    message:
        "Describing the corpus: lengths, legal orders, kinds of dependencies, mode {wildcards.dependencies}"
    shell:
        "python -m pipeline.stages.describe --blocks {input.blocks} --dags {input.dags}"
        " --out {output.statistics} 2> >(tee {log} >&2)"


rule split:
    input:
        src=src("split"),
        blocks="data/corpus/blocks.parquet",
        dags="data/dags/{dependencies}.parquet",
    output:
        splits="data/splits/{dependencies}.parquet",
    params:
        settings=section("split"),
    log:
        "logs/split/{dependencies}.log",
    benchmark:
        "benchmarks/rules/split/{dependencies}.tsv"
    message:
        "Drawing training, development and test blocks and their input orders, mode {wildcards.dependencies}"
    shell:
        "python -m pipeline.stages.split --settings {params.settings:q} --blocks {input.blocks}"
        " --dags {input.dags} --out {output.splits} 2> >(tee {log} >&2)"


rule tokens:
    input:
        src=src("tokens"),
        blocks="data/corpus/blocks.parquet",
        splits="data/splits/full.parquet",
    output:
        tokens="data/tokens/tokens.parquet",
        vocabulary="data/tokens/vocabulary.parquet",
    params:
        settings=section("tokens"),
    log:
        "logs/tokens.log",
    benchmark:
        "benchmarks/rules/tokens.tsv"
    message:
        "Turning instructions into tokens; the vocabulary is the training split's"
    shell:
        "python -m pipeline.stages.tokens --settings {params.settings:q} --blocks {input.blocks}"
        " --splits {input.splits} --tokens-out {output.tokens} --vocabulary-out {output.vocabulary} 2> >(tee {log} >&2)"
