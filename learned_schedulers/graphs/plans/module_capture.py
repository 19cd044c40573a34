"""A module's forward for one form of a call -> its graph of aten operations, and a function that runs it.

Ahead-of-time autograd captures a copy on the meta device, with gradients where the call needs them: what detaches,
custom gradients and hooks of forward are in its graph. Its run changes buffers and inputs in place as forward does, and
its results are views of what forward's are views of. What the capture has built in otherwise is refused, or compared
at each call (`call_form.py`, `module_state.py`).
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, fx, nn
from torch._functorch._aot_autograd.descriptors import InputMutationAOTOutput
from torch._functorch.aot_autograd import (
    JointWithDescriptors,
    aot_compile_joint_with_descriptors,
    aot_export_joint_with_descriptors,
)
from torch._subclasses import FakeTensor, FakeTensorMode
from torch.utils import _pytree as pytree

from learned_schedulers.graphs.plans.call_form import PLAIN, Call, NotPlaceable, bound, cache_hint, with_dataclasses
from learned_schedulers.graphs.plans.call_log import CallLog, Event, no_fast_paths
from learned_schedulers.graphs.plans.module_state import difference, empty_caches, state_of, weights_of
from learned_schedulers.graphs.read.export import computes, kind_of
from learned_schedulers.graphs.read.fx_nodes import is_backward
from learned_schedulers.graphs.read.whole_operators import WholeOperators

CONTROL_FLOW = (
    "forward has control flow by data, whose branches would be one operation: compute both, and choose by torch.where"
)
Runner = Callable[[list[Any]], Any]  # a graph's results for values of its placeholders


class Captured(NamedTuple):
    """A captured forward."""

    device: str  # that it was captured on
    events: list[Event]  # calls of torch's functions
    weights: tuple[str, ...]  # names of the parameters and buffers that `run` takes, in this order
    changed: tuple[str, ...]  # names of the weights, and after `inputs.` the numbers of the tensors, changed in place
    run: Callable[[Sequence[Tensor], Sequence[Tensor]], tuple[Any, dict[str, Tensor]]]
    # Weights and input tensors -> forward's result, and tensors that take the places of buffers.


class Part(NamedTuple):
    """A tensor of a result, by its number."""

    number: int


class Recorded(nn.Module):
    """A module as a function of flat tensors, which notes what its flat results stand for."""

    def __init__(self, module: nn.Module, call: Call) -> None:
        super().__init__()
        self.module = module
        self._call = call
        self._ties = _ties(module)
        self._structure: pytree.TreeSpec | None = None
        self._leaves: list[object] = []  # of the result: Part or a plain value
        self._assigned: dict[str, int] = {}  # buffers that forward puts other tensors in place of: their numbers
        self.events: list[Event] = []

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        args, kwargs = bound(self.module.forward, self._call.arguments(tensors))
        for name, first in self._ties.items():
            _assign(self.module, name, weights_of(self.module)[first])
        before = weights_of(self.module)
        parameters = dict(self.module.named_parameters(remove_duplicate=False))
        for tensor in parameters.values():
            tensor._is_param = True  # so that it is an instance of Parameter
        state = state_of(self.module)
        with CallLog() as log:
            result = with_dataclasses(self.module(*args, **kwargs))
            log.end(result)
        self.events = log.events
        leaves, self._structure = pytree.tree_flatten(result)
        after = weights_of(self.module)
        if changed := sorted(before.keys() ^ after.keys()) or [
            name for name in parameters if after[name] is not before[name]
        ]:
            raise NotPlaceable(
                f"forward adds, removes or replaces the weight {changed[0]}: let it have one from the start"
            )
        numbers: dict[int, int] = {}
        results: list[Tensor] = []

        def part(tensor: Tensor) -> Part:
            if id(tensor) not in numbers:
                numbers[id(tensor)] = len(results)
                results.append(tensor)
            return Part(numbers[id(tensor)])

        self._leaves = [part(leaf) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
        for leaf in self._leaves:
            if not isinstance(leaf, (Part, *PLAIN)):
                raise NotPlaceable(
                    f"forward returns a {type(leaf).__name__}: return tensors, plain values and containers"
                    f"{cache_hint(leaf)}"
                )
        self._assigned = {name: part(after[name]).number for name in after if after[name] is not before[name]}
        for name in self._assigned:
            _assign(self.module, name, before[name])
        if place := difference(state, state_of(self.module)):
            raise NotPlaceable(
                f"forward changes {place}, a value of Python: keep what changes in a buffer; if "
                "only its first call does so, call the module once before it is placed"
            )
        return tuple(results)

    def unflattened(self, results: Sequence[Tensor]) -> tuple[Any, dict[str, Tensor]]:
        """forward's result, and the tensors that take the places of buffers."""
        assert self._structure is not None
        leaves = [results[leaf.number] if isinstance(leaf, Part) else leaf for leaf in self._leaves]
        assigned = {name: results[number] for name, number in self._assigned.items()}
        return pytree.tree_unflatten(leaves, self._structure), assigned


