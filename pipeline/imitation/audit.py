"""Agreement of every single feature that a network sees with GCC's order of independent instructions.

Agreement is the share of pairs that GCC left in ascending order of the feature, among pairs without a dependency whose
values differ. A leak of the original address is near 1 or 0 (`leak reference` shows real leaks). A habit of GCC shows
as well and is no leak (heights, displacements): judge by the origin of the feature.
Features of a `step` compare the issued instruction with each other ready instruction; they depend on the instructions
issued before, which a decoding network has chosen itself. The `control` rows show chance: any legal order agrees with
GCC's in more than half of the independent pairs, because both put instructions with many ancestors late. The order in
which blocks are shown must agree as often as another random order that does not depend on GCC's.
Intervals are of a ratio of sums over blocks (Cochran 1977, section 6.4): pairs of one block are not independent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import norm

from learned_schedulers.blocks.models.issue import STEP_FEATURES, decisions
from learned_schedulers.blocks.problems.batches import by_length
from learned_schedulers.blocks.problems.instructions import Encodings
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.relations import Relations, independent, relations
from learned_schedulers.blocks.problems.sample import Sample
from learned_schedulers.blocks.problems.store import BlockStore
from pipeline.imitation import features
from pipeline.imitation.tables import AUDIT

_INSTRUCTIONS = 4096  # of a batch
_OPCODE = 0  # column of COMPARED


def _sums(sign: np.ndarray, block: np.ndarray, same: np.ndarray) -> np.ndarray:
    """Sums over blocks, for P pairs of which A are in ascending order: P, A, A A, A P, P P; and P, A of equal opcodes.

    sign: (P,) above 0 if GCC's order is ascending, 0 or NaN if the feature tells nothing; same: equal opcodes.
    """
    telling = np.flatnonzero((sign > 0) | (sign < 0))
    ascending, alike = sign[telling] > 0, same[telling]
    pairs, agree = np.bincount(block[telling]), np.bincount(block[telling], ascending)
    squares = agree @ agree, agree @ pairs, pairs @ pairs
    return np.array([len(telling), ascending.sum(), *squares, alike.sum(), ascending[alike].sum()], float)


def _row(sums: np.ndarray, confidence: float) -> tuple[float, ...]:
    """Pairs, agreement with its interval, and both without an interval within pairs of one opcode."""
    pairs, agree, agree_squared, agree_times_pairs, pairs_squared, same_pairs, same_agree = sums.tolist()
    if not pairs:
        return 0, np.nan, np.nan, np.nan, 0, np.nan
    ratio = agree / pairs
    error = np.sqrt(max(agree_squared - 2 * ratio * agree_times_pairs + ratio**2 * pairs_squared, 0.0)) / pairs
    wide = norm.ppf((1 + confidence) / 2) * error
    same = same_agree / same_pairs if same_pairs else np.nan
    return int(pairs), ratio, max(ratio - wide, 0.0), min(ratio + wide, 1.0), int(same_pairs), same


class _Pairs(NamedTuple):
    """Independent pairs of instructions of blocks of one length, as GCC numbers them: i before k."""

    block: np.ndarray
    i: np.ndarray
    k: np.ndarray
    same: np.ndarray  # opcodes are equal

    def sign(self, value: np.ndarray) -> np.ndarray:
        """Differences (P,) of values (B, n) of the instructions: above 0 if GCC's order is ascending."""
        return (value[self.block, self.k] - value[self.block, self.i]).astype(float)


def audit(
    store: BlockStore,
    encodings: Encodings,
    sample: Sample,
    unmasked: Sequence[tuple[bytes, int]],
    sampler: Callable[[np.ndarray, np.random.Generator], np.ndarray],
    confidence: float,
    seed: int,
) -> pd.DataFrame:
    """Table `audit` of the blocks of a sample.

    unmasked: original code of the sample's blocks and its address, for the leak references; sampler: the sampler of
    the sample's orders.
    """
    values = features.of_tokens(encodings)
    rng = np.random.default_rng(seed)
    sums: dict[tuple[str, str], np.ndarray] = defaultdict(lambda: np.zeros(7))
    for items in by_length(store.lengths[sample.rows], _INSTRUCTIONS):
        problems = store.as_emitted(sample.rows[items])
        related = relations(problems, encodings.compared)
        opcode = encodings.compared[problems.instructions, _OPCODE]
        block, i, k = np.nonzero(np.triu(independent(related)))
        pairs = _Pairs(block, i, k, opcode[block, i] == opcode[block, k])
        for name, of_instruction in values.items():
            sums["token", name] += _sums(pairs.sign(of_instruction[problems.instructions]), block, pairs.same)
        for name, value in features.of_nodes(related).items():
            sums["node", name] += _sums(pairs.sign(value), block, pairs.same)
        for name, says in features.of_pairs(related).items():
            sums["pair", name] += _sums(says[block, i, k], block, pairs.same)
        for name, sign, of_block, same in _steps(problems, related, opcode):
            sums["step", name] += _sums(sign, of_block, same)
        order = np.stack([sample.orders[item] for item in items]).astype(np.int64)
        redrawn = sampler(store.problems(sample.rows[items], order).precedes, rng).astype(np.int64)
        sums["control", "shown slot"] += _sums(pairs.sign(np.argsort(order, 1)), block, pairs.same)
        redrawn_slot = np.argsort(np.take_along_axis(order, redrawn, 1), 1)
        sums["control", "slot in another random legal order"] += _sums(pairs.sign(redrawn_slot), block, pairs.same)
        sums["control", "random number"] += _sums(pairs.sign(rng.random(order.shape)), block, pairs.same)
        for name, sign in _leaks(pairs, [unmasked[item] for item in items]):
            sums["leak reference", name] += _sums(sign, block, pairs.same)
    rows = [(name, group, *_row(of_feature, confidence)) for (group, name), of_feature in sums.items()]
    return pd.DataFrame(rows, columns=AUDIT.schema.names)


def _leaks(pairs: _Pairs, unmasked: list[tuple[bytes, int]]) -> Iterator[tuple[str, np.ndarray]]:
    """Signs of features that no network may see, and of rip displacements of pairs that address one place."""
    leaks = [features.leaks(*block) for block in unmasked]
    values = {name: np.stack([of_block[name] for of_block in leaks]) for name in leaks[0]}
    target = values["rip target"]
    one_place = target[pairs.block, pairs.i] == target[pairs.block, pairs.k]
    for name, value in values.items():
        yield name, pairs.sign(value)
        if name == "rip displacement":
            yield f"{name}, same target", np.where(one_place, pairs.sign(value), 0.0)


def _steps(
    problems: Problems, related: Relations, opcode: np.ndarray
) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """Name, sign, block and same opcode of a step's features: the issued instruction against other ready ones."""
    size, n = opcode.shape
    choices = decisions(problems, related, np.broadcast_to(np.arange(n), (size, n)))
    issued = choices.chosen[choices.step]
    same = opcode.ravel()[choices.instruction] == opcode.ravel()[choices.instruction[issued]]
    for column, name in enumerate(STEP_FEATURES):
        yield (
            name,
            (choices.features[:, column] - choices.features[issued, column]).astype(float),
            choices.instruction // n,
            same,
        )
