"""Inductor's scheduler nodes of a model before fusion, and the groups that it fuses.

A chain of elementwise operations is already one node: Inductor inlines it when it lowers the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch._inductor import config
from torch._inductor.dependencies import MemoryDep

from learned_schedulers.graphs.compilers.inductor.levelled_choices import Levels, begin_graph, named, using
from learned_schedulers.graphs.compilers.kinds import Loop

_EXPENSIVE = {"exp", "tanh", "sigmoid", "sin", "cos", "log", "sqrt", "rsqrt", "truediv", "erf", "pow", "expm1", "log1p"}

_NO_ARITHMETIC = {
    *("load", "store", "get_index", "index_expr", "constant", "to_dtype", "output", "store_reduction", "reduction"),
    *("placeholder", "load_seed"),
}


@dataclass(frozen=True)
class Node:
    """A scheduler node."""

    name: str
    loop: Loop
    expensive: int  # expensive operations per element
    simple: int  # other arithmetic operations per element
    elements: int  # number of elements that its loop runs over
    flops: float  # of a library call
    own_read: int  # bytes that no other node writes
    written: int  # bytes
    elsewhere: bool  # it reads other nodes' results at other positions than it writes
    parents: dict[str, int]  # bytes that are read of other nodes' results
    fusable: dict[str, int]  # later nodes that Inductor would fuse it with -> Inductor's score, the bytes saved


@dataclass(frozen=True)
class Grouped:
    """The nodes of a model, and the groups of nodes that became one kernel."""

    nodes: list[Node]
    groups: list[list[str]]


def runner(module: nn.Module, training: bool) -> Callable[..., Any]:
    """The function to compile and time: a forward pass, or a training step that returns all gradients."""
    if not training:
        return module

    def step(*inputs: Tensor) -> list[Tensor]:
        results = module(*inputs)
        results = results if isinstance(results, tuple) else (results,)
        loss = torch.stack([result.square().mean() for result in results]).sum()
        return list(torch.autograd.grad(loss, [*module.parameters()]))

    return step


class _Enough(Exception):
    """The rest of a compilation is not needed."""


def grouped(module: nn.Module, inputs: tuple[Tensor, ...], training: bool, levels: Levels | None) -> Grouped:
    """Nodes and groups of all graphs of a model; without code generation if there is only one graph."""
    nodes: list[Node] = []
    groups: list[list[str]] = []

    def before(scheduler_nodes: list[Any]) -> list[Any]:
        nodes.extend(_nodes(scheduler_nodes))
        return scheduler_nodes

    def after(scheduler_nodes: list[Any]) -> list[Any]:
        groups.extend([named(part) for part in node.get_nodes()] for node in scheduler_nodes)
        if not training:
            raise _Enough
        return scheduler_nodes

    compile_with(module, inputs, training, levels, before, after)
    return Grouped(nodes, groups)


def compile_with(
    module: nn.Module,
    inputs: tuple[Tensor, ...],
    training: bool,
    levels: Levels | None,
    before: Callable[[list[Any]], list[Any]] | None = None,
    after: Callable[[list[Any]], list[Any]] | None = None,
) -> Callable[..., Any] | None:
    """The compiled function after one run; None if a hook ended the compilation.

    Torch's caches by graph are off, because they ignore levels.
    """
    torch._dynamo.reset()

    def begun(scheduler_nodes: list[Any]) -> list[Any]:
        begin_graph()
        return scheduler_nodes if before is None else before(scheduler_nodes)

    settings = {
        "fx_graph_cache": False,
        "_pre_fusion_custom_pass": begun,
        "_post_fusion_custom_pass": after,
        "cpp.threads": 1,
    }
    caches_off = torch._functorch.config.patch({"enable_autograd_cache": False})
    with using(levels), config.patch(settings), caches_off:
        compiled = torch.compile(runner(module, training), fullgraph=not training)
        try:
            compiled(*inputs)
        except Exception as error:
            if _caused_by_enough(error):
                return None
            raise
    return compiled


def _caused_by_enough(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, _Enough) or type(error).__name__ == _Enough.__name__ or "_Enough" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _nodes(scheduler_nodes: list[Any]) -> list[Node]:
    writer = {buffer: named(node) for node in scheduler_nodes for buffer in node.get_buffer_names()}
    if scheduler_nodes:
        scheduler = scheduler_nodes[0].scheduler  # can_fuse reads these, which torch sets right after this hook
        scheduler._multi_stream_nodes, scheduler.node_to_stream, scheduler.buff_to_stream = False, {}, {}
    return [_node(node, writer, scheduler_nodes[i + 1 :]) for i, node in enumerate(scheduler_nodes)]


def _node(node: Any, writer: dict[str, str], later: list[Any]) -> Node:
    parents: dict[str, int] = {}
    own_read, elsewhere = 0, False
    writes = [*node.read_writes.writes]
    for read in node.read_writes.reads:
        read_bytes = _bytes(node, read)
        source = writer.get(read.name)
        if source is None or source == named(node):
            own_read += read_bytes
            continue
        parents[source] = max(parents.get(source, 0), read_bytes)
        if writes and isinstance(read, MemoryDep) and isinstance(writes[0], MemoryDep):
            elsewhere |= not node.is_reduction() and read.index != writes[0].index
    counts = dict(getattr(getattr(node, "_body", None), "op_counts", {}) or {})
    expensive = sum(count for name, count in counts.items() if name in _EXPENSIVE)
    not_arithmetic = (
        "load",
        "store",
        "get_index",
        "index_expr",
        "constant",
        "to_dtype",
        "output",
        "store_reduction",
        "reduction",
    )
    simple = sum(count for name, count in counts.items() if name not in _EXPENSIVE and name not in not_arithmetic)
    if node.is_extern() or node.is_template():
        loop = Loop.LIBRARY
    elif node.is_reduction():
        loop = Loop.REDUCTION
    else:
        loop = Loop.MOVEMENT if not expensive and not simple else Loop.ELEMENTWISE
    sizes = getattr(node, "group", None)
    elements = 1
    if loop != Loop.LIBRARY and sizes is not None:
        extents = [extent for part in sizes[1] for extent in (part if isinstance(part, list | tuple) else (part,))]
        elements = int(np.prod([int(extent) for extent in extents], dtype=np.int64))
    return Node(
        named(node),
        loop,
        expensive,
        simple,
        elements,
        float(node.estimate_flops() or 0) if loop == Loop.LIBRARY else 0.0,
        own_read,
        sum(_bytes(node, write) for write in writes),
        bool(elsewhere),
        parents,
        {
            named(later_node): int(node.scheduler.score_fusion_memory(node, later_node))
            for later_node in later
            if node.scheduler.can_fuse(node, later_node)
        },
    )


def _bytes(node: Any, dependency: Any) -> int:
    """Bytes of a read or write, as Inductor counts them."""
    return int(node.scheduler.dep_size_hint(dependency))
