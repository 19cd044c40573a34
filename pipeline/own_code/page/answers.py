"""The claims on ordering users' files, each as a question with its answer."""

from __future__ import annotations

from typing import Any

from pipeline.lab.page.asked import Question, answered
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.numbers import count
from pipeline.own_code.claims import PROCESSORS


def brief(value: float) -> str:
    """A ratio with four digits, `1` for one."""
    return f"{value:.4g}"


QUESTIONS = {  # by claim
    "own_blocks_that_differ": Question("How many blocks compute something else in their new order?", count),
    "own_files_that_fail": Question("How many assembly files fail in any test?", count),
    "own_generated_programs": Question("How many generated programs were ordered at random, built and run?", count),
    "own_generated_blocks_changed": Question("How many of their blocks changed, over all formats?", count),
    "own_generated_different": Question("How many of these programs print something else?", count),
    "own_lost_lines": Question("How many of 300,000 lines have no line of their own in the output?", count),
    "own_read_seconds_8000_sections": Question("How many seconds does a file of 8,000 sections take to read?", brief),
    "own_policy_blocks_per_second": Question("How many blocks does `policy` order in a second?", count),
    "own_learned_blocks_per_second": Question("How many blocks does `learned` order in a second?", count),
    "own_projects_passing": Question("How many of 16 projects pass their own suites in every build?", count),
    "own_wrapper_build_ratio": Question("How long is a build by the wrapper, over the plain one?", brief),
    "own_wrapper_build_ratio_warm": Question("The same, if the cache has what was ordered before?", brief),
    "own_fused_pairs_split": Question("How many comparisons leave the conditional jump with which they fuse?", count),
    **{
        f"own_loop_cycles_{processor}": Question(
            f"{processor}: what are the cycles of changed blocks in a loop over those before?", brief
        )
        for processor in PROCESSORS
    },
    **{
        f"own_cycles_{memory}_{processor}": Question(
            f"{processor}, `{memory}`: what are the best method's cycles over GCC's?", brief
        )
        for memory in ("tso", "single_thread")
        for processor in PROCESSORS
    },
}


def section(evidence: Evidence) -> dict[str, Any]:
    """The table of questions; it is empty if none was measured."""
    return {"questions": answered(evidence.claims, QUESTIONS)}
