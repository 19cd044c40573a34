"""Functions that control may enter at an address which code computes are left alone."""

from __future__ import annotations

import pytest

from tests.blocks.read.assembled import document, needs_gcc

pytestmark = needs_gcc
# Six independent instructions: whatever order they get shows when control enters amid them.
STEPS = "\tmovl $7, %ecx\n\tmovl $3, %edx\n\tleal 4(%rdi), %esi\n\tmovl $9, %r8d\n"
STEPS_CODE = bytes.fromhex("b907000000 ba03000000 8d7704 41b809000000")


def function(name: str, body: str) -> str:
    return (
        f"\t.globl {name}\n\t.hidden {name}\n\t.type {name}, @function\n{name}:\n"
        f"\t.cfi_startproc\n{body}\t.cfi_endproc\n\t.size {name}, .-{name}\n"
    )


def steps_may_be_ordered(text: str) -> bool:
    return any(STEPS_CODE in block.code for block in document(text).blocks)


CALLER = function("f", f"\tcall skip\n{STEPS}\tret\n")
RETURNS = {  # bodies of `skip`, which goes on some bytes after its call
    "at the top": "\taddq $5, (%rsp)\n\tret\n",
    "with a gap": "\taddq $5, (%rsp)\n\txorl %eax, %eax\n\tret\n",
    "popped": "\tpopq %rax\n\taddq $5, %rax\n\tjmp *%rax\n",
    "popped and pushed": "\tpopq %rcx\n\tleaq 5(%rcx), %rcx\n\tpushq %rcx\n\tmovl $2, %eax\n\tret\n",
    "by the frame pointer": "\tpushq %rbp\n\tmovq %rsp, %rbp\n\taddq $5, 8(%rbp)\n\tpopq %rbp\n\tret\n",
    "loaded and stored": "\tmovq (%rsp), %rax\n\taddq $5, %rax\n\tmovq %rax, (%rsp)\n\txorl %eax, %eax\n\tret\n",
    "below a saved register": "\tpushq %rbx\n\tincq 8(%rsp)\n\tpopq %rbx\n\tret\n",
    "behind a text": "\tpopq %rsi\n1:\tlodsb\n\ttestb %al, %al\n\tjne 1b\n\tjmp *%rsi\n",
}


@pytest.mark.parametrize("name", RETURNS)
def test_a_callee_that_changes_where_it_returns_to(name: str) -> None:
    assert not steps_may_be_ordered(function("skip", RETURNS[name]) + CALLER)


@pytest.mark.parametrize(
    "body",
    [
        "\taddq $5, %rax\n\tret\n",
        "\tlock orq $0, (%rsp)\n\tret\n",  # a fence
        "\tsubq $24, %rsp\n\taddq $5, (%rsp)\n\taddq $5, 16(%rsp)\n\taddq $24, %rsp\n\tret\n",
        "\tpushq %rbx\n\tmovq %rdi, %rbx\n\taddq $8, %rbx\n\tcall *%rdi\n\tpopq %rbx\n\tret\n",
        "\tpushq %rbp\n\tmovq %rsp, %rbp\n\taddq $1, -8(%rbp)\n\taddq $1, 16(%rbp)\n\tleave\n\tret\n",
    ],
)
def test_other_callees(body: str) -> None:
    assert steps_may_be_ordered(function("skip", body) + CALLER)


TARGET = function("steps", f"{STEPS}\tret\n")
COMPUTED = {  # bodies of functions that enter `steps` somewhere
    "from its begin": "\tleaq steps(%rip), %rax\n\tleaq (%rax,%rdi,4), %rax\n\tjmp *%rax\n",
    "from its begin, by a call": "\tleaq steps(%rip), %rax\n\taddq %rdi, %rax\n\tcall *%rax\n\tret\n",
    "for somebody else": "\tleaq steps(%rip), %rax\n\taddq $5, %rax\n\tret\n",
    "by a return": "\tleaq steps(%rip), %rax\n\taddq %rdi, %rax\n\tpushq %rax\n\tret\n",
    "through memory": "\tleaq steps(%rip), %rax\n\tsubq $-5, %rax\n\tmovq %rax, -8(%rsp)\n\tjmp *-8(%rsp)\n",
    "over a loop": "\tleaq steps(%rip), %rax\n1:\taddq $1, %rax\n\tdecl %edi\n\tjne 1b\n\tjmp *%rax\n",
}


@pytest.mark.parametrize("name", COMPUTED)
def test_an_address_that_is_computed_from_that_of_a_function(name: str) -> None:
    assert not steps_may_be_ordered(TARGET + function("f", COMPUTED[name]))


@pytest.mark.parametrize(
    "body",
    [
        "\tleaq steps(%rip), %rax\n\tjmp *%rax\n",
        "\tleaq steps(%rip), %rdi\n\tcall g@PLT\n\tret\n",
        "\tmovq (%rdi), %rax\n\tjmp *24(%rax)\n",
        "\tmovq (%rdi), %rax\n\tmovq 24(%rax), %rax\n\tcall *%rax\n\tret\n",
        "\tleaq steps(%rip), %rax\n\tcmpq %rax, %rdi\n\tcmovne %rdi, %rax\n\tjmp *%rax\n",
    ],
)
def test_pointers_to_functions(body: str) -> None:
    assert steps_may_be_ordered(TARGET + function("f", body))


