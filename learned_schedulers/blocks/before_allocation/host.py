"""What code asks of a processor, against what this one has."""

from __future__ import annotations

import re

import llvmlite.binding as llvm

_GROUP = re.compile(r"#(\d+)")


def missing_features(head: str, text: str) -> list[str]:
    """Features that a function's attributes name, and this processor lacks, in sequence.

    head: the first line of the function; text: its module.
    """
    groups = [f"attributes #{number} = " for number in _GROUP.findall(head.rpartition(")")[2])]
    lines = [head, *(line for line in text.split("\n") if line.startswith(tuple(groups)))]
    features = [word for line in lines for word in re.findall(r'"target-features"="([^"]*)"', line)]
    present = llvm.get_host_cpu_features()
    return [
        name[1:]
        for name in dict.fromkeys(",".join(features).split(","))
        if name.startswith("+") and not present.get(name[1:], True)  # unknown names are no instructions of LLVM's
    ]
