"""Ithemal's SQL dumps of both versions, and those of mysqldump and SQLite; nothing is executed."""

from __future__ import annotations

import io
import shutil
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learned_schedulers.blocks.read import sql_tokens
from learned_schedulers.blocks.read.lines import Unconverted
from learned_schedulers.blocks.read.sql_dump import lines
from learned_schedulers.blocks.read.sql_tokens import tokens
from learned_schedulers.blocks.read.unreadable import Unreadable

pytestmark = pytest.mark.skipif(shutil.which("as") is None, reason="GNU as is not installed")

VERSION_1 = """\
INSERT INTO config (compiler, flags, arch) VALUES ('gcc','none',63);SET @config_id = (SELECT config_id FROM config \
WHERE compiler = 'gcc' AND flags = 'none' AND arch = 63);
INSERT INTO code (config_id, program,rel_addr, code_token) VALUES (@config_id,'libm.so.6',4704,'214,-1,5,-1,8,-1,');
UPDATE code SET code_intel='mov    rdi, rsp
add    rdi, 0x08
' WHERE config_id=@config_id AND program='libm.so.6' AND rel_addr=4704;
UPDATE code SET code_att='movq %rsp, %rdi
addq $0x08, %rdi
' WHERE config_id=@config_id AND program='libm.so.6' AND rel_addr=4704;
INSERT INTO code (config_id, program,rel_addr, code_token) VALUES ((SELECT config_id from _config),'it''s',6916,'');
        UPDATE code SET code_intel='' WHERE config_id=(SELECT 1 from _config) AND program='it''s' AND rel_addr=6916;
UPDATE code SET num_instr = 3, span = 2 WHERE config_id = @config_id AND program = 'libm.so.6' AND rel_addr = 4704;
INSERT INTO times (code_id, arch, time) VALUES ((SELECT code_id FROM code WHERE config_id = @config_id), '63', 120);
UPDATE code SET code_intel='div    rdx, rax, rcx\\nfoo    rax\\n' WHERE program='a\\'b' AND rel_addr=3;
"""
VERSION_2 = """\
INSERT INTO cpu_desc (name, vendor) VALUES ('haswell', 'intel');
SET @arch_id = (SELECT arch_id from cpu_desc WHERE name = 'haswell' AND vendor ='intel');
INSERT INTO code (code_raw) VALUES ('4889d84889f1');
INSERT INTO code_metadata (config_id, code_id, module, rel_addr) VALUES (@config_id, LAST_INSERT_ID(), 'm',123);
UPDATE code_metadata SET function='f' WHERE metadata_id=LAST_INSERT_ID();
UPDATE code SET code_intel='mov    rax, rbx' WHERE code_id=LAST_INSERT_ID();
INSERT INTO code (code_raw) VALUES ('');
INSERT INTO code (code_raw) VALUES ('48zz');
"""
MYSQLDUMP = """\
-- MySQL dump 10.13  Distrib 5.7; it's a comment
/*!40101 SET NAMES utf8 */;
# another ' comment
DROP TABLE IF EXISTS `code`;
CREATE TABLE `code` (
  `code_id` int(32) NOT NULL AUTO_INCREMENT,
  `code_raw` text COMMENT 'hex, as text); really',
  `code_intel` text,
  PRIMARY KEY (`code_id`),
  UNIQUE KEY `place` (`program`,`config_id`),
  CONSTRAINT code_ibfk_1 FOREIGN KEY (config_id) REFERENCES config(config_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8;
LOCK TABLES `code` WRITE;
INSERT INTO `code` VALUES (1,'4889d8','mov rax, rbx\\n'),(2,NULL,'x'),(3,_utf8'4889F1',NULL),(4,'a');
INSERT INTO db.`code` (`code_id`, `code_raw`) VALUES (5, '4801d8');
UNLOCK TABLES;
"""


def read(text: str) -> list[bytes]:
    return list(lines(io.BytesIO(text.encode())))


def fault(line: bytes) -> str:
    assert isinstance(line, Unconverted)
    return f"{line.fault.place}: {line.fault.reason}"


def test_version_1() -> None:
    first, empty, bad = read(VERSION_1)
    assert first == b"4889e74883c708,\n"
    assert empty == b"# line 10 (it's+6916): the block has no instructions\n"
    assert fault(bad).startswith("line 13 (a'b+3): as says: no such instruction: `foo rax'")


