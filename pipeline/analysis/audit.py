"""Does any single thing that a network sees tell GCC's order by itself? Each is used to sort independent instructions.

Agreement is the share of pairs without a dependency either way, both having the feature and different values, that
GCC left in ascending order. A leak of the original address is near 1 or 0 (`leak reference` shows real ones); a habit
of GCC is not a leak, but shows as well (heights, displacements): judge by where the feature comes from.
Features of a `step` compare the instruction issued with each other one that was ready; they are functions of what was
issued before, which a network that decodes has chosen itself. The `control` rows say what chance looks like: any
legal order agrees with GCC's in more than half of the independent pairs, because both put what has many ancestors
late; the one in which blocks are shown must do so as often as another that never saw GCC's.
Intervals are of a ratio of sums over blocks (Cochran 1977, section 6.4): pairs of one block are not independent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy.stats import norm

from pipeline.analysis import features
from pipeline.blocks.models.issue import SEEN, decisions
from pipeline.blocks.problems.batches import by_length
from pipeline.blocks.problems.instructions import Encodings
from pipeline.blocks.problems.problems import Problems
from pipeline.blocks.problems.relations import Relations, independent, relations
from pipeline.blocks.problems.sample import Sample
from pipeline.blocks.problems.store import BlockStore
from pipeline.schemas import SCHEMAS

_INSTRUCTIONS = 4096  # of a batch
_OPCODE = 0  # column of COMPARED


@dataclass
class _Sums:
    """Over blocks, of P pairs and A of them in ascending order."""

    pairs: float = 0.0
    agree: float = 0.0
    squares: np.ndarray = field(default_factory=lambda: np.zeros(3))  # of A, of A P, of P
    same_pairs: float = 0.0
    same_agree: float = 0.0

    def add(self, sign: np.ndarray, block: np.ndarray, same: np.ndarray) -> None:
        """sign: (P,) above 0 where GCC's order is ascending, 0 or NaN where nothing is said; same: equal opcodes."""
        said = np.flatnonzero((sign > 0) | (sign < 0))
        if not len(said):
            return
        ascending = sign[said] > 0
        pairs, agree = np.bincount(block[said]), np.bincount(block[said], ascending)
        self.pairs, self.agree = self.pairs + len(said), self.agree + ascending.sum()
        self.squares += (agree @ agree, agree @ pairs, pairs @ pairs)
        self.same_pairs += same[said].sum()
        self.same_agree += ascending[same[said]].sum()

    def row(self, confidence: float) -> tuple[float, ...]:
        """pairs, agreement with its interval, and the same within pairs of one opcode."""
        if not self.pairs:
            return 0, np.nan, np.nan, np.nan, 0, np.nan
        ratio = self.agree / self.pairs
        of_a, of_both, of_p = self.squares
        error = np.sqrt(max(of_a - 2 * ratio * of_both + ratio**2 * of_p, 0.0)) / self.pairs
        wide = norm.ppf((1 + confidence) / 2) * error
        low, high = max(ratio - wide, 0.0), min(ratio + wide, 1.0)
        same = self.same_agree / self.same_pairs if self.same_pairs else np.nan
        return int(self.pairs), ratio, low, high, int(self.same_pairs), same


Said = tuple[str, str, np.ndarray, np.ndarray, np.ndarray]  # feature, group, sign, block, same opcode


def audit(
    store: BlockStore,
    encodings: Encodings,
    sample: Sample,
    found_at: Callable[[np.ndarray], list[tuple[bytes, int]]],
    sampler: Callable[[np.ndarray, np.random.Generator], np.ndarray],
    confidence: float,
    seed: int,
) -> pd.DataFrame:
    """Table `audit` of the blocks of a sample.

    found_at: items of the sample -> their code as found and its address, for the leak references; sampler: what drew
    the sample's orders.
    """
    values = features.of_tokens(encodings)
    rng = np.random.default_rng(seed)
    sums: dict[tuple[str, str], _Sums] = {}
    for items in by_length(store.lengths[sample.rows], _INSTRUCTIONS):
        for name, group, sign, block, same in _batch(store, encodings, sample, items, values, found_at, sampler, rng):
            sums.setdefault((group, name), _Sums()).add(sign, block, same)
    rows = [(name, group, *one.row(confidence)) for (group, name), one in sums.items()]
    return pd.DataFrame(rows, columns=SCHEMAS["audit"].names)


def _batch(
    store: BlockStore,
    encodings: Encodings,
    sample: Sample,
    items: np.ndarray,
    values: dict[str, np.ndarray],
    found_at: Callable[[np.ndarray], list[tuple[bytes, int]]],
    sampler: Callable[[np.ndarray, np.random.Generator], np.ndarray],
    rng: np.random.Generator,
) -> Iterator[Said]:
    """What every feature says of the pairs of blocks of one length."""
    problems = store.as_emitted(sample.rows[items])
    related = relations(problems, encodings.compared)
    block, i, k = np.nonzero(np.triu(independent(related)))  # GCC's order: i before k
    opcode = encodings.compared[problems.instructions, _OPCODE]
    same = opcode[block, i] == opcode[block, k]
    for name, of_instruction in values.items():
        value = of_instruction[problems.instructions]
        yield name, "token", value[block, k] - value[block, i], block, same
    for name, value in features.of_nodes(related).items():
        yield name, "node", value[block, k] - value[block, i], block, same
    for name, says in features.of_pairs(related).items():
        yield name, "pair", says[block, i, k].astype(float), block, same
    yield from _steps(problems, related, opcode)
    order = np.stack([sample.orders[item] for item in items]).astype(np.int64)
    redrawn = sampler(store.problems(sample.rows[items], order).precedes, rng).astype(np.int64)
    controls = {
        "shown slot": np.argsort(order, 1),
        "slot in another random legal order": np.argsort(np.take_along_axis(order, redrawn, 1), 1),
        "random number": rng.random(order.shape),
    }
    for name, value in controls.items():
        yield name, "control", (value[block, k] - value[block, i]).astype(float), block, same
    found = [features.leaks(*one) for one in found_at(items)]
    for name in found[0]:
        value = np.stack([one[name] for one in found])
        sign = value[block, k] - value[block, i]
        yield name, "leak reference", sign, block, same
        if name == "rip displacement":
            one_place = np.where(_same_target(found)[block, i, k], sign, 0.0)
            yield f"{name}, same target", "leak reference", one_place, block, same


def _same_target(found: list[dict[str, np.ndarray]]) -> np.ndarray:
    """Pairs that address one place, (B, n, n)."""
    target = np.stack([one["rip target"] for one in found])
    equal: np.ndarray = target[:, :, None] == target[:, None, :]
    return equal


def _steps(problems: Problems, related: Relations, opcode: np.ndarray) -> Iterator[Said]:
    """What is to be seen of the instruction issued, and of each other one that was ready."""
    size, n = opcode.shape
    gcc = np.broadcast_to(np.arange(n), (size, n))
    found = decisions(problems, related, gcc)
    taken = found.taken[found.step]
    block = found.instruction // n
    same = opcode.ravel()[found.instruction] == opcode.ravel()[found.instruction[taken]]
    for column, name in enumerate(SEEN):
        yield name, "step", (found.seen[:, column] - found.seen[taken, column]).astype(float), block, same
