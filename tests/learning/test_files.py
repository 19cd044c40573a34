"""Files that are written whole: a device or a pipe is never replaced by a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from learned_schedulers.files import check_writable, replacing


def test_what_is_no_regular_file_stays(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path, follow in ((pipe, False), (link, True), (Path(os.devnull), True)):
        with pytest.raises(ValueError, match="is no regular file"), replacing(path, follow):
            pass
    assert pipe.is_fifo() and Path(os.devnull).is_char_device()
    with replacing(tmp_path / "file") as temporary:
        temporary.write_text("whole")
    assert (tmp_path / "file").read_text() == "whole"


def test_a_path_is_tried_before_the_work(tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.write_text("old")
    for path in (old, tmp_path / "new"):
        check_writable(path)
    assert old.read_text() == "old" and [path.name for path in tmp_path.iterdir()] == ["old"]
    with pytest.raises(ValueError, match="is a folder: name a file"):
        check_writable(tmp_path)
    for path in (old / "below", Path("/proc/none/file")):
        with pytest.raises(OSError, match=r"old|proc"):
            check_writable(path)
