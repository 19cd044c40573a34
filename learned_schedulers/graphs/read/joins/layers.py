"""Normalisations and functions of one tensor in parts; batch norms, biases and copies behind what takes them in."""

from __future__ import annotations

from collections.abc import Iterator

from learned_schedulers.graphs.read.joins.steps import Join, Steps, heads_last

_LAYERS = {"Conv", "ConvTranspose", "Gemm", "MatMul"}
_RECURRENT = {"LSTM", "GRU", "RNN"}
_FUNCTIONS = {
    *("Add", "Sub", "Mul", "Div", "Pow", "Sqrt", "Reciprocal", "Erf", "Tanh", "Sigmoid", "HardSigmoid", "Clip", "Exp"),
    *("Log", "Softplus", "Relu", "Neg", "Cast", "Min", "Max"),
}
_SIGNATURES = {  # what a function in parts is, by an operation in it; the first that is there counts
    "Erf": "gelu",
    "Softplus": "mish",
    "Tanh": "gelu",
    "Sigmoid": "silu",
    "HardSigmoid": "hardswish",
    "Clip": "hardswish",
    "Min": "hardswish",
}
_LARGEST = 16  # operations of a function


def folded_norms(steps: Steps) -> Iterator[Join]:
    """Batch norms of constants behind a product or convolution of a constant, whose weights take them in."""
    for number, step in enumerate(steps.steps):
        if step.kind != "BatchNormalization" or not all(operand.constant for operand in step.inputs[1:]):
            continue
        layer = steps.computed(step.inputs[0], _LAYERS)
        if layer is not None and steps.only_reader(layer) == number and steps[layer].inputs[1].constant:
            folded = steps.join(steps[layer].kind, (layer, number), steps[layer].flops)
            if folded is not None:
                yield folded._replace(read=steps[layer].read)


def biases(steps: Steps) -> Iterator[Join]:
    """Sums of a constant along the last dimension behind a product with a constant."""
    for number, step in enumerate(steps.steps):
        if step.kind != "Add" or len(step.inputs) < 2:
            continue
        for operand, other in (step.inputs[:2], step.inputs[1::-1]):
            product = steps.computed(operand, {"MatMul"})
            if product is None or steps.only_reader(product) != number or not steps[product].inputs[1].constant:
                continue
            along = other.constant and other.number is None and other.along_last
            if along and operand.strides is None and other.shape[-1:] == step.shape[-1:]:
                join = steps.join("linear", (product, number), steps[product].flops)
                if join is not None:
                    yield join
                    break


def layouts(steps: Steps) -> dict[int, tuple[int, ...]]:
    """Copies of what recurrent layers of two directions return -> the layers; libraries write both side by side."""
    copies: dict[int, tuple[int, ...]] = {}
    for number, step in enumerate(steps.steps):
        if step.kind == "Copy" and heads_last(step.inputs[0]):
            layer = steps.computed(step.inputs[0], _RECURRENT)
            if layer is not None:
                copies[number] = (layer,)
    return copies


def normalisations(steps: Steps) -> Iterator[Join]:
    """Layer normalisation, that by the mean square alone, and that of groups whose weights stand behind it."""
    for number, step in enumerate(steps.steps):
        if step.kind == "InstanceNormalization" and (behind := _weighted(steps, number)):
            join = steps.join("group_norm", {number} | behind, step.flops)
            if join is not None:
                yield join
        if step.kind in ("Sqrt", "Rsqrt") and (members := _variance(steps, number)) is not None:
            members |= _scaled(steps, number, members)
            exit_step = max(members)
            kind = "layer_norm" if any(steps[i].kind == "Sub" for i in members) else "rms_norm"
            join = steps.join(kind, members, float(steps[exit_step].elements))
            if join is not None and len(steps.outer(members)) <= 3 and len(members) > 3:
                yield join


def _variance(steps: Steps, root: int) -> set[int] | None:
    """The operations of a root of the mean of squares, also of differences from the mean."""
    members = {root}
    operand = steps[root].inputs[0]
    if (added := steps.computed(operand, {"Add"})) is not None:
        if not any(part.number is not None for part in steps[added].inputs):
            return None
        members.add(added)
        operand = next(part for part in steps[added].inputs if part.number is None)
    mean = steps.computed(operand, {"ReduceMean"})
    square = None if mean is None else steps.computed(steps[mean].inputs[0], {"Pow", "Mul"})
    if mean is None or square is None:
        return None
    first, second = (*steps[square].inputs, steps[square].inputs[0])[:2]
    if not (second.number == 2 if steps[square].kind == "Pow" else first.name == second.name):
        return None
    members |= {mean, square}
    if (difference := steps.computed(first, {"Sub"})) is not None:
        x, middle = steps[difference].inputs[:2]
        centre = steps.computed(middle, {"ReduceMean"})
        if centre is not None and steps[centre].inputs[0].name == x.name:
            members |= {difference, centre}
    return members


def _scaled(steps: Steps, root: int, members: set[int]) -> set[int]:
    """The operations behind a root: its inverse, the product with what it normalises, weights and biases."""
    scaled: set[int] = set()
    tail, divided = root, False
    while (reader := steps.only_reader(tail)) is not None:
        step = steps[reader]
        others = [operand for operand in step.inputs if operand.owner != tail]
        inverse = step.kind == "Reciprocal" or (step.kind == "Div" and others and others[0].number == 1)
        if inverse and not divided:
            pass
        elif step.kind in ("Div", "Mul") and not divided:
            divided = True
        else:
            break
        scaled.add(reader)
        tail = reader
    return scaled | _weighted(steps, tail) if divided else scaled


def _weighted(steps: Steps, tail: int) -> set[int]:
    """Products and sums with weights behind a normalisation, and changes of type between them."""
    members: set[int] = set()
    while (reader := steps.only_reader(tail)) is not None:
        step = steps[reader]
        others = [operand for operand in step.inputs if operand.owner != tail]
        weighted = step.kind in ("Mul", "Add") and len(others) == 1 and others[0].constant
        if not weighted and step.kind != "Cast":
            break
        members.add(reader)
        tail = reader
    return members


def functions(steps: Steps) -> Iterator[Join]:
    """Operations element by element that together are a function of one tensor, which several of them read."""
    for number in reversed(range(len(steps))):
        step = steps[number]
        if step.kind not in _FUNCTIONS or (len(step.tensors) < 2 and step.kind not in ("Mul", "Div")):
            continue
        members = _function(steps, number)
        kinds = {steps[i].kind for i in members}
        kind = next((name for signature, name in _SIGNATURES.items() if signature in kinds), "")
        if kind and (join := steps.join(kind, members, float(step.elements))) is not None:
            yield join


def _function(steps: Steps, last: int) -> set[int]:
    """The fewest operations up to `last` that are a function of one tensor; empty if there are none."""
    members = {last}
    while len(members) <= _LARGEST:
        outer = steps.outer(members)
        names = {operand.name for operand in outer.values()}
        read = sum(
            operand.name in names for i in members for operand in steps[i].tensors if operand.owner not in members
        )
        if len(names) == 1 and len(members) > 1 and read > 1:
            return members
        addable = [
            owner
            for operand in outer.values()
            if (owner := steps.computed(operand, _FUNCTIONS)) is not None
            and steps.inside(owner, members)
            and steps[owner].shape == steps[last].shape
        ]
        if not addable:
            return set()
        members.add(max(addable))
    return set()
