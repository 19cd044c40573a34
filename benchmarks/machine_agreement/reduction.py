"""Reduction of long sequences in which two models differ to short ones (Zeller & Hildebrandt, 2002)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Instructions = tuple[int, ...]  # of one sequence


def reduced(
    sequences: Sequence[Instructions], differ: Callable[[list[Instructions]], Sequence[bool]]
) -> list[Instructions]:
    """A part of each sequence in which the models still differ, in the same order, from which nothing can be removed.

    First halves are left out, then ever smaller runs, then single instructions: the part is minimal in the sense that
    the models agree on it without any one of its instructions; it need not be the shortest. `differ`: whether the
    models differ in each of many sequences; it is called for all sequences at once, round after round. Raises
    ValueError for a sequence in which they do not differ.
    """
    parts = list(sequences)
    if not all(differ(parts)):
        raise ValueError("a sequence in which the models agree cannot be reduced")
    runs = [max(len(part) // 2, 1) for part in parts]  # instructions that are left out together; 0: done
    while pending := [k for k, run in enumerate(runs) if run]:
        proposals = [(k, shortened) for k in pending for shortened in _without(parts[k], runs[k])]
        answers = differ([shortened for _, shortened in proposals])
        shorter: dict[int, Instructions] = {}
        for (k, shortened), answer in zip(proposals, answers, strict=True):
            if answer:
                shorter.setdefault(k, shortened)
        for k in pending:
            if k in shorter:
                parts[k] = shorter[k]
                runs[k] = min(runs[k], len(parts[k]) // 2 or 1)
            else:
                runs[k] //= 2
    return parts


def _without(part: Instructions, run: int) -> list[Instructions]:
    """The sequence without each run of its instructions; never an empty one."""
    proposals = [part[:start] + part[start + run :] for start in range(0, len(part), run)]
    return [shortened for shortened in proposals if shortened]
