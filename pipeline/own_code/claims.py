"""Claims about the files of users."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.lab.claims import Claim, row_of

PROCESSORS = ("atom", "silvermont", "btver2", "haswell", "skylake", "znver4")  # that users' code is ordered for
_GENERATED = (
    ("programs", "programs", ">= 5000", "How many generated programs were ordered at random, built and run?"),
    ("blocks_changed", "blocks_changed", ">= 1000000", "How many of their blocks changed, over all formats?"),
    ("different", "programs_different", "== 0", "How many of these programs print something else?"),
)


def claims() -> Iterator[Claim]:
    """Users' files ordered: nothing breaks, how fast it is, and what the orders are worth."""
    ran = row_of("own_blocks", set="all", method="all", metric="blocks_that_differ")
    question = "How many blocks compute something else in their new order?"
    yield Claim("own_blocks_that_differ", "== 0", ran).as_question(question, "count")
    failed = row_of("own_assembly", set="all", metric="files_that_fail")
    yield Claim("own_files_that_fail", "== 0", failed).as_question("How many assembly files fail in any test?", "count")
    for name, metric, target, question in _GENERATED:
        generated = row_of("own_generated", set="all", method="random_legal", metric=metric)
        yield Claim(f"own_generated_{name}", target, generated).as_question(question, "count")
    lost = row_of("own_speed", set="all", method="policy", metric="lost_lines")
    question = "How many of 300,000 lines have no line of their own in the output?"
    yield Claim("own_lost_lines", "== 0", lost).as_question(question, "count")
    read = row_of("own_speed", set="sections", method="policy", metric="read_seconds")
    question = "How many seconds does a file of 8,000 sections take to read?"
    yield Claim("own_read_seconds_8000_sections", "<= 3", read).as_question(question, "digits")
    for method, target in (("learned", ">= 5000"), ("policy", ">= 30000")):
        speed = row_of("own_speed", set="all", method=method, metric="blocks_per_second")
        question = f"How many blocks does `{method}` order in a second?"
        yield Claim(f"own_{method}_blocks_per_second", target, speed).as_question(question, "count")
    ordered = row_of("own_cycles", set="test_10_40", method="best", metric="cycles")
    ordered |= {"comparison": "ratio", "baseline": "gcc"}
    for memory in ("tso", "single_thread"):
        for processor in PROCESSORS:
            row = ordered | {"dependencies": memory, "target": processor, "judge": processor}
            question = f"{processor}, `{memory}`: what does the best method save of GCC's cycles?"
            yield Claim(f"own_cycles_{memory}_{processor}", "< 1", row).as_question(question, "saves")
    confirmed = row_of("own_gains", decoder="confirmed", dependencies="tso")
    for processor in PROCESSORS:
        place = confirmed | {"target": processor}
        loops = {"metric": "loop_cycles", "comparison": "ratio", "baseline": "before", "judge": processor}
        question = f"{processor}: what do changed blocks save in a loop of the cycles before?"
        yield Claim(f"own_loop_cycles_{processor}", "<= 1", place | loops).as_question(question, "saves")
    question = "How many comparisons leave the conditional jump with which they fuse?"
    yield Claim("own_fused_pairs_split", "== 0", confirmed | {"metric": "pairs_split"}).as_question(question, "count")
    passing = row_of("own_projects", set="all", metric="projects_passing")
    question = "How many of 16 projects pass their own suites in every build?"
    yield Claim("own_projects_passing", ">= 16", passing).as_question(question, "count")
    for method, name, target, question in (
        ("cold", "", "<= 1.3", "How long is a build by the wrapper, over the plain one?"),
        ("warm", "_warm", "<= 1.05", "The same, if the cache has what was ordered before?"),
    ):
        cost = row_of("own_wrapper", method=method, metric="build_ratio")
        cost |= {"comparison": "ratio", "baseline": "plain"}
        yield Claim(f"own_wrapper_build_ratio{name}", target, cost).as_question(question, "two")
