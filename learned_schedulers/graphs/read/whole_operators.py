"""Attention, recurrent layers and interpolation as single operators, as libraries of devices run them.

torch takes them apart where it does not know the device: attention to products with a matrix of tokens x tokens, which
no fused kernel keeps, and recurrent layers to every step. Under `WholeOperators` the calls of a module stay whole, with
gradients. They also run: by torch's own function, so that each device uses its fused kernel; a gradient computes the
forward pass anew.

Attention stays in parts where no fused kernel takes it: other than four dimensions, operands of different types, or a
mask that needs a gradient. So do recurrent layers on packed sequences. Each layer of a recurrent network is one
operator, in both directions, as in ONNX.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor
from torch.library import custom_op
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from learned_schedulers.graphs.read.whole_interpolation import INTERPOLATE, interpolated, with_gradients

_ATTENTION = functional.scaled_dot_product_attention
_FORM = inspect.signature(
    lambda query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False: None
)
_RECURRENT: dict[Any, str] = {
    torch.lstm: "lstm",
    torch.gru: "gru",
    torch.rnn_tanh: "rnn_tanh",
    torch.rnn_relu: "rnn_relu",
}


class WholeOperators(TorchFunctionMode):
    """Calls of attention and recurrent layers become the operators of this file while it is entered."""

    def __init__(self, attention: bool = True, saved: bool = False) -> None:
        """saved: a recurrent layer that needs gradients also returns what a library saves for them."""
        super().__init__()
        self._attention = attention
        self._saved = saved

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is _ATTENTION and self._attention:
            return _attended(*args, **(kwargs or {}))
        if func is functional.multi_head_attention_forward and self._attention:
            try:
                functional.scaled_dot_product_attention = _attended  # no mode sees the calls within
                return func(*args, **(kwargs or {}))
            finally:
                functional.scaled_dot_product_attention = _ATTENTION
        if func is functional.dropout and _drops_nothing(*args, **(kwargs or {})):
            return args[0] if args else (kwargs or {})["input"]
        if func is INTERPOLATE:
            return interpolated(*args, **(kwargs or {}))
        packed = len(args) < 4 or not isinstance(args[3], bool)
        if func in _RECURRENT and not kwargs and not packed:
            return _layers(_RECURRENT[func], self._saved, *args)
        return func(*args, **(kwargs or {}))


def _drops_nothing(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> bool:
    """Whether dropout returns its input, as torch does then; torch.export makes a copy of it."""
    return p == 0 or (not training and 0 < p <= 1)


def _attended(*args: Any, **kwargs: Any) -> Tensor:
    """Attention by torch's arguments, as one operator where a fused kernel takes it."""
    call = _FORM.bind(*args, **kwargs)
    call.apply_defaults()
    result: Tensor = attention(*call.args) if _is_fused(*call.args[:4]) else _ATTENTION(*args, **kwargs)
    return result


