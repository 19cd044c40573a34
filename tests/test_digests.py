"""A source's digest is of what it says, not of how it looks."""

from pathlib import Path

import pytest

from pipeline.lab import digests

TEXT = '''"""What it is."""

X = [1, 2]


def double(n: int) -> int:
    """Twice n."""
    return 2 * n  # a comment
'''


def digest(folder: Path, text: str, name: str = "module.py") -> str:
    (folder / name).write_text(text)
    return digests.of_source(folder / name)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  # a comment", ""),
        ('"""Twice n."""', '"""Two times n."""'),
        ('    """Twice n."""\n', ""),
        ("What it is.", "What it was."),
        ("[1, 2]", "[\n    1,\n    2,\n]"),
    ],
)
def test_what_changes_nothing(tmp_path: Path, old: str, new: str) -> None:
    assert TEXT.replace(old, new) != TEXT
    assert digest(tmp_path, TEXT.replace(old, new)) == digest(tmp_path, TEXT)


@pytest.mark.parametrize(("old", "new"), [("2 * n", "3 * n"), ("[1, 2]", "[1, 2.0]"), ("X =", "Y ="), ("2 * n", "'2'")])
def test_what_changes_it(tmp_path: Path, old: str, new: str) -> None:
    assert digest(tmp_path, TEXT.replace(old, new)) != digest(tmp_path, TEXT)


def test_other_files_are_their_bytes_and_missing_ones_are_left_out(tmp_path: Path) -> None:
    page = digest(tmp_path, "# a heading\n", "page.md.j2")
    assert page == digests.of_file(tmp_path / "page.md.j2") != digest(tmp_path, "# another\n", "page.md.j2")
    digest(tmp_path, TEXT)
    assert list(digests.of_sources(["page.md.j2", "module.py", "gone.py"], tmp_path)) == ["module.py", "page.md.j2"]
