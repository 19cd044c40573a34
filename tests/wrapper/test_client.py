"""Between a compiler and the orders: the cache, the resident process and its socket, the record and the report."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from learned_schedulers.wrapper import assembler, build, client, record, report, report_page, resident, settings
from learned_schedulers.wrapper.settings import Settings

TEXT = b'\t.file\t"a.c"\n\t.text\nf:\n\tret\n\t.ident\t"GCC"\n\t.section\t.note.GNU-stack,"",@progbits\n'
NEW = TEXT.replace(b"\tret", b"\tnop\n\tret")
FACTS = {"source": "a.c", "blocks": 7, "statuses": {"changed": 2, "best": 5}, "before": 20, "after": 15,
         "functions": {"<f>": [20, 15]}, "faults": [["f, line 3", "it is inline assembly", "<none>"]],
         "compiler": "GCC: 12",
         "how": {"processor": "atom", "method": "list", "memory": "tso", "confirmed": False}}  # fmt: skip


@pytest.fixture(autouse=True)
def folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cache, and a short place for the socket, of this test alone."""
    monkeypatch.setenv(settings.CACHE, str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.delenv(settings.VERBOSE, raising=False)
    monkeypatch.delenv(record.RECORD, raising=False)
    monkeypatch.setattr(client, "_sockets", lambda: str(tmp_path / "s"))
    return tmp_path


def lines() -> list[dict]:
    return [json.loads(line) for line in Path(record.path()).read_text().splitlines()]


def test_an_answer_is_kept_and_given_again(monkeypatch: pytest.MonkeyPatch, folders: Path) -> None:
    answers = [(FACTS, NEW)]
    monkeypatch.setattr(client, "_answered", lambda *_: answers.pop())
    for _ in range(2):
        assert client.ordered(TEXT, Settings(), str(folders / "a.o")) == NEW
    assert [line["cached"] for line in lines()] == [False, True] and lines()[1]["functions"] == {"<f>": [20, 15]}
    # Another version, other settings, another text: asked again; there is no answer any more, so the text stays.
    assert client.ordered(TEXT + b"\n", Settings(), "a.o") == TEXT + b"\n"
    assert client.ordered(TEXT, Settings(by="list"), "a.o") == TEXT
    monkeypatch.setattr(settings, "version", lambda: "another")
    assert client.ordered(TEXT, Settings(), "a.o") == TEXT
    assert "pop from empty list" in lines()[-1]["failed"]


@pytest.mark.parametrize("damage", [b"", NEW[:-1]])
def test_a_damaged_answer_is_none(damage: bytes, folders: Path) -> None:
    client._keep(str(folders / "texts"), "abc", FACTS, NEW)
    assert client._cached(str(folders / "texts"), "abc") == (FACTS, NEW)
    (folders / "texts" / "abc.s").write_bytes(damage)
    assert client._cached(str(folders / "texts"), "abc") is None


def test_assembly_of_people_is_left_alone() -> None:
    assert assembler._ordered(b"f:\n\tret\n", Settings().name, "a.o") == b"f:\n\tret\n"
    assert "people" in lines()[0]["passed"]


def test_an_answer_that_is_none_leaves_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    for answer in (b"", b"[]\n", b'{"error": "it broke"}\n', b"no json\n"):
        monkeypatch.setattr(client, "_answered", lambda *_, answer=answer: client.unpacked(answer))
        assert client.ordered(TEXT, Settings(), "a.o") == TEXT
    assert [line["failed"].partition(":")[0] for line in lines()] == [
        "JSONDecodeError",
        "this is no answer",
        "it broke",  # the resident process has named the kind of the error, if that says anything
        "JSONDecodeError",
    ]


def test_an_error_is_named_once() -> None:
    assert client.reason_of(ValueError("say --for atom")) == "say --for atom"
    assert client.reason_of(ModuleNotFoundError("No module named 'x'")) == "ModuleNotFoundError: No module named 'x'"
    job = "not callable"
    answer = resident._answer(b"", job, client.reason_of(ModuleNotFoundError("No module named 'x'")))
    with pytest.raises(ValueError) as raised:
        client.unpacked(answer)
    assert client.reason_of(raised.value) == "ModuleNotFoundError: No module named 'x'"


def test_a_message_that_breaks_off_is_an_error() -> None:
    near, far = socket.socketpair()
    with near, far:
        client.send(near, b"abc")
        assert client.receive(far) == b"abc"
        near.sendall((1 << 40).to_bytes(8, "little"))
        with pytest.raises(OSError, match="bytes"):
            client.receive(far)
        near.sendall((10).to_bytes(8, "little") + b"abc")
        near.close()
        with pytest.raises(ConnectionError):
            client.receive(far)


@pytest.mark.parametrize("fault", ["open folder", "link", "foreign peer"])
def test_a_foreign_socket_is_refused_and_the_text_is_ordered_without_it(
    fault: str, monkeypatch: pytest.MonkeyPatch, folders: Path
) -> None:
    place = folders / "s"
    place.mkdir(mode=0o700)
    if fault == "open folder":
        place.chmod(0o755)
    elif fault == "link":
        place.rename(folders / "t")
        place.symlink_to(folders / "t")
    received = []
    monkeypatch.setattr(client, "_once", lambda *_: client.packed(FACTS, NEW))
    monkeypatch.setattr(client, "_start", lambda *_: pytest.fail("it begins nothing beside a foreign socket"))
    name = client.blake2b(f"v {Settings().name}".encode(), digest_size=8).hexdigest()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place / name))
        listener.listen()
        if fault == "foreign peer":
            user = os.geteuid()
            monkeypatch.setattr(os, "geteuid", lambda: user + 1)
            monkeypatch.setattr(client.places, "private", lambda folder: folder)
        listening = threading.Thread(target=_accept, args=(listener, received))
        listening.start()
        assert client._answered(TEXT, Settings(), "v") == (FACTS, NEW)
        listener.shutdown(socket.SHUT_RDWR)
        listening.join()
    assert received == [b""] * (fault == "foreign peer")  # the text has gone to nobody


