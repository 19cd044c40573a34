"""Attention in parts: a product, scales and masks, a softmax, another product, and copies that only move operands.

A fused kernel reads operands by their strides, writes (batch, queries, heads, width), and keeps no matrix of scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from learned_schedulers.graphs.read.joins.steps import Join, Operand, Steps, heads_last

_SCORES = {"Add", "Sub", "Mul", "Div", "Where", "Cast", "Max", "Min", "Clip"}  # that scale and mask them
_SCALES = {"Mul", "Div"}
_LONGEST = 16  # operations between a product and a softmax


def attentions(steps: Steps) -> Iterator[Join]:
    """All attentions of a graph."""
    for number, step in enumerate(steps.steps):
        members = None
        if step.kind == "Attention":
            members = _with_copies(steps, {number}, step.tensors[:3], number)
        elif step.kind == "Softmax" and step.axes == (len(step.shape) - 1,):
            members = _around(steps, number)
        if members is not None and len(members) > 1:
            flops = sum(steps[i].flops for i in members if steps[i].kind in ("MatMul", "Attention"))
            if (join := steps.join("attention", members, flops)) is not None:
                yield join


def guarded(steps: Steps) -> Iterator[Join]:
    """Each softmax with what makes its rows 0 whose keys are all masked, as torch's own has it."""
    for number, step in enumerate(steps.steps):
        members = {number}
        if step.kind == "Softmax" and steps.only_reader(number) is None and number not in steps.lasting:
            choice = _guard(steps, number, members)
            join = None if choice is None else steps.join("softmax", members | {choice}, step.flops)
            if join is not None:
                yield join


def _around(steps: Steps, softmax: int) -> set[int] | None:
    """The operations of the attention around a softmax."""
    members = {softmax}
    last = _second_product(steps, softmax, members)
    first = None if last is None else _first_product(steps, softmax, members)
    if last is None or first is None:
        return None
    operands = [*steps[first].inputs[:2], steps[last].inputs[1]]
    if any(operand.constant for operand in operands[1:]):  # a layer, and no keys and values
        return None
    return _with_copies(steps, members | {first, last}, operands, last)


def _second_product(steps: Steps, softmax: int, members: set[int]) -> int | None:
    """The product of weights and values behind a softmax; what lies between is a member."""
    tail = softmax
    while True:
        reader = steps.only_reader(tail)
        if reader is None and tail not in steps.lasting:
            reader = _guard(steps, tail, members)
        if reader is None:
            return None
        step = steps[reader]
        if step.kind == "MatMul":
            weights = step.inputs[0]
            fits = weights.owner == tail and weights.strides is None and weights.shape[-1:] == steps[softmax].shape[-1:]
            return reader if fits else None
        if step.kind not in ("Cast", "Where"):
            return None
        members.add(reader)
        tail = reader


def _guard(steps: Steps, tail: int, members: set[int]) -> int | None:
    """Weights that are no numbers become 0: exporters write it for rows whose keys are all masked."""
    readers = steps.readers[tail]
    checks = [number for number in readers if steps[number].kind == "IsNaN"]
    choices = [number for number in readers if steps[number].kind == "Where"]
    if len(readers) != 2 or len(checks) != 1 or len(choices) != 1 or not steps.inside(checks[0], choices):
        return None
    members.add(checks[0])
    return choices[0]


def _first_product(steps: Steps, number: int, members: set[int]) -> int | None:
    """The product of queries and keys before a softmax; what scales and masks the scores is a member."""
    for operand in steps[number].inputs if len(members) <= _LONGEST else ():
        owner = operand.owner
        if owner is None or operand.strides is not None or not steps.inside(owner, members):
            continue
        step = steps[owner]
        if step.elements != steps[number].elements:
            continue
        if step.kind == "MatMul":
            return owner
        if step.kind in _SCORES:
            first = _first_product(steps, owner, members | {owner})
            if first is not None:
                members |= _between(steps, owner, first)
                return first
    return None


def _between(steps: Steps, last: int, first: int) -> set[int]:
    """The operations from `last` back to behind `first`, each the only reader of the next."""
    chain = {last}
    while (number := steps.only_reader(first)) is not None and number != last:
        chain.add(number)
        first = number
    return chain


def _with_copies(steps: Steps, members: set[int], operands: list[Operand], last: int) -> set[int]:
    """With the scales and copies of the operands that nothing else reads, and the copy behind the attention."""
    waiting = [operand.owner for operand in operands]
    while waiting:
        owner = waiting.pop()
        if owner is None or owner in members or not steps.inside(owner, members):
            continue
        step = steps[owner]
        if step.kind == "Copy" or (step.kind in _SCALES and any(part.number is not None for part in step.inputs)):
            members.add(owner)
            waiting += [part.owner for part in step.tensors]
    reader = steps.only_reader(last)
    if reader is not None and steps[reader].kind == "Copy" and heads_last(steps[reader].inputs[0]):
        members.add(reader)
    return members


def masks(steps: Steps, joins: list[Join]) -> dict[int, Operand]:
    """Masks of numbers that only attentions read, made of a mask of truth values: operation -> the latter.

    A kernel takes truth values as they are.
    """
    inside = {number for join in joins if join.kind == "attention" for number in join.members}
    places: dict[int, Operand] = {}
    for number, step in enumerate(steps.steps):
        if step.kind == "Where" and number not in inside and steps.inside(number, inside):
            truths, *values = step.inputs
            if all(value.number is not None for value in values) and prod(truths.shape) == step.elements:
                places[number] = truths
    return places
