"""Assemblies of one module by two schedulers become one, or are refused."""

from __future__ import annotations

import pytest

from learned_schedulers.blocks.before_allocation import llvm
from learned_schedulers.blocks.before_allocation.counts import counts
from learned_schedulers.blocks.before_allocation.joined import NotJoinable, joined, module_of
from tests.blocks.before_allocation.code import HEADER, LOOPS, crowded, rounds

TEXT = (
    LOOPS
    + "@empty = private global i64 0\n@name = global ptr @empty\n"
    + crowded(24)
    + rounds(4)
    + crowded(24, "again")
)


@pytest.fixture(scope="module")
def assemblies() -> tuple[str, str]:
    """Of one module, by LLVM's default and as it stands."""
    both = []
    for scheduler in ("default", "kept"):
        with llvm.Emitter(scheduler, "x86-64") as emitter:
            both.append(emitter.assembly(TEXT, "three.ll"))
    return both[0], both[1]


def test_each_function_comes_from_the_assembly_that_is_named(assemblies: tuple[str, str]) -> None:
    default, standing = map(counts, assemblies)
    assert default["again"] != standing["again"] and default["crowded"] != standing["crowded"]
    text = joined(*assemblies, {"again", "loops"})
    expected = default | {name: standing[name] for name in ("again", "loops")}
    assert counts(text) == expected
    with llvm.Emitter("default", "x86-64") as emitter:
        assert emitter.object_file(module_of(text), "joined").startswith(b"\x7fELF")
    assert joined(*assemblies, set()) == assemblies[0] and joined(*assemblies, {*default}) == assemblies[1]


def test_labels_that_are_counted_through_a_module_do_not_meet() -> None:
    function = "\t.globl\tf # -- Begin function f\nf:\n.Ltmp0:\n\tjmp\t.Ltmp0\n.Lfunc_end0:\n # -- End function\n"
    second = function.replace("function f", "function g").replace("f:", "g:").replace("end0", "end1")
    text = joined(function + second.replace("tmp0", "tmp1"), function.replace("tmp0", "tmp1") + second, {"f"})
    assert ".Lkept_tmp1:\n\tjmp\t.Lkept_tmp1" in text and ".Ltmp1:\n\tjmp\t.Ltmp1" in text


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("\t.file", "\t.ident", "outside of its functions"),
        ("# -- End function", "", "has no end"),
        ("function again", "function crowded", "two functions"),
        ("je\t.L", "je\t.Lnowhere", "do not fit together, as .Lnowhere"),
    ],
)
def test_what_does_not_fit_is_refused(old: str, new: str, reason: str, assemblies: tuple[str, str]) -> None:
    assert old in assemblies[1]
    with pytest.raises(NotJoinable, match=reason):
        joined(assemblies[0], assemblies[1].replace(old, new), {"loops"})


def test_labels_of_a_function_that_data_name_are_refused() -> None:
    function = "\t.globl\tf # -- Begin function f\nf:\n.Ltmp0:\n\tret\n # -- End function\n\t.quad\t.Ltmp0\n"
    with pytest.raises(NotJoinable, match="named outside"):
        joined(function, function, {"f"})


def test_text_in_inline_assembly_keeps_its_letters() -> None:
    text = f'{HEADER}\nmodule asm "\\09.ascii \\22a\\5Cn\\22"\n'
    assert 'module asm "\\09.ascii \\22a\\5Cn\\22"' in module_of('\t.ascii "a\\n"') and llvm.read(text.encode(), "a.ll")