def _is_fused(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> bool:
    operands = (query, key, value)
    return (
        all(tensor.dim() == 4 and tensor.numel() and tensor.dtype == query.dtype for tensor in operands)
        and query.is_floating_point()
        and not (mask is not None and mask.requires_grad and torch.is_grad_enabled())
    )


@custom_op("learned_schedulers::scaled_dot_product_attention", mutates_args=())
def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> Tensor:
    """Attention of queries (batch, heads, queries, width) -> (batch, heads, queries, width of values)."""
    result = _ATTENTION(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
    return result.transpose(1, 2).contiguous().transpose(1, 2)  # as fused kernels write it


@attention.register_fake
def _(query: Tensor, key: Tensor, value: Tensor, *_: Any) -> Tensor:
    batch, heads, queries = query.shape[:3]
    return query.new_empty(batch, queries, heads, value.shape[-1]).transpose(1, 2)


@custom_op("learned_schedulers::scaled_dot_product_attention_backward", mutates_args=())
def attention_backward(
    gradient: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    result: Tensor,
    attn_mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of queries, keys and values; a fused kernel computes the scores anew, without dropped ones."""
    with with_gradients():
        operands = [tensor.detach().requires_grad_() for tensor in (query, key, value)]
        q, k, v = operands
        anew = _ATTENTION(q, k, v, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
        first, second, third = torch.autograd.grad(anew, operands, gradient)
    return first.clone(), second.clone(), third.clone()


@attention_backward.register_fake
def _(gradient: Tensor, query: Tensor, key: Tensor, value: Tensor, *_: Any) -> tuple[Tensor, Tensor, Tensor]:
    return torch.empty_like(query), torch.empty_like(key), torch.empty_like(value)


def _attention_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    query, key, value, mask, *ctx.plain = inputs
    ctx.save_for_backward(query, key, value, output, mask)


def _attention_gradient(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    return (*attention_backward(gradient, *ctx.saved_tensors, *ctx.plain), *[None] * 5)


attention.register_autograd(_attention_gradient, setup_context=_attention_context)


def _layers(
    kind: str,
    saved: bool,
    x: Tensor,
    states: Any,
    weights: list[Tensor],
    biases: bool,
    layers: int,
    dropout: float,
    train: bool,
    both: bool,
    batch_first: bool,
) -> tuple[Tensor, ...]:
    """All layers of a recurrent network: arguments and results of torch.lstm and its kin.

    Libraries run steps x batch x numbers: an input that has the batch first is copied, and the results are a view.
    """
    if batch_first:
        x = x.transpose(0, 1).contiguous()
    whole = list(states) if kind == "lstm" else [states]
    directions = 2 if both else 1
    each = len(weights) // layers
    ends: list[list[Tensor]] = []
    saved = saved and torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (x, *whole, *weights))
    for layer in range(layers):
        layer_states = [state[layer * directions : (layer + 1) * directions] for state in whole]
        layer_weights = list(weights[layer * each : (layer + 1) * each])
        x, *parts, _ = _OPERATORS[kind](x, layer_states, layer_weights, biases, train, both, saved)
        ends.append(parts)
        if train and dropout and layer < layers - 1:
            x = torch.dropout(x, dropout, True)
    x = x.transpose(0, 1) if batch_first else x
    return x, *(torch.cat(parts) if layers > 1 else parts[0] for parts in zip(*ends, strict=True))


def _run(kind: str, x: Tensor, states: list[Tensor], weights: list[Tensor], *flags: bool) -> tuple[Tensor, ...]:
    biases, train, both = flags
    function = getattr(torch, kind)
    result: tuple[Tensor, ...] = function(
        x, states if kind == "lstm" else states[0], weights, biases, 1, 0.0, train, both, False
    )
    return result


def _gates(weights: list[Tensor]) -> int:
    """Numbers per sample and step that a library saves for gradients: all gates of all directions."""
    return sum(tensor.shape[0] for tensor in weights if tensor.dim() == 2) // 2


def _operator(kind: str) -> Any:
    """The operator of one layer: results, last states, and what is saved for gradients (empty if it is not)."""

    @custom_op(f"learned_schedulers::{kind}", mutates_args=())
    def layer(
        x: Tensor,
        states: list[Tensor],
        weights: list[Tensor],
        biases: bool,
        train: bool,
        both: bool,
        saved: bool,
    ) -> list[Tensor]:
        results = _run(kind, x, states, weights, biases, train, both)
        empty = x.new_empty((*x.shape[:-1], _gates(weights)) if saved else 0)
        return [*(result.clone() for result in results), empty]

    @layer.register_fake
    def _(
        x: Tensor,
        states: list[Tensor],
        weights: list[Tensor],
        biases: bool,
        train: bool,
        both: bool,
        saved: bool,
    ) -> list[Tensor]:
        width = states[0].shape[-1] * (2 if both else 1)  # with a projection it is that of the first state
        empty = x.new_empty((*x.shape[:-1], _gates(weights)) if saved else 0)
        return [x.new_empty(*x.shape[:-1], width), *(torch.empty_like(state) for state in states), empty]

    @custom_op(f"learned_schedulers::{kind}_backward", mutates_args=())
    def backward(
        gradients: list[Tensor],
        places: list[int],
        x: Tensor,
        states: list[Tensor],
        weights: list[Tensor],
        save: Tensor,
        biases: bool,
        both: bool,
    ) -> list[Tensor]:
        with with_gradients():
            operands = [tensor.detach().requires_grad_() for tensor in (x, *states, *weights)]
            number = 1 + len(states)
            results = _run(kind, operands[0], operands[1:number], operands[number:], biases, True, both)
            pieces = [results[place] for place in places]
            parts = torch.autograd.grad(pieces, operands, gradients, allow_unused=True)
        pairs = zip(parts, operands, strict=True)
        return [torch.zeros_like(tensor) if part is None else part.clone() for part, tensor in pairs]

    @backward.register_fake
    def _(
        gradients: list[Tensor],
        places: list[int],
        x: Tensor,
        states: list[Tensor],
        weights: list[Tensor],
        save: Tensor,
        biases: bool,
        both: bool,
    ) -> list[Tensor]:
        return [torch.empty_like(tensor) for tensor in (x, *states, *weights)]

    def context(ctx: Any, inputs: tuple[Any, ...], output: list[Tensor]) -> None:
        x, states, weights, biases, _, both, _ = inputs
        ctx.save_for_backward(x, *states, *weights, output[-1])
        ctx.number = len(states)
        ctx.plain = (biases, both)
        ctx.set_materialize_grads(False)

    def gradient(ctx: Any, parts: list[Tensor | None]) -> tuple[Any, ...]:
        x, *rest, save = ctx.saved_tensors
        states, weights = rest[: ctx.number], rest[ctx.number :]
        places = [place for place, part in enumerate(parts[:-1]) if part is not None]
        pieces = [parts[place] for place in places]
        first, *others = backward(pieces, places, x, states, weights, save, *ctx.plain)
        return first, others[: ctx.number], others[ctx.number :], *[None] * 4

    layer.register_autograd(gradient, setup_context=context)
    return layer


_OPERATORS = {kind: _operator(kind) for kind in _RECURRENT.values()}