CHANGES = {  # bodies of functions that enter STEPS by a pointer in data, `slot`, or beside it
    "by arithmetic on it": "\taddq %rdi, slot(%rip)\n\tjmp *slot(%rip)\n",
    "by arithmetic on it, then loaded": "\tsubq $-5, slot(%rip)\n\tmovq slot(%rip), %rax\n\tcall *%rax\n\tret\n",
    "at a fixed address": "\taddq %rdi, slot\n\tnotrack jmp *slot\n",
    "in a table": "\taddq $5, slot(,%rdi,8)\n\tjmp *slot(,%rdi,8)\n",
    "by its address": "\tleaq slot(%rip), %rdx\n\taddq $5, (%rdx)\n\txorl %eax, %eax\n\tjmp *(%rdx)\n",
    "on the stack": "\tmovq slot(%rip), %rax\n\tmovq %rax, -8(%rsp)\n\taddq $5, -8(%rsp)\n\tjmp *-8(%rsp)\n",
    "by a return": "\taddq $5, slot(%rip)\n\tpushq slot(%rip)\n\tret\n",
    "by an exchange": "\tmovl $5, %eax\n\tlock xaddq %rax, slot(%rip)\n\tjmp *slot(%rip)\n",
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("section", [".data", ".rodata"])  # the latter too: a program may ask for it (mprotect)
@pytest.mark.parametrize("target", ["steps", ".Lsteps"])
def test_a_pointer_in_data_that_code_changes_where_it_lies(name: str, section: str, target: str) -> None:
    label = ".Lsteps:\n" if target == ".Lsteps" else ""
    data = f"\t.section {section}\n\t.balign 8\nslot:\n\t.quad {target}\n"
    text = function("f", CHANGES[name]) + function("steps", f"{label}{STEPS}\tret\n") + data
    blocks = [block.code for block in document(text).blocks]
    assert not any(code in block for block in blocks for code in (STEPS_CODE, STEPS_CODE[5:]))


WRITABLE = "\t.data\n\t.quad 5\nslot:\n\t.quad .Lsteps\n"
USERS = {  # of `slot`, beside the function that jumps through it
    "a function that changes it": (function("g", "\taddq %rdi, slot(%rip)\n\tret\n"), WRITABLE),
    "a function that stores it": (function("g", "\tmovq %rdi, slot(%rip)\n\tret\n"), WRITABLE),
    "a callee": (function("g", "\tleaq slot(%rip), %rdi\n\tjmp change@PLT\n"), WRITABLE),
    "nobody": ("", WRITABLE),
    "on a line with its label": ("", WRITABLE.replace("slot:\n", "slot:")),
    "under two names": ("", WRITABLE.replace("slot:\n", "slot:\nother:\n")),
    "by an alias": ("\t.set slot, other\n", WRITABLE.replace("slot", "other")),
    "by a pointer": ("\t.data\nslot:\n\t.quad other\n\t.text\n", WRITABLE.replace("slot", "other")),
    "a table of distances": ("", WRITABLE.replace(".quad .Lsteps", ".long .Lsteps-slot")),
    "a section of its own": ("", WRITABLE.replace(".data", '.section mine,"aw"')),
}


@pytest.mark.parametrize("name", USERS)
def test_a_label_in_data_that_code_may_change(name: str) -> None:
    """Its function is left alone, with the reason; the others are not."""
    body = "\tmovslq slot(,%rax,4), %rax\n\tleaq slot(%rip), %rdx\n\taddq %rdx, %rax\n\tjmp *%rax\n"
    jump = body if "distances" in name else "\tjmp *slot(%rip)\n"
    other, data = USERS[name]
    other += function("other_steps", f"{STEPS}\tret\n")
    text = function("f", f"{jump}.Lsteps:\n{STEPS}\tret\n")
    file = document(f"{text}{other}{data}")
    assert sum(STEPS_CODE[5:] in block.code for block in file.blocks) == 1
    assert [fault.remedy for fault in file.faults if "may write" in fault.reason] == [
        "if nothing changes the data, make them constant (const, .section .rodata)"
    ]
    constant = document(f"{text}{other}{data}".replace(".data", ".section .rodata").replace('"aw"', '"a"'))
    assert not any("may write" in fault.reason for fault in constant.faults)


@pytest.mark.parametrize(
    "body",
    [
        "\tmovq %rdi, slot(%rip)\n\tjmp *slot(%rip)\n",
        "\taddq $8, slot+8(%rip)\n\tjmp *slot(%rip)\n",
        "\taddq $8, (%rdi)\n\tmovq 8(%rdi), %rdi\n\tjmp *(%rdi)\n",  # another object
        "\taddq $8, 8(%rax)\n\tcall g@PLT\n\tjmp *8(%rax)\n",
        "\tlock orq $0, (%rsp)\n\tjmp *(%rsp)\n",  # a fence
        "\tmovq slot(%rip), %rax\n\txchgq %rax, slot+8(%rip)\n\tjmp *slot+8(%rip)\n",
    ],
)
def test_pointers_to_functions_in_data_that_are_only_replaced(body: str) -> None:
    text = function("f", body) + TARGET + "\t.data\nslot:\n\t.quad steps, steps\n"
    assert any(STEPS_CODE in block.code for block in document(text).blocks)
