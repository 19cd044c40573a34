"""What `graph` takes for an ONNX file: sizes of dimensions and inputs, numbers of inputs; and the words of --link."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import typer

from learned_schedulers.graphs.devices.settings import LINKS, Link

_ENDINGS = ("onnx", "json", "stg")  # of files


def check(model: str, options: dict[str, Any]) -> None:
    """Raises ValueError for options that a file does not have, and for a class with a dot before its name."""
    module, _, name = model.rpartition(".")
    if name.lower() not in _ENDINGS and module and all(part.isidentifier() for part in model.split(".")):
        name = "Class" if name == "py" else name
        raise ValueError(f"{model}: a class stands behind a colon; write {module}:{name}, with --input")
    of_files = {"in_parts", "attention"} if model.lower().endswith(".onnx") else {"in_parts"}
    if unfit := [name for name in options if name not in of_files]:
        listed = ", ".join(f"--{name}" for name in unfit)
        places = "module:Class and ONNX files" if unfit == ["attention"] else "module:Class alone"
        raise ValueError(f"{model}: {listed}: for {places}; leave it out, because a file has its own operations")


def sizes(words: Iterable[str], inputs: Iterable[str]) -> tuple[dict[str, int], dict[str, tuple[int, ...]]]:
    """Sizes of dimensions, and of inputs. Raises ValueError for what is neither."""
    dimensions = {}
    for text in words:
        name, _, number = text.rpartition("=")
        if not name or not number.isdecimal() or not 0 < int(number) < 2**31:
            raise ValueError(f"--size {text}: write the dimension's name and an integer above 0, like batch=8")
        dimensions[name] = int(number)
    return dimensions, dict(_shape_of(text) for text in inputs)


def link_of(text: str) -> Link:
    """A link by its name, or `25,5`: gigabytes per second, and microseconds of each transfer.

    Raises typer.BadParameter for what is neither.
    """
    for name, link in LINKS.items():
        if text == name:
            return link
    try:
        speed, delay = map(float, text.split(","))
        if not 0 < speed < np.inf or not 0 <= delay < np.inf:
            raise ValueError
    except ValueError as error:
        listed = ", ".join(map(repr, LINKS))
        remedy = f"write one of {listed}, or GB/s and microseconds, like 25,5"
        raise typer.BadParameter(f"--link {text}: {remedy}") from error
    return Link(bytes_per_second=speed * 1e9, seconds=delay * 1e-6)


def numbers(words: Iterable[str]) -> dict[str, float]:
    """Numbers of inputs by their names. Raises ValueError for what is none."""
    return dict(map(_number_of, words))


def _number_of(text: str) -> tuple[str, float]:
    """`rate=16000` -> the name and the number. Raises ValueError otherwise."""
    name, _, number = text.rpartition("=")
    try:
        return name, float(number)
    except ValueError as error:
        raise ValueError(f"--value {text}: write the input's name and a number, like rate=16000") from error


def _shape_of(text: str) -> tuple[str, tuple[int, ...]]:
    """`x=1,3,48,320` -> the name and the sizes. Raises ValueError otherwise."""
    name, _, listed = text.rpartition("=")
    sizes = [size for size in listed.split(",") if size]
    if not name or not all(size.isdecimal() and int(size) < 2**31 for size in sizes):
        raise ValueError(f"--input {text}: a file's inputs have names; write NAME=1,3,48,320")
    return name, tuple(int(size) for size in sizes)
