"""The lines that a newcomer types are the README's, a here-document as one of them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchmarks import newcomer


def test_the_lines_of_the_readme_in_order() -> None:
    lines = newcomer.typed_lines((newcomer.ROOT / "README.md").read_text())
    assert [line.split()[0] for line in lines] == ["echo", "gcc", "learned-schedulers", "cat", "learned-schedulers"]
    assert lines[3].splitlines()[-1] == "END" and lines[-1].splitlines()[0].startswith("learned-schedulers graph")
    with pytest.raises(ValueError, match="mark them as such"):
        newcomer.typed_lines("```sh\necho\n```")


def test_minutes_go_on_until_the_product_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    typed = []

    def type_line(line: str, folder: Path, environment: dict[str, str]) -> None:
        typed.append(line)
        if not line.startswith(("git", "make")):
            subprocess.run(["bash", "-ec", line], cwd=folder, check=True)

    monkeypatch.setattr(newcomer, "_type", type_line)
    minutes = newcomer.minutes_of_a_newcomer(["touch nothing.csv", "touch ordered.s", "touch chart.png"])
    assert typed[1] == "make install" and len(typed) == 5
    assert set(minutes) == {"minutes_of_installation", *(f"minutes_to_{name}" for name in newcomer._PRODUCTS)}
    assert 0 < minutes["minutes_of_installation"] < minutes["minutes_to_own_program"] < minutes["minutes_to_own_model"]
    assert minutes["minutes_to_own_model"] == pytest.approx(minutes["minutes_to_first_picture"], rel=0.1)