def captured(
    module: nn.Module,
    call: Call,
    prepare: Callable[[fx.Graph], None],
    runner: Callable[[fx.GraphModule, bool], Runner],
    device: str,
) -> Captured:
    """Capture forward for the form of a call, with gradients if they are enabled and a tensor requires them.

    prepare: is called with the graph, of which the compiled graphs keep the `meta` of nodes; runner: a graph, and
    whether it is of gradients, -> a function that runs it; device: meta, or a kind of device whose operations may be
    others, by tensors without content. Raises NotPlaceable that says what cannot be captured.
    """
    with ExitStack() as stack:
        recorded, joint = _exported(stack, module, call, device, True)
        mutated = _mutated(joint.graph_module.graph)
        prepare(joint.graph_module.graph)
        function = aot_compile_joint_with_descriptors(
            joint,
            fw_compiler=lambda part, _: runner(part, False),
            bw_compiler=lambda part, _: runner(part, True),
        )
    names = [name.removeprefix("module.") for name in (*joint.params_spec, *joint.buffers_spec)]

    def run(weights: Sequence[Tensor], inputs: Sequence[Tensor]) -> tuple[Any, dict[str, Tensor]]:
        return recorded.unflattened(function(*weights, *inputs))

    return Captured(device, recorded.events, tuple(names), tuple(map(_changed_name, mutated)), run)


def plain_graph(module: nn.Module, call: Call, device: str) -> fx.Graph:
    """The graph of forward of weights and inputs that require no gradients, under torch.no_grad(). Raises likewise."""
    with ExitStack() as stack, torch.no_grad():
        return _exported(stack, module, call, device, False)[1].graph_module.graph


def _exported(
    stack: ExitStack, module: nn.Module, call: Call, device: str, gradients: bool
) -> tuple[Recorded, JointWithDescriptors]:
    with FakeTensorMode() if device != "meta" else nullcontext():
        copy = on_device(module, device, gradients)
        recorded = Recorded(copy, call)
        tensors = tuple(like(tensor, device, gradients) for tensor in call.tensors)
    # With gradients, devices have attention with gradients of its own; ours would compute attention twice.
    whole = WholeOperators(attention=not (gradients and with_gradients(module, call)))
    with _same_random_numbers(), _no_lost_gradients(), no_fast_paths(), empty_caches(copy), whole:
        joint = aot_export_joint_with_descriptors(stack, recorded, tensors, decompositions={})
    _check(joint.graph_module.graph)
    return recorded, joint


def weight_name(descriptor: Any) -> str:
    """The weight that a placeholder is, by its descriptor; empty for inputs."""
    return str(getattr(descriptor, "target", "")).removeprefix("module.")


def _changed_name(descriptor: Any) -> str:
    return weight_name(descriptor) or f"inputs.{descriptor.idx}"


def operations_of(graph: fx.Graph) -> list[fx.Node]:
    """The operations of forward in program order."""
    return [node for node in graph.nodes if computes(node) and not is_backward(node)]


def _mutated(graph: fx.Graph) -> list[Any]:
    """Descriptors of inputs and weights that change in place."""
    (output,) = (node for node in graph.nodes if node.op == "output")
    return [part.mutated_input for part in output.meta["desc"] if isinstance(part, InputMutationAOTOutput)]


