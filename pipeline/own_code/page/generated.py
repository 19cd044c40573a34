"""Generated programs in random legal orders: what was tried, and whether one differed (frozen)."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.numbers import count, percent
from pipeline.lab.page.tables import Column, Table, lines, of, table, value

EXPERIMENT, ALL = "own_generated", "all"
METHOD = "random_legal"
FORMATS = {
    "assembly": "assembly",
    "object": "ELF objects",
    "program": "linked programs",
    "archive": "archives",
    ALL: f"**{ALL}**",
}
FAMILIES = {
    "csmith": "C by Csmith",
    "assembly_text": "assembly with named places",
    "inline_assembly": "C with inline assembly and signal handlers",
    "cplusplus": "C++ with exceptions",
}
CONTROLS = {
    "one_dependency": "One dependency of one block reversed",
    "every_block": "One dependency of every block reversed",
    "across_a_named_place": "One instruction moved across a place that data name",
}
GROUPS = {  # by the first word of a construct's name
    "alias": "Names of places inside of blocks",
    "offset": "Symbols with an offset in code",
    "computed": "Computed jumps",
    "table": "Tables of jumps",
    "fixup": "Tables of instructions that may fault",
    "patch": "Immediates that are patched",
    "alternative": "Alternatives",
    "jump": "Jump labels",
    "region": "Regions of tools",
    "directive": "Directives inside of code",
    "text": "Macros, conditions, comments",
    "stack": "Frames",
    "machine": "Instructions with effects of their own",
    "in": "Sections of functions",
    "asm": "Inline assembly in C",
    "cpp": "C++",
    "csmith": "Features of Csmith's programs",
    "option": "Options of compilers",
    "compiler": "Compilers",
}
_PREFIX = "construct_"

RUN: list[Column] = [
    ("Programs", value(count, "programs")),
    ("Blocks", value(count, "blocks")),
    ("Changed", value(count, "blocks_changed")),
    ("Orders", value(count, "orders")),
    ("Refused", value(count, "programs_refused")),
    ("Programs that differ", value(count, "programs_different")),
]


def section(evidence: Evidence) -> dict[str, Any]:
    """The section's tables; they are empty if the benchmark was not run."""
    rows = evidence.of(EXPERIMENT)
    counted = rows[rows["method"] == METHOD]
    controls = rows[rows["metric"] == "share_detected"]
    named = {"set": [*FORMATS, *FAMILIES]}
    formats = counted[counted["set"].isin(FORMATS)]
    families = counted[counted["set"].isin(FAMILIES)]
    return {
        "formats": table([("Format", of("set", FORMATS.__getitem__)), *RUN], lines(formats, ["set"], named), right=1),
        "families": table(
            [("Programs of", of("set", FAMILIES.__getitem__)), *RUN[:-2], RUN[-1]],
            lines(families, ["set"], named),
            right=1,
        ),
        "controls": table(
            [
                ("Wrong on purpose", of("method", CONTROLS.__getitem__)),
                ("Programs", value(count, "share_detected", "n")),
                ("Detected", value(percent, "share_detected")),
            ],
            lines(controls, ["method"], {"method": list(CONTROLS)}),
            right=1,
        ),
        "constructs": _constructs(dict(zip(counted["metric"], counted["value"], strict=True))),
    }


def _constructs(values: dict[str, float]) -> Table:
    """Groups of constructs, each with the programs that have it and the blocks that changed beside it."""
    groups: dict[str, list[str]] = defaultdict(list)
    for metric, programs in sorted(values.items()):
        if metric.startswith(_PREFIX) and metric.endswith("_programs"):
            name = metric.removeprefix(_PREFIX).removesuffix("_programs")
            group = name.partition("_")[0] if name.partition("_")[0] in GROUPS else ""
            blocks = values.get(f"{_PREFIX}{name}_blocks")  # was counted once
            changed = "" if blocks is None else f" ({count(blocks)})"
            groups[group].append(f"{name.removeprefix(f'{group}_')} {count(programs)}{changed}")
    shown = [[GROUPS[group], "; ".join(groups[group])] for group in GROUPS if group in groups]
    shown += [["Others", "; ".join(groups[""])]] if "" in groups else []
    return Table(["Constructs", "Programs with each, and changed blocks in its functions"], shown)
