"""Interpolation as a single operator, as devices run it; torch takes it apart to computations of positions."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.library import custom_op
from torch.nn import functional

INTERPOLATE = functional.interpolate
_FORM = inspect.signature(INTERPOLATE)
_MODES = {"nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear"}


@contextmanager
def with_gradients() -> Iterator[None]:
    """Gradients work within; torch runs the content of an operator without them."""
    keys = torch._C.DispatchKey
    excluded = torch._C._dispatch_tls_local_exclude_set()
    for key in (keys.AutogradFunctionality, keys.AutogradOther, keys.AutogradNestedTensor, keys.ADInplaceOrView):
        excluded = excluded.remove(key)
    with torch.enable_grad(), torch._C._ForceDispatchKeyGuard(torch._C._dispatch_tls_local_include_set(), excluded):
        yield


def interpolated(*args: Any, **kwargs: Any) -> Tensor:
    """Interpolation by torch's arguments, as one operator where its sizes are numbers."""
    call = _FORM.bind(*args, **kwargs)
    call.apply_defaults()
    x, size, scale, mode, corners, recompute, antialias = call.args
    plain = mode in _MODES and isinstance(x, Tensor) and x.dim() > 2 and not recompute and x.is_floating_point()
    if not plain:
        result: Tensor = INTERPOLATE(*args, **kwargs)
        return result
    count = x.dim() - 2
    sizes = (
        None if size is None else [int(part) for part in (size if isinstance(size, list | tuple) else [size] * count)]
    )
    scales = None
    if scale is not None:
        scales = [float(part) for part in (scale if isinstance(scale, list | tuple) else [scale] * count)]
    return interpolate(x, sizes, scales, mode, corners, antialias)


def _run(x: Tensor, size: Any, scale: Any, mode: str, corners: Any, antialias: bool) -> Tensor:
    result: Tensor = INTERPOLATE(x, size, scale, mode, corners, antialias=antialias)
    return result


@custom_op("learned_schedulers::interpolate", mutates_args=())
def interpolate(
    x: Tensor,
    size: list[int] | None,
    scale: list[float] | None,
    mode: str,
    align_corners: bool | None,
    antialias: bool,
) -> Tensor:
    """x (batch, channels, *sizes) at other sizes."""
    return _run(x, size, scale, mode, align_corners, antialias).contiguous()


@interpolate.register_fake
def _(x: Tensor, size: list[int] | None, scale: list[float] | None, *_: Any) -> Tensor:
    sizes = size or [int(length * factor) for length, factor in zip(x.shape[2:], scale or (), strict=True)]
    return x.new_empty(*x.shape[:2], *sizes)


@custom_op("learned_schedulers::interpolate_backward", mutates_args=())
def interpolate_backward(
    gradient: Tensor,
    shape: list[int],
    size: list[int] | None,
    scale: list[float] | None,
    mode: str,
    align_corners: bool | None,
    antialias: bool,
) -> Tensor:
    """Gradient of the input of this shape; interpolation is linear, so that the input's content does not matter."""
    with with_gradients():
        x = gradient.new_zeros(shape).requires_grad_()
        (result,) = torch.autograd.grad(_run(x, size, scale, mode, align_corners, antialias), x, gradient)
    return result.clone()


@interpolate_backward.register_fake
def _(gradient: Tensor, shape: list[int], *_: Any) -> Tensor:
    return gradient.new_empty(shape)


def _context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, *ctx.plain = inputs
    ctx.shape = list(x.shape)


def _gradient(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    return (interpolate_backward(gradient, ctx.shape, *ctx.plain), *[None] * 5)


interpolate.register_autograd(_gradient, setup_context=_context)
