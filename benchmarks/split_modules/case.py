"""A case: a module, the inputs of its calls, and what is expected of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

Arguments = tuple[tuple[Any, ...], dict[str, Any]]  # positional, keywords


@dataclass(frozen=True)
class Case:
    """A module of a kind."""

    name: str
    make: Callable[[], nn.Module]
    arguments: Callable[[], Arguments]  # of one call, drawn with torch's generator
    training: bool = False
    refusal: str = ""  # pattern of the reason for which PlacedModule may refuse it; empty: it has to run
    gradients: bool = True  # whether the module itself has gradients
    rounding: bool = False  # whether the CPU fuses operations that the graph has apart, and so rounds otherwise
    rate: float = 0.05  # of the optimiser; a large one lets deep networks explode, and rounding with them
    steps: int = 3


@dataclass
class Cases:
    """A list of cases that grows by decorators of module classes, and by modules of torch."""

    cases: list[Case] = field(default_factory=list)

    def of(self, *arguments: Any, **options: Any) -> Callable[[type[nn.Module]], type[nn.Module]]:
        """Add a class; arguments and options are those of `make`."""

        def add(kind: type[nn.Module]) -> type[nn.Module]:
            self.make(kind.__name__, kind, *arguments, **options)
            return kind

        return add

    def make(
        self,
        name: str,
        make: Callable[[], nn.Module],
        *arguments: Any,
        training: bool = False,
        refusal: str = "",
        gradients: bool = True,
        rounding: bool = False,
        **keywords: Any,
    ) -> None:
        """Add what a function makes; arguments, keywords: plain values, or functions that draw an input each."""

        def drawn() -> Arguments:
            return tuple(map(_drawn, arguments)), {key: _drawn(value) for key, value in keywords.items()}

        self.cases.append(Case(name, make, drawn, training, refusal, gradients, rounding))


def _drawn(value: Any) -> Any:
    return value() if callable(value) else value


def real(*shape: int, dtype: torch.dtype = torch.float32) -> Callable[[], Tensor]:
    """A function that draws a tensor around 0."""
    return lambda: torch.randn(shape).to(dtype)


def whole(end: int, *shape: int) -> Callable[[], Tensor]:
    """A function that draws integers from 0 to below `end`."""
    return lambda: torch.randint(0, end, shape)