def _accept(listener: socket.socket, received: list[bytes]) -> None:
    try:
        while True:
            connection, _ = listener.accept()
            with connection:
                received.append(connection.recv(1 << 16))
    except OSError:
        return


def test_a_text_at_which_the_resident_process_breaks_off_is_not_sent_for_ever(
    monkeypatch: pytest.MonkeyPatch, folders: Path
) -> None:
    ends = []

    def connected(_: str) -> socket.socket:
        near, far = socket.socketpair()
        far.close()
        ends.append(near)
        return near

    monkeypatch.setattr(client, "_connected", connected)
    with pytest.raises(ConnectionError):
        client._served(TEXT, Settings(), str(folders / "a"))
    assert len(ends) == client._BREAKS


def test_without_a_resident_process_each_text_is_ordered_alone(monkeypatch: pytest.MonkeyPatch, folders: Path) -> None:
    monkeypatch.setattr(client, "_start", lambda *_: subprocess.Popen([sys.executable, "-c", "raise SystemExit(1)"]))
    monkeypatch.setattr(client, "_once", lambda *_: client.packed(FACTS, NEW))
    assert client._answered(TEXT, Settings(), "v") == (FACTS, NEW)


def test_the_cache_is_bounded_and_keeps_what_was_used_last(folders: Path) -> None:
    for k, name in enumerate(("one", "two", "three")):
        client._keep(str(folders / "texts" / "settings"), name, {}, b"x" * 1000)
        for ending in ("json", "s"):
            os.utime(folders / "texts" / "settings" / f"{name}.{ending}", (k, k))
    assert client._cached(str(folders / "texts" / "settings"), "one") is not None  # used now
    resident._trim(folders / "texts", 2500)
    assert {path.name for path in folders.glob("texts/*/*.s")} == {"one.s", "three.s"}
    log = folders / "record.jsonl"
    log.write_text("1\n2\n3\n4\n")
    resident._shorten(log, 8)
    assert log.read_text() == "1\n2\n3\n4\n"
    resident._shorten(log, 7)
    assert log.read_text() == "3\n4\n"


