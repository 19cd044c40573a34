"""`tuned.orders` gives back what was written, and says where it is damaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from learned_schedulers.tuning.hot_file import Choice
from learned_schedulers.tuning.tuned_orders import Tuned, read, write


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    orders = tuple((block, tuple(rng.permutation(n).tolist())) for block, n in ((0, 1), (3, 40), (12, 7)))
    swapped = (*range(100), 101, 100, *range(102, 200))
    tuned = [
        Tuned("a.c", "f", "12ab", Choice("llvm no-machine", (*orders, (13, swapped))), 0.9312),
        Tuned("a.c", "g", "34cd", Choice("gcc"), 0.87),
        Tuned("sub/b.cc", "", "", Choice("clang"), 1.0),
    ]
    path = tmp_path / "tuned.orders"
    write(path, tuned[::-1], {"benchmark": "./bench --long"})
    assert read(path) == tuned
    assert "0-99 101 100 102-199" in path.read_text() and "# benchmark: ./bench --long" in path.read_text()


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        ("", "does not begin"),
        ("x\n", "does not begin"),
        ('{HEAD}\n{"source": "a.c"}\n', "line 2"),
        ("{HEAD}\n\n[1]\n", "line 3"),
        (
            '{HEAD}\n{"source": "a", "function": "f", "fingerprint": "", "choice": "gcc", "ratio": 1, "orders": '
            '{"0": "0-3 2"}}\n',
            "names an instruction twice",
        ),
    ],
)
def test_damage_is_located(tmp_path: Path, damage: str, reason: str) -> None:
    path = tmp_path / "tuned.orders"
    write(path, [], {})
    path.write_text(damage.replace("{HEAD}", path.read_text().splitlines()[0]))
    with pytest.raises(ValueError, match=reason) as error:
        read(path)
    assert str(path) in str(error.value)
