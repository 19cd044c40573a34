"""Files that are written whole: a device or a pipe is never replaced by a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from learned_schedulers.files import replacing


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
