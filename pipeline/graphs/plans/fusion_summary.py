"""What the console says of plans of fusion: every method's kernels, then those of the best plan that save most."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.graphs.compilers.kinds import Loop, loop
from pipeline.graphs.plans.fusions import GO, SEPARATE, Fusion, Kernel, best_of, best_rule, evaluations
from pipeline.graphs.plans.summary import aligned, megabytes, milliseconds, ratio

_SHOWN_KERNELS = 10
_SHOWN_NAMES = 4
_SAID = {
    SEPARATE: "every operation its own kernel",
    "loop_fusion": "XLA's rule on CPUs",
    "xla_2023": "XLA's rules on GPUs, as published in 2023",
    "priority_fusion": "XLA's rules on GPUs: what saves most time first",
}


def of_fusions(tried: Sequence[Fusion], operations: int) -> str:
    """A line for each method: kernels, time by the cost, bytes that they read and write, time over the best rule's."""
    best, default = best_of(tried), best_rule(tried)
    rows, notes = [("method", "kernels", "predicted", "moved", "it / best rule")], [""]
    said = _SAID | {GO: f"a network that learns here: {evaluations(operations):,} plans, from the best rule's on"}
    for fusion in tried:
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
        notes.append(said[fusion.method] + (" <- best" if fusion is best else ""))
    return aligned(rows, notes)


def of_kernels(kernels: Sequence[Kernel], names: Sequence[str]) -> str:
    """A line for each of the kernels with several operations that save most time, then one for all kernels.

    names: (n,) of the operations. Kernels are numbered from 0 in a sequence in which they can run.
    """
    several = [number for number, kernel in enumerate(kernels) if len(kernel.computes) > 1]
    if not several:
        return "No kernel has more than one operation: there is nothing to fuse."
    shown = sorted(several, key=lambda number: -kernels[number].saved_seconds)[:_SHOWN_KERNELS]
    rows: list[tuple[str, ...]] = [("kernel", "operations", "predicted", "saves", "saves moving")]
    notes = ["computes -> writes"]
    for number in shown:
        rows.append(_row(str(number), [kernels[number]]))
        notes.append(f"{_listed(kernels[number].computes, names)} -> {_listed(kernels[number].writes, names)}")
    if len(several) > len(shown):
        rows.append(_row(f"{len(several) - len(shown):,} more", [kernels[i] for i in set(several) - set(shown)]))
        notes.append("kernels with several operations")
    rows.append(_row("all", kernels))
    notes.append(f"kernels: {len(kernels):,}, with several operations: {len(several):,}")
    return aligned(rows, notes)


def of_unknown(kinds: Sequence[str]) -> str:
    """Which kinds no rule fuses, because their loops are not known; empty where there are none."""
    unknown = sorted({kind for kind in kinds if loop(kind) == Loop.OPAQUE})
    return f"Never fused, as their loops are not known: {', '.join(unknown)}" if unknown else ""


def _row(label: str, kernels: Sequence[Kernel]) -> tuple[str, ...]:
    return (
        label,
        f"{sum(len(kernel.computes) for kernel in kernels):,}",
        milliseconds(sum(kernel.seconds for kernel in kernels)),
        milliseconds(sum(kernel.saved_seconds for kernel in kernels)),
        megabytes(sum(kernel.saved_bytes for kernel in kernels)),
    )


def _listed(operations: Sequence[int], names: Sequence[str]) -> str:
    shown = [names[i] for i in operations[:_SHOWN_NAMES]]
    more = len(operations) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
