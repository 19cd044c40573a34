import pytest

from pipeline.blocks.corpus.assembly import AssemblyError, gas, intel, split


@pytest.mark.parametrize(
    ("code", "intel_text", "gas_text"),
    [
        ("4883c418", "add rsp, 0x18", "add $0x18,%rsp"),
        ("f20f106c2420", "movsd xmm5, [rsp+0x20]", "movsd 0x20(%rsp),%xmm5"),
        ("488b0500000000", "mov rax, [rip]", "mov (%rip),%rax"),  # masked displacement
        ("488b0510000000", "mov rax, [rip+0x10]", "mov 0x10(%rip),%rax"),  # not the address that it refers to
        ("c7042401000000", "mov dword ptr [rsp], 1", "movl $1,(%rsp)"),  # the suffix is needed here
        ("63c3", "movsxd eax, ebx", "movl %ebx,%eax"),  # GNU's assembler has no movsxd of 32 bits
        ("4863c3", "movsxd rax, ebx", "movslq %ebx,%rax"),
    ],
)
def test_texts(code: str, intel_text: str, gas_text: str) -> None:
    assert intel(bytes.fromhex(code)) == [intel_text]
    assert gas(bytes.fromhex(code)) == [gas_text]


def test_text_does_not_depend_on_the_place() -> None:
    alone, load = bytes.fromhex("31f6"), bytes.fromhex("488b0500000000")
    assert split(alone + load + load) == [alone, load, load]
    assert intel(alone + load + load)[1] == intel(load)[0] == intel(alone + load + load)[2]


def test_no_code_has_no_instructions() -> None:
    assert split(b"") == []


@pytest.mark.parametrize("code", ["0f", "31f648", "06"])
def test_bytes_that_are_no_instructions_are_named(code: str) -> None:
    with pytest.raises(AssemblyError, match=code):
        gas(bytes.fromhex(code))
