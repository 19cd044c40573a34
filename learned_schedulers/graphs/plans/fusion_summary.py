"""Console text about fusion plans: the result of every method, then the kernels of the best plan that save most."""

from __future__ import annotations

from collections.abc import Sequence

from learned_schedulers.files import printable
from learned_schedulers.graphs.compilers.kinds import Loop, loop
from learned_schedulers.graphs.plans.fusions import GO, SEPARATE, Fusion, Kernel, best_of, best_rule, evaluations
from learned_schedulers.graphs.plans.summary import aligned, megabytes, milliseconds, ratio

_SHOWN_KERNELS = 10
_SHOWN_NAMES = 4
_NOTES = {
    SEPARATE: "one kernel for each operation",
    "loop_fusion": "XLA's rule on CPUs",
    "xla_2023": "XLA's rules on GPUs, as published in 2023",
    "priority_fusion": "XLA's rules on GPUs: the fusion that saves most time comes first",
}


def fusions_text(results: Sequence[Fusion], operations: int) -> str:
    """A line for each method: kernels, predicted time, bytes read and written, and time over the best rule's."""
    best, default = best_of(results), best_rule(results)
    rows, notes = [("method", "kernels", "predicted", "moved", "over best rule")], [""]
    descriptions = _NOTES | {
        GO: f"a network that learns during the search: {evaluations(operations):,} plans, starting from the best rule's"
    }
    for fusion in results:
        over = ratio(fusion.seconds, default.seconds)
        rows.append(
            (
                fusion.method,
                f"{fusion.plan.kernels:,}",
                milliseconds(fusion.seconds),
                megabytes(fusion.moved_bytes),
                over,
            )
        )
        notes.append(descriptions[fusion.method] + (" <- best" if fusion is best else ""))
    return aligned(rows, notes)


def kernels_text(kernels: Sequence[Kernel], names: Sequence[str]) -> str:
    """A line for each of the kernels of several operations that save most time, then a line for all kernels.

    names: (n,), of the operations. Kernels are numbered from 0 in an order in which they can run.
    """
    joined = [number for number, kernel in enumerate(kernels) if len(kernel.computes) > 1]
    if not joined:
        return "No kernel has more than one operation: there is nothing to fuse."
    shown = sorted(joined, key=lambda number: -kernels[number].saved_seconds)[:_SHOWN_KERNELS]
    rows: list[tuple[str, ...]] = [("kernel", "operations", "predicted", "saves", "saves traffic")]
    notes = ["computes -> writes"]
    for number in shown:
        rows.append(_row(str(number), [kernels[number]]))
        notes.append(f"{_listed(kernels[number].computes, names)} -> {_listed(kernels[number].writes, names)}")
    if len(joined) > len(shown):
        rows.append(_row(f"{len(joined) - len(shown):,} more", [kernels[i] for i in set(joined) - set(shown)]))
        notes.append("kernels with several operations")
    rows.append(_row("all", kernels))
    notes.append(f"kernels: {len(kernels):,}, with several operations: {len(joined):,}")
    return aligned(rows, notes)


def unknown_kinds_text(kinds: Sequence[str]) -> str:
    """A line about the kinds that no rule fuses because their loops are unknown; empty if there are none."""
    unknown = sorted({kind for kind in kinds if loop(kind) == Loop.OPAQUE})
    return f"Never fused, because their loops are unknown: {', '.join(unknown)}" if unknown else ""


def _row(label: str, kernels: Sequence[Kernel]) -> tuple[str, ...]:
    return (
        label,
        f"{sum(len(kernel.computes) for kernel in kernels):,}",
        milliseconds(sum(kernel.seconds for kernel in kernels)),
        milliseconds(sum(kernel.saved_seconds for kernel in kernels)),
        megabytes(sum(kernel.saved_bytes for kernel in kernels)),
    )


def _listed(operations: Sequence[int], names: Sequence[str]) -> str:
    shown = [printable(names[i]) for i in operations[:_SHOWN_NAMES]]
    more = len(operations) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
