"""Source artifacts -> blocks -> DAGs -> splits, sets, tokens."""

SHARDS = range(P.corpus.shards)
ARTIFACTS = [path("raw", source=source) for source in sorted(P.corpus.sources)]


rule fetch:
    input:
        src=src("fetch"),
        files=own_files,
    output:
        out=path("raw"),
    params:
        options=options,
        source="{source}",
        settings=lambda w: section("corpus", "sources", w.source),
    log:
        "logs/fetch/{source}.log",
    benchmark:
        "benchmarks/rules/fetch/{source}.tsv"
    message:
        "Fetching {wildcards.source}: pinned, checked, cached"
    shell:
        stage("fetch", "source", "settings")


rule manifest:
    input:
        src=src("manifest"),
        artifacts=ARTIFACTS,
    output:
        out=path("manifest"),
    params:
        options=options,
        settings=section("corpus"),
    log:
        "logs/manifest.log",
    benchmark:
        "benchmarks/rules/manifest.tsv"
    message:
        "Listing the files of all sources and dealing them out to {P.corpus.shards} shards"
    shell:
        stage("manifest", "settings")


rule ingest:
    input:
        src=src("ingest"),
        files=ARTIFACTS,
        manifest=path("manifest"),
    output:
        blocks=path("shards"),
        skipped=path("skipped_shards"),
    params:
        options=options,
        settings=section("corpus"),
        shard="{shard}",
    log:
        "logs/ingest/{shard}.log",
    benchmark:
        "benchmarks/rules/ingest/{shard}.tsv"
    message:
        "Cutting machine code into basic blocks, shard {wildcards.shard}"
    shell:
        stage("ingest", "settings", "shard")


rule deduplicate:
    input:
        src=src("deduplicate"),
        shards=expand(path("shards"), shard=SHARDS),
        skipped_shards=expand(path("skipped_shards"), shard=SHARDS),
    output:
        blocks=path("blocks", corpus="released"),
        skipped=path("skipped", corpus="released"),
    params:
        options=options,
    log:
        "logs/deduplicate.log",
    benchmark:
        "benchmarks/rules/deduplicate.tsv"
    message:
        "Keeping one of the blocks that are equal after masking"
    shell:
        stage("deduplicate")


def compiled_files(wildcards):
    """What is not pinned: a user's own programs, and the files that are laid over the others."""
    programs = P.compiled.programs.values()
    own = [program.artifact.path for program in programs if program.artifact.kind == "folder"]
    laid_over = [program.overlay for program in programs if program.overlay is not None]
    return unique(str(file) for folder in own + laid_over for file in Path(folder).rglob("*") if file.is_file())


rule compile:
    """C sources -> blocks with the order before GCC's last scheduling pass. Not part of `all`."""
    input:
        src=src("compile"),
        files=compiled_files,
    output:
        blocks=path("blocks", corpus="compiled"),
        input_orders=path("input_orders", corpus="compiled"),
        skipped=path("skipped", corpus="compiled"),
        statistics=path("compiled_statistics", corpus="compiled"),
    params:
        options=options,
        settings=section("compiled"),
    threads: 2
    log:
        "logs/compile.log",
    benchmark:
        "benchmarks/rules/compile.tsv"
    message:
        "Compiling C programs with and without the last scheduling pass, pairing their blocks"
    shell:
        stage("compile", "settings", cores="{threads}")


rule dags:
    input:
        src=src("dags"),
        blocks=path("blocks"),
    output:
        out=path("dags"),
    params:
        options=options,
        dependencies="{dependencies}",
    threads: 2
    log:
        "logs/dags/{corpus}/{dependencies}.log",
    benchmark:
        "benchmarks/rules/dags/{corpus}/{dependencies}.tsv"
    message:
        "Building dependency DAGs of the {wildcards.corpus} corpus, mode {wildcards.dependencies}"
    shell:
        stage("dags", "dependencies", cores="{threads}")


rule describe:
    input:
        src=src("describe"),
        blocks=path("blocks", corpus="released"),
        dags=path("dags", corpus="released"),
    output:
        out=path("corpus"),
    params:
        options=options,
    log:
        "logs/describe/{dependencies}.log",
    benchmark:
        "benchmarks/rules/describe/{dependencies}.tsv"
    message:
        "Describing the corpus: lengths, legal orders, kinds of dependencies, mode {wildcards.dependencies}"
    shell:
        stage("describe")


rule split:
    input:
        src=src("split"),
        blocks=path("blocks", corpus="released"),
        dags=path("dags", corpus="released"),
    output:
        out=path("splits"),
    params:
        options=options,
        settings=section("split"),
    log:
        "logs/split/{dependencies}.log",
    benchmark:
        "benchmarks/rules/split/{dependencies}.tsv"
    message:
        "Drawing training, development and test blocks and their input orders, mode {wildcards.dependencies}"
    shell:
        stage("split", "settings")