def test_the_report_counts_files_blocks_and_reasons(folders: Path) -> None:
    for name in ("a.o", 'b\u00e9".o', "c.o", "d.o", "e.o"):
        (folders / name).touch()
    record.add(str(folders / "a.o"), FACTS | {"blocks": 1})  # an older build
    for name in ("a.o", 'b\u00e9".o', "conftest.o"):
        record.add(str(folders / name), FACTS | {"cached": False})
    record.add(str(folders / "c.o"), {"passed": "code is made when all is linked (-flto)"})
    record.add(str(folders / "d.o"), {"failed": "<it broke>"})
    record.add(str(folders / "e.o"), FACTS | {"statuses": {"best": 7}, "functions": {}, "before": 0, "after": 0})
    with Path(record.path()).open("a") as file:
        file.write('{"object": "')  # a process was killed
    shown = report.report(build.of_folder(folders))
    printed = " ".join(report.text(shown).split())
    for line in (
        " 3 files",
        " 21 blocks",
        " 4 blocks changed: 19.0% of all",
        " 40 -> 30 (-25.0%) predicted cycles of the changed blocks: of these 4 of 21 blocks alone",
        "not weighted by how often it runs",
        " 1 calls left to the compiler alone",
        " 1 files that could not be ordered",
        " 20 -> 15 <f> a.c (2 objects)",
        " 3 it is inline assembly; remedy: <none> a.o (f, line 3)",
        " 1 code is made when all is linked (-flto); remedy: build without -flto c.o",
        "processor atom",
        "list, gains not confirmed",
        "compiler GCC: 12",
        "order before.s --dry-run --diff --for atom --by list --memory tso --no-confirm",
    ):
        assert line in printed, printed
    assert [file.object for file in shown.files] == ["a.o", 'b\u00e9".o'] and shown.unchanged == 1
    page = report_page.html(shown._replace(project="<project>"))
    assert "&lt;f&gt;" in page and "<f>" not in page and "<it broke>" not in page and "&lt;project&gt;" in page
    assert "files without a new order are left out" in page and "-25.0%" in page


def test_files_that_gain_most_come_first_and_objects_of_one_source_are_told_apart(folders: Path) -> None:
    for name, cycles in (("a.o", 19), ("pic/a.o", 12), ("z.o", 3)):
        (folders / name).parent.mkdir(exist_ok=True)
        (folders / name).touch()
        record.add(str(folders / name), FACTS | {"after": cycles, "functions": {"g": [20, cycles]}})
    shown = report.report(build.of_folder(folders))
    assert [file.object for file in shown.files] == ["z.o", "pic/a.o", "a.o"]
    assert [function.objects for function in shown.functions] == ["z.o", "pic/a.o", "a.o"]
    assert "pic/a.o" in report.text(shown) and '<td class="path">pic/a.o</td>' in report_page.html(shown)


def test_objects_that_were_moved_are_counted(folders: Path) -> None:
    """They lie elsewhere by another name; what is written again to its path is counted once, and tries are not."""
    (folders / "objs").mkdir()
    record.add(str(folders / "objs" / "x.o"), FACTS | {"source": "x.c", "blocks": 1})  # an older build
    record.add(str(folders / "objs" / "x.o"), FACTS | {"source": "x.c"})
    (folders / "x.lo").touch()
    for name in ("one", "two"):  # each is written to one path, and moved
        record.add(str(folders / "part.o"), FACTS | {"source": f"src/{name}.c"})
        (folders / f"{name}.o").touch()
    for name in ("ztest123.o", "conftest.o", "CMakeFiles/CMakeTmp/x.o"):
        record.add(str(folders / name), FACTS | {"source": Path(name).stem + ".c"})
    read = build.of_folder(folders)
    assert [Path(name).name for name in read.moved] == ["x.o", "part.o", "part.o"] and len(read.files) == 3
    assert len(read.uncounted) == 3
    printed = " ".join(report.text(report.report(read)).split())
    assert " 3 files" in printed and " 21 blocks" in printed and "objs/x.o" in printed and "ztest123.o" in printed
    (folders / "objs" / "x.o").touch()
    assert len(build.of_folder(folders).files) == 3 and len(build.of_folder(folders).moved) == 2


def test_records_of_older_versions_are_read(folders: Path) -> None:
    (folders / "a.o").touch()
    record.add(str(folders / "a.o"), {"blocks": 7, "faults": ["line 3: it is inline assembly"]})
    assert "it is inline assembly" in report.text(report.report(build.of_folder(folders)))


def test_calling_a_compiler_imports_nothing_slow() -> None:
    code = "import sys; from learned_schedulers.wrapper import compiler; print(*sys.modules)"
    root = f"import sys; sys.path.insert(0, {os.path.dirname(settings.PACKAGE)!r}); "
    words = [sys.executable, "-I", "-S", "-c", root + code]
    modules = set(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split())
    slow = {"typing", "json", "subprocess", "socket", "tempfile", "shlex", "typer", "numpy"}
    assert "learned_schedulers.wrapper.compiler" in modules and not slow & modules
