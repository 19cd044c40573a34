"""Outputs of a torch module as a flat list of tensors, and losses of one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn

LossKind = Literal["cross_entropy", "mean_square", "sum", "output"]
Form = tuple[tuple[int, ...], torch.dtype]  # size and type of a tensor
_TARGETS = ("cross_entropy", "mean_square")  # losses that compare the output with a target


class Loss(NamedTuple):
    """A loss of a training step: its kind, and the name of the output that it is of (empty: the usual choice)."""

    kind: LossKind = "cross_entropy"
    output: str = ""

    def __str__(self) -> str:
        return {
            "cross_entropy": f"cross-entropy of the last dimension of output {self.output}",
            "mean_square": f"mean square error of output {self.output}",
            "sum": "sum of all outputs" if not self.output else f"sum of output {self.output}",
            "output": f"output {self.output}, which is the loss itself",
        }[self.kind]


def loss_of(text: str) -> Loss:
    """`cross_entropy:logits` -> the loss. Raises ValueError that lists the kinds."""
    kind, _, output = text.partition(":")
    if kind not in get_args(LossKind):
        raise ValueError(
            f"--loss {text}: write one of {', '.join(get_args(LossKind))}, and the name of an output behind a colon if "
            "it is not the first: cross_entropy:logits"
        )
    return Loss(kind, output)  # type: ignore[arg-type]  # checked before


def named_tensors(value: Any) -> dict[str, Tensor]:
    """The tensors of a result by their places: `logits`, `states.0`; `output` if it is a tensor itself.

    Tensors in tuples, mappings, dataclasses and attributes of other objects count.
    """
    tensors: dict[str, Tensor] = {}
    visited: dict[int, Any] = {}  # objects stay alive, so that no other has the same number

    def visit(path: tuple[str, ...], part: Any) -> None:
        if isinstance(part, Tensor):
            tensors[".".join(path) or "output"] = part
        elif id(part) not in visited:
            visited[id(part)] = part
            members: Any = ()
            if isinstance(part, Mapping):
                members = part.items()
            elif isinstance(part, list | tuple | set | frozenset):
                fields = getattr(part, "_fields", range(len(part)))
                members = zip(fields, part, strict=True)
            elif hasattr(part, "__dict__") and not isinstance(part, type | nn.Module):
                members = vars(part).items()
            for name, member in members:
                visit((*path, str(name)), member)

    visit((), value)
    return tensors


class Outputs(nn.Module):
    """A module whose result is the list of its tensors."""

    def __init__(self, module: nn.Module, forms: dict[str, Form] | None = None) -> None:
        """forms: gets size and type of each tensor."""
        super().__init__()
        self.module = module
        self._note = None if forms is None else forms.update  # a method, which torch.export does not look into

    def forward(self, *inputs: Any, **keywords: Any) -> list[Tensor]:
        tensors = named_tensors(self.module(*inputs, **keywords))
        if not tensors:
            raise ValueError("forward returns no tensor: return what the module computes")
        if self._note is not None:
            self._note({name: (tuple(tensor.shape), tensor.dtype) for name, tensor in tensors.items()})
        return list(tensors.values())


class WithLoss(nn.Module):
    """Loss of a module's output in basic operations: torch's composites have no gradient after export."""

    def __init__(self, module: nn.Module, loss: Loss) -> None:
        """loss: as of `chosen_loss`, so that its output exists."""
        super().__init__()
        self.module = module
        self.loss = loss

    def forward(self, *inputs: Any, **keywords: Any) -> Tensor:
        """inputs: those of the module, before them a target if the loss has one."""
        if self.loss.kind not in _TARGETS:
            tensors = named_tensors(self.module(*inputs, **keywords))
            if self.loss.kind == "output":
                return tensors[self.loss.output]
            parts = [tensors[self.loss.output]] if self.loss.output else list(tensors.values())
            sums = [part.sum() for part in parts if part.is_floating_point()]
            return torch.stack(sums).sum() if len(sums) > 1 else sums[0]
        target, *rest = inputs
        output = named_tensors(self.module(*rest, **keywords))[self.loss.output]
        if self.loss.kind == "mean_square":
            return (output - target).square().mean()
        scores = torch.log_softmax(output, -1)
        return -scores.gather(-1, target.unsqueeze(-1)).mean()


def chosen_loss(loss: Loss, result: Any) -> Loss:
    """The loss with the name of its output: as the user says, or `loss` or `logits`, or the first of real numbers.

    result: of the module, with tensors of any content. Raises ValueError that lists the outputs.
    """
    tensors = {name: tensor for name, tensor in named_tensors(result).items() if tensor.is_floating_point()}
    if not tensors:
        raise ValueError("forward returns no tensor of real numbers, so that there is no loss and no gradient")
    if loss.output and loss.output not in tensors:
        raise ValueError(
            f"--loss {loss.kind}:{loss.output}: there is no such output; the outputs are {', '.join(tensors)}"
        )
    if loss.kind == "sum":
        return loss
    if loss.kind == "cross_entropy" and not loss.output:  # it has classes in the last dimension
        tensors = {name: tensor for name, tensor in tensors.items() if tensor.dim()}
    if not tensors:
        raise ValueError(
            "the outputs are single numbers; choose --loss sum, or --loss output if one is the loss itself"
        )
    preferred = "loss" if loss.kind == "output" else "logits"
    name = loss.output or (preferred if preferred in tensors else next(iter(tensors)))
    if loss.kind == "output" and tensors[name].numel() != 1:
        raise ValueError(f"--loss output:{name}: its shape is {tuple(tensors[name].shape)}, but a loss is one number")
    return Loss(loss.kind, name)


def target_of(loss: Loss, result: Any) -> tuple[Tensor, ...]:
    """The target that `WithLoss` takes before the inputs; none for losses without one."""
    if loss.kind not in _TARGETS:
        return ()
    output = named_tensors(result)[loss.output]
    if loss.kind == "mean_square":
        return (torch.empty_like(output, requires_grad=False),)
    return (torch.empty(output.shape[:-1], dtype=torch.long, device=output.device),)
