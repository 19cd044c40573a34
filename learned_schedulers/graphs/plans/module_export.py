"""A user's torch module -> its graph: built without weights where that is possible.

First on the meta device; then of fake tensors, whose device is the CPU, where torch.autocast casts; then with real
weights, where memory allows, for constructors and constants whose values matter (`.item()`, quantised weights).
Forward is never computed.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager, nullcontext, redirect_stderr
from copy import deepcopy
from dataclasses import replace
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, fx
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from learned_schedulers.graphs.plans.call_log import no_fast_paths
from learned_schedulers.graphs.plans.joined import joined
from learned_schedulers.graphs.plans.module_words import Input, arguments_of, constructor_of, drawn, imported, input_of
from learned_schedulers.graphs.plans.sources import Source
from learned_schedulers.graphs.plans.torch_errors import cause_and_remedy
from learned_schedulers.graphs.read.any_device import as_on_any_device
from learned_schedulers.graphs.read.export import Traced, Way, graph_of_fx, traced
from learned_schedulers.graphs.read.fx_nodes import computes
from learned_schedulers.graphs.read.fx_steps import KINDS, fixed_nodes, numbered, steps_of
from learned_schedulers.graphs.read.gradients import passes_of
from learned_schedulers.graphs.read.joins.recognised import recognised
from learned_schedulers.graphs.read.losses import loss_of
from learned_schedulers.graphs.read.module_memory import Optimiser, memory_of
from learned_schedulers.graphs.read.node_costs import HOW_PRICED, Prices, with_parts
from learned_schedulers.graphs.read.own_costs import read_costs
from learned_schedulers.graphs.read.recomputed import is_anew

_UNFIT = "this torchvision was built for another torch: install both from one place, both for CPUs or both for GPUs"
_PACKAGES = ("torchvision", "timm", "transformers")
_EXTRA = "pip install 'learned-schedulers[models]' brings torchvision, timm and transformers"
_PART = 2**24  # bytes of a tensor from which on the machine's memory is looked at


class TooLarge(MemoryError):
    """A module's weights do not fit the memory of this machine."""


def export_module(
    named: str,
    inputs: Sequence[str],
    training: bool,
    loss: str = "cross_entropy",
    attention: bool = True,
    costs: Path | None = None,
    optimizer: Optimiser = "sgd",
    eager: bool = False,
) -> Source:
    """The graph of `module:Class(...)`, whose forward is not computed.

    It imports the module, which runs the user's code; the current folder comes first in the search path.
    inputs: shapes like `32,3,224,224` (float32), with a type, `int64:16,128`, or with the name of an argument;
    loss, attention: see `losses.py` and `export.Way`; costs: a file (own_costs.py); optimizer: see
    `module_memory.py`; eager: every operation counts, as torch runs them one by one, otherwise groups of them that
    runtimes compute as one are one in forward. Raises ValueError that says what failed.
    """
    way = Way(loss_of(loss), attention)
    trace = _exported(named, inputs, "training" if training else "forward", way, _first)
    own_costs = {} if costs is None else read_costs(costs)
    return _joined_of(constructor_of(named).name, trace, Prices(own_costs), optimizer, eager or training, attention)


def read_module(
    module: torch.nn.Module, inputs: Sequence[Any], training: bool = False, loss: str = "cross_entropy"
) -> Source:
    """The graph of a torch module, of a call with these inputs, or of a training step. Forward is not computed.

    inputs: the positional arguments of forward, which may lie on the meta device, as the module may; loss: see
    `losses.py`. The module stays as it is, for a copy is traced. Raises ValueError that says what failed.
    """
    name, way = type(module).__name__, Way(loss_of(loss))
    with _explaining(name), _quiet(), no_fast_paths():
        trace = traced(deepcopy(module), tuple(inputs), "training" if training else "forward", way)
    return _joined_of(name, trace, Prices({}), "sgd", training, way.attention)


def _joined_of(name: str, trace: Traced, prices: Prices, optimizer: Optimiser, eager: bool, attention: bool) -> Source:
    """The graph of a traced module. eager: every operation counts; otherwise groups that runtimes compute as one."""
    if eager:
        return source_of(name, trace, prices, optimizer)
    fixed, numbers = fixed_nodes(trace.nodes), numbered(trace.nodes)
    source = source_of(name, trace, prices, optimizer, fixed)
    constants = frozenset(number for node, number in numbers.items() if node in fixed)
    joins = recognised(steps_of(trace.nodes, prices, fixed), constants, attention)
    return joined(source, joins, KINDS, len(constants))


def trace_with_weights(named: str, inputs: Sequence[str], training: bool, way: Way, device: str = "cpu") -> Traced:
    """The trace of `module:Class(...)` with real weights and inputs, both drawn from a fixed seed, for a run.

    Every process gets the same ones. device: of torch, where they are then. Raises as `export_module` does.
    """
    return _exported(named, inputs, "training" if training else "forward", way, partial(_with_weights, device=device))


def _exported(
    named: str,
    inputs: Sequence[str],
    variant: str,
    way: Way,
    attempts: Callable[[Callable[[], Any], Sequence[Input], str, Way, str], Traced],
) -> Traced:
    """The trace of a user's module by a function that makes it. Raises ValueError that says what failed."""
    entries = [input_of(text) for text in inputs]
    if not entries:
        raise ValueError(f"{named}: a module needs the shapes of its inputs: --input 32,3,224,224, once for each")
    constructor_of(named)  # raises what is wrong with the words
    with _explaining(named), imported(named) as make, _quiet(), no_fast_paths():
        return attempts(make, entries, variant, way, named)