def on_device(module: nn.Module, device: str, gradients: bool = True) -> nn.Module:
    """A copy whose weights are on a device, with any content; on `meta`, or as fake tensors, they take no memory.

    gradients: whether what requires a gradient does so in the copy.
    """
    weights = {id(tensor): tensor for tensor in weights_of(module).values()}
    copies: dict[int, Any] = {}
    for number, tensor in weights.items():
        copy = like(tensor, device, gradients)
        copies[number] = nn.Parameter(copy, copy.requires_grad) if isinstance(tensor, nn.Parameter) else copy
    return deepcopy(module, copies)


def like(tensor: Tensor, device: str, gradients: bool = True) -> Tensor:
    """A tensor of the same form on a device, with any content."""
    copy = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=device)
    return copy.requires_grad_(gradients and tensor.requires_grad)


def with_gradients(module: nn.Module, call: Call) -> bool:
    """Whether gradients are enabled and anything requires them."""
    tensors = [*weights_of(module).values(), *call.tensors]
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


def _check(graph: fx.Graph) -> None:
    """Raises NotPlaceable for what a run by operations would do otherwise than forward."""
    for node in graph.nodes:
        if node.op == "get_attr":
            value = getattr(node.graph.owning_module, str(node.target))
            if isinstance(value, fx.GraphModule):
                raise NotPlaceable(CONTROL_FLOW)
            if isinstance(value, Tensor) and (value.is_meta or isinstance(value, FakeTensor)):
                raise NotPlaceable(f"forward makes the constant {node.target}: register it as a buffer")
        if _draws(node):
            raise NotPlaceable(
                f"forward draws random numbers ({kind_of(node)}), and each device has a generator of its own, so that "
                "no seed would give the module's numbers: call module.eval(), or pass them to forward as an input"
            )


def _draws(node: fx.Node) -> bool:
    """Whether an operation draws random numbers; attention without dropout does not, although torch's tags say so."""
    if torch.Tag.nondeterministic_seeded not in getattr(node.target, "tags", ()):
        return False
    schema: Any = node.target._schema  # type: ignore[union-attr]
    names = [argument.name for argument in schema.arguments]
    if "dropout_p" not in names:
        return True
    default = schema.arguments[names.index("dropout_p")].default_value
    values = dict(zip(names, node.args, strict=False)) | dict(node.kwargs)
    return values.get("dropout_p", default) != 0


@contextmanager
def _no_lost_gradients() -> Iterator[None]:
    """Raises NotPlaceable if torch loses a gradient: on the meta device some of its composites have none."""
    mode = torch._C._get_autograd_fallback_mode()
    torch._C._set_autograd_fallback_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as log:
            warnings.simplefilter("always")
            yield
    finally:
        torch._C._set_autograd_fallback_mode(mode)
    for message in (str(warning.message) for warning in log):
        if "an autograd kernel was not registered" in message:
            raise NotPlaceable(f"an operator has no gradient there: {message.split(':')[0]}::{message.split(':')[2]}")


@contextmanager
def _same_random_numbers() -> Iterator[None]:
    """Raises NotPlaceable if random numbers of the CPU are drawn, because they would be the same in each call."""

    def states() -> list[object]:
        numbers = np.random.get_state(legacy=False)
        return [random.getstate(), repr(numbers), torch.get_rng_state().tolist()]

    before = states()
    python, numpy, torch_state = random.getstate(), np.random.get_state(), torch.get_rng_state()
    try:
        yield
        for library, old, new in zip(("random", "numpy.random", "torch"), before, states(), strict=True):
            if old != new:
                raise NotPlaceable(
                    f"forward draws numbers of {library} that do not depend on its inputs; a run by operations would "
                    "have the same ones in each call: call module.eval(), or pass them to forward as an input"
                )
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
        torch.set_rng_state(torch_state)


def _assign(module: nn.Module, name: str, tensor: Tensor) -> None:
    """Put a tensor in the place of a parameter or buffer, which need not be a Parameter."""
    path, _, attribute = name.rpartition(".")
    part = module.get_submodule(path)
    (part._parameters if attribute in part._parameters else part._buffers)[attribute] = tensor  # type: ignore[assignment]


def _ties(module: nn.Module) -> dict[str, str]:
    """Further names of weights -> their first names."""
    firsts: dict[int, str] = {}
    names = {name: firsts.setdefault(id(tensor), name) for name, tensor in weights_of(module).items()}
    return {name: first for name, first in names.items() if name != first}
