"""The largest sizes of results whose sizes depend on data: of NonZero, Unique, NonMaxSuppression and the like."""

from __future__ import annotations

from learned_schedulers.graphs.read.onnx_costs import Call

DEPENDING = {"NonZero", "Unique", "Compress", "NonMaxSuppression", "Slice", "TopK"}


def largest_sizes(call: Call, output: int) -> tuple[int, ...] | None:
    """Most sizes that this output can have; None if nothing bounds them. All inputs have sizes."""
    kind = call.node.op_type
    if call.node.domain or kind not in DEPENDING or (first := call.input(0)) is None:
        return None
    sizes = first.sizes
    if kind in ("Slice", "TopK"):
        return sizes
    if kind == "NonZero":
        return (max(len(sizes), 1), first.elements)
    axis = call.attribute("axis", None)
    length = first.elements if axis is None else sizes[int(axis)]
    if kind == "Unique":
        whole = output == 0 and axis is not None
        return (*sizes[: int(axis) % len(sizes)], length, *sizes[int(axis) % len(sizes) + 1 :]) if whole else (length,)
    if kind == "Compress":
        length = min(length, call.sizes(1)[0])
        return (
            (length,)
            if axis is None
            else tuple(length if i == int(axis) % len(sizes) else n for i, n in enumerate(sizes))
        )
    batches, classes, boxes = (
        *call.sizes(1)[:2],
        sizes[1],
    )  # boxes (batches, boxes, 4), scores (batches, classes, boxes)
    most = call.input(2)
    if most is None:
        return (0, 3)
    limit = boxes if most.data is None else min(boxes, max(int(most.data.reshape(-1)[0]), 0))
    return (batches * classes * limit, 3)
