"""What `graph` takes for an ONNX file: sizes of dimensions and inputs, numbers of inputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def check(model: str, options: dict[str, Any]) -> None:
    """Raises ValueError for options that a file does not have."""
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