rule tokens:
    input:
        src=src("tokens"),
        blocks=path("blocks", corpus="released"),
        splits=path("splits", dependencies="full"),
    output:
        tokens=path("tokens"),
        vocabulary=path("vocabulary"),
    params:
        options=options,
        settings=section("tokens"),
    log:
        "logs/tokens.log",
    benchmark:
        "benchmarks/rules/tokens.tsv"
    message:
        "Turning instructions into tokens; the vocabulary is the training split's"
    shell:
        stage("tokens", "settings")


rule following:
    """Of the released corpus alone: the compiled programs are not kept."""
    input:
        src=src("following"),
        files=ARTIFACTS,
        manifest=path("manifest"),
        blocks=path("blocks", corpus="released"),
    output:
        out=path("following", corpus="released"),
    params:
        options=options,
        settings=section("corpus"),
    log:
        "logs/following.log",
    benchmark:
        "benchmarks/rules/following.tsv"
    message:
        "Reading what stands behind every block in its program"
    shell:
        stage("following", "settings")


rule instructions:
    input:
        src=src("instructions"),
        blocks=path("blocks"),
        following=lambda w: path("following", corpus="released") if w.corpus == "released" else [],
    output:
        encodings=path("encodings"),
        instructions=path("instructions"),
    params:
        options=options,
    log:
        "logs/instructions/{corpus}.log",
    benchmark:
        "benchmarks/rules/instructions/{corpus}.tsv"
    message:
        "Describing every distinct instruction of the {wildcards.corpus} corpus"
    shell:
        stage("instructions")


def stored_orders(wildcards):
    """Table that holds the input orders of the wildcard's set; POCSNet's splits say what is held out."""
    chosen = P.sets[wildcards.set]
    if chosen.input == "before_scheduling":
        return path("input_orders", corpus=chosen.corpus)
    return path("splits", dependencies=chosen.dependencies) if chosen.corpus == "released" else []


rule sets:
    input:
        src=src("sets"),
        blocks=of_set("blocks"),
        dags=of_set("dags"),
        stored=stored_orders,
    output:
        out=path("sets"),
    params:
        options=options,
        name="{set}",
        settings=lambda w: section("sets", w.set),
        seed=P.split.seed,
        sampler=P.split.sampler,
    log:
        "logs/sets/{set}.log",
    benchmark:
        "benchmarks/rules/sets/{set}.tsv"
    message:
        "Choosing the blocks of {wildcards.set} and their input orders"
    shell:
        stage("sets", "name", "settings", "seed", "sampler")


def learned_sets(corpus):
    """Sets of a corpus whose blocks orders are made for processors for, or learned from."""
    chosen = [experiment for experiment in P.experiments.values() if isinstance(experiment, Processors)]
    models = [model for experiment in chosen for model in experiment.models.values()]
    names = [name for experiment in chosen for name in experiment.sets]
    names += [name for model in models for name in (model.training, model.development)]
    return unique(path("sets", set=name) for name in names if corpus_of(name) == corpus)


rule machine_instructions:
    input:
        src=src("machine_instructions"),
        encodings=path("encodings"),
        instructions=path("instructions"),
        sets=lambda w: learned_sets(w.corpus),
    output:
        out=path("machine_instructions"),
    params:
        options=options,
        machine="{machine}",
        settings=lambda w: P.processors[w.machine].judge.model_dump_json(),
    threads: 2
    log:
        "logs/machine_instructions/{corpus}/{machine}.log",
    benchmark:
        "benchmarks/rules/machine_instructions/{corpus}/{machine}.tsv"
    message:
        "llvm-mca on {wildcards.machine}: distinct instructions of the {wildcards.corpus} corpus"
    shell:
        stage("machine_instructions", "machine", "settings", threads="{threads}")


rule residuals:
    input:
        src=src("residuals"),
        dags=path("dags", corpus="released", dependencies="full"),
    output:
        out=path("residuals"),
    params:
        options=options,
        settings=section("residuals"),
    log:
        "logs/residuals.log",
    benchmark:
        "benchmarks/rules/residuals.tsv"
    message:
        "Projecting onto the dependencies of real blocks: violations against iterations"
    shell:
        stage("residuals", "settings")


rule verify:
    """Runs machine code of the corpus, in confined child processes; so only when asked for."""
    input:
        src=src("verify"),
        blocks=path("blocks", corpus="released"),
        dags=path("dags", corpus="released", dependencies="full"),
    output:
        verification=path("verification"),
        sensitivity=path("sensitivity"),
    params:
        options=options,
        settings=section("dag_verification"),
    threads: 2
    log:
        "logs/verify.log",
    benchmark:
        "benchmarks/rules/verify.tsv"
    message:
        "Running legal orders of blocks, and swaps that break an edge"
    shell:
        stage("verify", "settings", cores="{threads}")