@contextmanager
def _explaining(named: str) -> Iterator[None]:
    """What the user's code, or torch because of it, raises becomes a ValueError with its cause and a remedy."""
    try:
        yield
    except ImportError as error:
        hint = f"; {_EXTRA}" if (error.name or "").split(".")[0] in _PACKAGES else ""
        raise ValueError(f"{named}: it cannot be imported: {error}{hint}") from error
    except Exception as error:  # the user's code, or torch because of it, may raise anything
        reason = f"{error}; {_UNFIT}" if "torchvision::" in str(error) else cause_and_remedy(error)
        raise ValueError(f"{named}: torch cannot export it: {reason}") from error


def source_of(
    name: str,
    trace: Traced,
    prices: Prices,
    optimizer: Optimiser = "sgd",
    fixed: Set[fx.Node] = frozenset(),
) -> Source:
    """The graph of a traced module, and what was assumed. fixed: nodes that cost nothing, because they never change."""
    variant = "forward" if trace.loss is None else "training"
    graph = graph_of_fx(trace.nodes, name, name, variant, prices=prices)
    nodes = [node for node in trace.nodes.nodes if computes(node)]
    memory = memory_of(trace.nodes, optimizer)
    return Source(
        replace(graph, bytes_kept=graph.bytes_kept + memory.states),
        tuple(f"{layer or name} ({kind})" for layer, kind in zip(graph.layers, graph.kinds, strict=True)),
        np.arange(len(graph)),
        unpriced=prices.unpriced(trace.nodes, fixed),
        types=tuple(prices.number_type(node) for node in nodes),
        notes=tuple(_notes(trace, prices, fixed)),
        shared=memory.shared,
        results=memory.results,
        inputs=memory.inputs,
        weights=memory.weights,
        passes=None if trace.loss is None else passes_of(trace.nodes),
    )


def _notes(trace: Traced, prices: Prices, fixed: Set[fx.Node]) -> Iterator[str]:
    """Sentences about what was assumed."""
    if guessed := prices.guessed(trace.nodes, fixed):
        listed = ", ".join(f"{name} {flops:,.0f} FLOPs" for name, flops in sorted(guessed.items()))
        yield f"priced without a formula: {listed} in all; --costs FILE gives them your formulas"
    if trace.loss is not None:
        yield f"loss of the training step: {trace.loss} (--loss chooses another)"
    if anew := sum(computes(node) and is_anew(node) for node in trace.nodes.nodes):
        yield f"torch.utils.checkpoint: {anew} operations are computed anew for gradients, instead of kept"
    for kind, count in sorted(Counter(with_parts(trace.nodes)).items()):
        yield (
            f"torch's {kind} ({count}) is priced as {HOW_PRICED.get(kind, 'a single run of what is in it')}; "
            f"--costs FILE with an entry higher_order::{kind} gives it your price"
        )


def _with_weights(
    make: Callable[[], Any], entries: Sequence[Input], variant: str, way: Way, named: str, device: str
) -> Traced:
    """The trace with real weights and inputs. Raises TooLarge where memory does not allow them."""
    torch.manual_seed(0)
    with _FreeMemory():
        module = make().to(device)
    positional, keywords = pytree.tree_map_only(
        Tensor, lambda tensor: tensor.to(device), arguments_of(named, entries, drawn)
    )
    trace = traced(module, positional, variant, way, keywords)
    if trace.loss is not None and len(trace.inputs) > len(positional):
        trace.inputs[0].zero_()  # the target, whose memory has any content
    return trace


def _first(make: Callable[[], Any], entries: Sequence[Input], variant: str, way: Way, named: str) -> Traced:
    """The trace on the meta device, else by fake tensors, else with real weights. Raises what the last attempt raises.

    If the first two fail for the same reason, it is the module's or its inputs', and weights would not help.
    """

    def attempt(limit: Any) -> Traced:
        with limit:
            module = make()
        if not isinstance(module, torch.nn.Module):
            raise TypeError(f"it makes a {type(module).__name__}, not a torch.nn.Module")
        positional, keywords = arguments_of(named, entries, _empty)
        with redirect_stderr(StringIO()):  # torch prints the graph of a trace that fails
            return traced(module, positional, variant, way, keywords)

    with as_on_any_device() as regions:
        try:
            with torch.device("meta"):
                trace = attempt(nullcontext())
            if not regions:
                return trace
            first: Exception = ValueError("torch.autocast casts nothing on the meta device")
        except ImportError:
            raise
        except Exception as error:
            first = error
        try:
            with FakeTensorMode(allow_non_fake_inputs=True, shape_env=ShapeEnv()):
                return attempt(nullcontext())
        except Exception as error:
            if (type(error), str(error)) == (type(first), str(first)):
                raise
        return attempt(_FreeMemory())


@contextmanager
def _quiet() -> Iterator[None]:
    """Without torch's warnings and logs about its own work; what fails is raised."""
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)


def _empty(entry: Input) -> Tensor:
    return torch.empty(entry.shape, dtype=getattr(torch, entry.kind))


class _FreeMemory(TorchDispatchMode):
    """Raises TooLarge before a tensor is filled that does not fit the memory that is free."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, Tensor) and not result.is_sparse and result.numel() * result.element_size() > _PART:
            needed, free = result.numel() * result.element_size(), free_bytes()
            if needed > free:
                raise TooLarge(f"a tensor has {needed / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free")
        return result


def free_bytes() -> int:
    """Bytes of memory that this machine can still give."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
