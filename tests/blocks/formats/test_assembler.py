"""GNU's assembler as a subprocess."""

from __future__ import annotations

import pytest

from pipeline.blocks.corpus.unreadable import Unreadable
from pipeline.blocks.formats import assembler
from pipeline.blocks.formats.assembler import Refused, assemble, relocation_symbols, relocation_types
from tests.blocks.formats.assembled import needs_as

pytestmark = needs_as
PLT32 = 4


def test_sections_relocations_and_symbols() -> None:
    content = assemble(b"f:\n\tcall g\n\tret\n\t.data\n\t.quad f\n")
    text = next(section for section in content.sections.values() if section.name == ".text")
    assert (text.content, text.executable, text.loaded) == (b"\xe8\0\0\0\0\xc3", True, True)
    assert relocation_types(text.relocations).tolist() == [PLT32]
    assert content.name(int(relocation_symbols(text.relocations)[0])) == "g"
    assert {key[0] for key in content.symbol_keys()} >= {"f", "g"}


def test_the_first_errors_are_told_with_their_lines() -> None:
    with pytest.raises(Refused, match=r"line 2: no such instruction: `foo'; .*line 4.*and 1 more errors") as refused:
        assemble(b"nop\nfoo\nbar\nbaz\nfoo\n")
    assert refused.value.line == 2


def test_a_file_that_grows_without_bound_is_refused() -> None:
    with pytest.raises(Refused, match="MiB"):
        assemble(b".space 100000000000\n")


def test_a_file_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembler, "SECONDS", 0.2)
    with pytest.raises(Unreadable, match=r"took more than .* divide the file"):
        assemble(b".rept 30000000\n nop\n nop\n nop\n nop\n .endr\n" * 3)


def test_without_an_assembler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(Unreadable, match="apt-get install binutils"):
        assemble(b"nop\n")


def test_options_choose_the_syntax() -> None:
    content = assemble(b"mov eax, ebx\n", ("-msyntax=intel", "-mnaked-reg"))
    assert next(iter(content.sections.values())).content == b"\x89\xd8"
