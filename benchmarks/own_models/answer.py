"""A child process: what `learned-schedulers graph` answers, and what an independent look at its operations says.

    python -m benchmarks.own_models.answer MODEL OPTION...

It prints one line of JSON: `code` (the command's exit code), `text` (what it printed), `operations`, `products` (FLOPs
of all products), `kinds` (operations of each kind), and `silent`, kinds that take more than a fixed number of steps per
element by `steady.py`, have no formula in the library, and are not named in the text.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any
from unittest.mock import patch

from torch.utils.flop_counter import flop_registry

from benchmarks.own_models.modules import declare_operators
from benchmarks.own_models.steady import is_steady
from learned_schedulers.command import graph
from learned_schedulers.command.main import app
from learned_schedulers.graphs.plans.sources import Source
from learned_schedulers.graphs.read import onnx_costs, torch_formulas


def main(words: list[str]) -> dict[str, object]:
    """The command's answer, and a look at it."""
    if not words[0].endswith(".onnx"):
        declare_operators()
    sources: list[Source] = []
    read = graph._read

    def remembered(*arguments: Any) -> Source:
        """What the command reads; every operation of it is remembered, as torch counts them."""
        sources.append(read(*arguments[:-1], True))
        return read(*arguments)

    text, code = StringIO(), 0
    with patch.object(graph, "_read", remembered), redirect_stdout(text), redirect_stderr(text):
        try:
            app(["graph", *words], standalone_mode=False)
        except SystemExit as end:
            code = int(end.code or 0)
    answer: dict[str, object] = {"code": code, "text": text.getvalue()}
    if not sources:
        return answer
    [source] = sources
    kinds = Counter(source.graph.kinds)
    products = [number for number, kind in enumerate(source.types) if kind]
    answer |= {"operations": len(source.graph), "kinds": kinds, "products": float(source.graph.flops[products].sum())}
    of_file = words[0].endswith(".onnx")
    looked_at = kinds + (Counter(_kinds_in(words[0])) if of_file else Counter())
    formulas = _with_formulas(of_file)
    answer["silent"] = sorted(
        kind
        for kind in looked_at
        if not is_steady(kind, of_file) and kind not in formulas and f"{kind} (" not in text.getvalue()
    )
    return answer


def _with_formulas(of_file: bool) -> set[str]:
    """Kinds that the library has a formula for, without their domains."""
    if of_file:
        return {name.split("::")[-1] for name in onnx_costs._FORMULAS}
    names = {*torch_formulas.PRODUCTS, *torch_formulas.FORMULAS, *torch_formulas.MOVES, *map(str, flop_registry)}
    return {name.split("::")[-1].split(".")[-1] for name in names}


def _kinds_in(file: str) -> Iterator[str]:
    """Kinds of all nodes of a file, also within subgraphs and functions."""
    import onnx

    model = onnx.load(file, load_external_data=False)
    functions = {function.name for function in model.functions}

    def walk(nodes: Any) -> Iterator[str]:
        for node in nodes:
            yield from [node.op_type] if node.op_type not in functions | {"If", "Loop", "Scan"} else []
            for attribute in node.attribute:
                for inner in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                    yield from walk(inner.node)

    yield from walk(model.graph.node)
    for function in model.functions:
        yield from walk(function.node)


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1:])))