def test_version_2() -> None:
    first, empty, bad = read(VERSION_2)
    assert first == b"4889d84889f1,\n"
    assert empty == b"# line 7: the block has no instructions\n"
    assert fault(bad) == "line 8: code_raw is not hexadecimal: '48zz'"


def test_mysqldump() -> None:
    rows = read(MYSQLDUMP)
    assert rows[:2] == [b"4889d8,\n", b"4889f1,\n"] and rows[3] == b"4801d8,\n"
    assert fault(rows[2]) == "line 14: 2 values for 3 columns"


@pytest.mark.parametrize("dump", [VERSION_1, VERSION_2, MYSQLDUMP])
@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_chunks_do_not_matter(dump: str, size: int) -> None:
    class Slow(io.BytesIO):
        def read(self, _: int | None = None, /) -> bytes:
            return super().read(size)

    assert list(lines(Slow(dump.encode()))) == read(dump)


ROWS = st.tuples(
    st.text(st.characters(blacklist_characters="\0\\", blacklist_categories=["Cs"])), st.binary(max_size=9)
)


@given(st.lists(ROWS, min_size=1, max_size=5))
def test_a_dump_by_sqlite(rows: list[tuple[str, bytes]]) -> None:
    """SQLite writes the dump, so that its quoting is an independent one."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE code (program TEXT, code_raw TEXT, rel_addr INTEGER DEFAULT 5)")
    database.executemany("INSERT INTO code (program, code_raw) VALUES (?, ?)", [(p, c.hex()) for p, c in rows])
    dump = "\n".join(database.iterdump())
    read_rows = read(dump)
    assert len(read_rows) == len(rows)
    for line, (_, code) in zip(read_rows, rows, strict=True):
        assert line == code.hex().encode() + b",\n" if code else line.endswith(b": the block has no instructions\n")
    names = [token.value for token in tokens(io.BytesIO(dump.encode())) if token.kind == "text"]
    assert names[::2] == [program for program, _ in rows]


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO code (code_raw VALUES ('90');", "INSERT INTO code VALUES ('90');", "INSERT INTO code (code_raw);",
        "UPDATE code code_intel='nop';", "UPDATE code SET code_intel 'nop';", "INSERT INTO code (a) VALUES ((1;",
        "UPDATE;", "INSERT;", "INSERT INTO code (a, b) VALUES (1, 2, 3);",
        "INSERT INTO code (" + "a," * 3000 + "b) VALUES (1);", "CREATE TABLE code (;", "INSERT INTO code (;;",
    ],
)  # fmt: skip
def test_a_bad_statement_is_named_and_the_next_goes_on(statement: str) -> None:
    rows = read(f"SET x = 1;\n{statement}\nINSERT INTO code (code_raw) VALUES ('4889d8');")
    assert rows[-1] == b"4889d8,\n"
    assert all(fault(row).startswith("line 2: ") and row.fault.remedy for row in rows[:-1])  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("dump", "reason"),
    [
        ("", "no block: neither code_raw nor code_intel"),
        ("SELECT 1;", "no block"),
        ("INSERT INTO code (code_token) VALUES ('1,2');", "no block"),
        ("INSERT INTO code (code_raw) VALUES ('90", "line 1: a string or comment without an end"),
        ("\n\n/* INSERT", "line 3: a string or comment without an end"),
        ("`", "without an end"),
    ],
)
def test_dumps_that_are_refused(dump: str, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason) as error:
        read(dump)
    assert error.value.remedy


def test_a_string_that_fills_the_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_tokens, "_LONGEST", 1 << 22)
    with pytest.raises(Unreadable, match="line 1: a string of more than"):
        read("INSERT INTO code (code_raw) VALUES ('" + "90" * (1 << 22))


@given(st.text(st.sampled_from("'\"`\\-#/*(),;= \nacode_rwINSERTVALUESUPDATE109"), max_size=80))
def test_any_text_has_an_answer(text: str) -> None:
    try:
        read(f"INSERT INTO code (code_raw) VALUES ('90'){text}")
    except Unreadable as error:
        assert error.reason and error.remedy
