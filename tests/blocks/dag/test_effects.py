"""Effects of single instructions, against the manual."""

from __future__ import annotations

import pytest
from iced_x86 import Code, Decoder, Instruction, Register

from learned_schedulers.blocks.dag import resources
from learned_schedulers.blocks.dag.effects import Access, decode_block, effects, explicit_displacement
from tests.blocks.dag.named import STATUS, bits, decode

REGISTERS = [  # code, text, what it reads, what it writes; flags left out
    ("b001", "mov al, 1", "", "AL"),
    ("b401", "mov ah, 1", "", "AH"),
    ("66b80100", "mov ax, 1", "", "AX"),
    ("b801000000", "mov eax, 1", "", "RAX"),
    ("88e0", "mov al, ah", "AH", "AL"),
    ("0fb6c4", "movzx eax, ah", "AH", "RAX"),
    ("480fbec9", "movsx rcx, cl", "CL", "RCX"),
    ("4088f0", "mov al, sil", "SIL", "AL"),
    ("89c8", "mov eax, ecx", "RCX", "RAX"),
    ("f6e1", "mul cl", "AL CL", "AX"),
    ("48f7e1", "mul rcx", "RAX RCX", "RAX RDX"),
    ("48f7f9", "idiv rcx", "RAX RDX RCX", "RAX RDX"),
    ("f6f1", "div cl", "AX CL", "AX"),
    ("4899", "cqo", "RAX", "RDX"),
    ("6699", "cwd", "AX", "DX"),
    ("98", "cwde", "AX", "RAX"),
    ("d7", "xlat", "RBX AL", "AL"),
    ("53", "push rbx", "RBX RSP", "RSP"),
    ("5b", "pop rbx", "RSP", "RBX RSP"),
    ("c9", "leave", "RBP", "RSP RBP"),
    ("c8100000", "enter 16, 0", "RSP RBP", "RSP RBP"),
    ("488d4408ff", "lea rax, [rax+rcx-1]", "RAX RCX", "RAX"),
    ("480f44c1", "cmove rax, rcx", "RAX RCX", "RAX"),
    ("0f94c0", "sete al", "", "AL"),
    ("0fbcc1", "bsf eax, ecx", "RAX RCX", "RAX"),  # keeps the destination where the source is 0
    ("f30fbcc1", "tzcnt eax, ecx", "RCX", "RAX"),
    ("480fb10f", "cmpxchg [rdi], rcx", "RDI RCX RAX", "RAX"),
    ("480fc10f", "xadd [rdi], rcx", "RDI RCX", "RCX"),
    ("480fc70f", "cmpxchg16b [rdi]", "RDI RAX RBX RCX RDX", "RAX RDX"),
    ("a4", "movsb", "RSI RDI", "RSI RDI"),
    ("f348ab", "rep stosq", "RAX RCX RDI", "RCX RDI"),
    ("f3a6", "repe cmpsb", "RSI RDI RCX", "RSI RDI RCX"),
    ("c4e2f1f7c3", "shlx rax, rbx, rcx", "RBX CL", "RAX"),
    ("9e", "sahf", "AH", ""),
    ("9f", "lahf", "", "AH"),
    # zeroing idioms, and others whose result does not depend on their operand
    ("31c0", "xor eax, eax", "", "RAX"),
    ("4829c0", "sub rax, rax", "", "RAX"),
    ("19c0", "sbb eax, eax", "", "RAX"),
    ("660fefc0", "pxor xmm0, xmm0", "MXCSR", "XMM0"),
    ("c5f157c1", "vxorpd xmm0, xmm1, xmm1", "MXCSR", "YMM0"),
    ("660f76c0", "pcmpeqd xmm0, xmm0", "MXCSR", "XMM0"),
    ("660f76c1", "pcmpeqd xmm0, xmm1", "MXCSR XMM0 XMM1", "XMM0"),
    # vectors
    ("0f28c1", "movaps xmm0, xmm1", "MXCSR XMM1", "XMM0"),
    ("c5f828c1", "vmovaps xmm0, xmm1", "MXCSR XMM1", "YMM0"),  # clears what is above
    ("c5fc28c1", "vmovaps ymm0, ymm1", "MXCSR YMM1", "YMM0"),
    ("f20f10c1", "movsd xmm0, xmm1", "MXCSR XMM0 XMM1", "XMM0"),  # merges
    ("f20f1007", "movsd xmm0, [rdi]", "MXCSR RDI", "XMM0"),  # clears bits 64..127
    ("f20f2ac0", "cvtsi2sd xmm0, eax", "MXCSR XMM0 RAX", "XMM0"),
    ("f20f2c07", "cvttsd2si eax, [rdi]", "MXCSR RDI", "RAX"),
    ("62f17cc928c1", "vmovaps zmm0{k1}{z}, zmm1", "MXCSR ZMM1 K1", "ZMM0"),
    ("62f17c4928c1", "vmovaps zmm0{k1}, zmm1", "MXCSR ZMM0 ZMM1 K1", "ZMM0"),
    ("c5fc77", "vzeroall", "MXCSR", " ".join(f"YMM{i}" for i in range(16))),
    ("0fae17", "ldmxcsr [rdi]", "MXCSR RDI", "MXCSR"),
    ("0fae1f", "stmxcsr [rdi]", "MXCSR RDI", "MXCSR_STATUS"),
    # x87 and MMX
    ("dec1", "faddp", "X87 X87_CONTROL", "X87"),
    ("d907", "fld dword [rdi]", "X87 X87_CONTROL RDI", "X87"),
    ("d93f", "fnstcw [rdi]", "X87_CONTROL RDI", ""),
    ("d92f", "fldcw [rdi]", "X87 X87_CONTROL RDI", "X87 X87_CONTROL"),
    ("dbe3", "fninit", "X87 X87_CONTROL", "X87 X87_CONTROL"),
    ("dfe0", "fnstsw ax", "X87 X87_CONTROL", "X87 AX"),
    ("0ffcc1", "paddb mm0, mm1", "MM0 MM1 X87", "MM0"),
    ("0f77", "emms", "X87", "X87"),
    ("f20fd6c1", "movdq2q mm0, xmm1", "XMM1 X87 MXCSR", "MM0"),
    ("660f2a07", "cvtpi2pd xmm0, [rdi]", "RDI MXCSR", "XMM0"),  # no MMX register, no transition
    # nothing at all
    ("90", "nop", "", ""),
    ("0f1f4000", "nop dword [rax]", "", ""),
    ("0f1807", "prefetchnta [rdi]", "RDI MXCSR", ""),
]


@pytest.mark.parametrize(("code", "text", "reads", "writes"), REGISTERS, ids=[text for _, text, _, _ in REGISTERS])
def test_registers(code: str, text: str, reads: str, writes: str) -> None:
    effect = effects(decode(code))
    assert effect.reads & ~resources.FLAGS == bits(reads)
    assert effect.writes & ~resources.FLAGS == bits(writes)
    assert not effect.barrier


FLAGS = [  # code, text, flags read, written, killed, undefined
    ("4801c8", "add rax, rcx", "", "OF SF ZF AF CF PF", "OF SF ZF AF CF PF", ""),
    ("4811c8", "adc rax, rcx", "CF", "OF SF ZF AF CF PF", "OF SF ZF AF CF PF", ""),
    ("48ffc0", "inc rax", "", "OF SF ZF AF PF", "OF SF ZF AF PF", ""),
    ("4821c8", "and rax, rcx", "", "OF SF ZF AF CF PF", "OF SF ZF AF CF PF", "AF"),
    ("31c0", "xor eax, eax", "", "OF SF ZF AF CF PF", "OF SF ZF AF CF PF", "AF"),
    ("0f94c0", "sete al", "ZF", "", "", ""),
    ("480f4fc1", "cmovg rax, rcx", "OF SF ZF", "", "", ""),
    ("48c1e004", "shl rax, 4", "", "OF SF ZF AF CF PF", "OF SF ZF AF CF PF", "OF AF"),
    ("48d1e0", "shl rax, 1", "", "OF SF ZF AF CF PF", "OF SF ZF AF CF PF", "AF"),
    ("48c1e000", "shl rax, 0", "", "", "", ""),
    ("c1e020", "shl eax, 32", "", "", "", ""),
    ("48c1e020", "shl rax, 32", "", "OF SF ZF AF CF PF", "OF SF ZF AF CF PF", "OF AF"),
    ("48d3e0", "shl rax, cl", "OF SF ZF AF CF PF", "OF SF ZF AF CF PF", "", "OF AF"),
    ("480fa5c8", "shld rax, rcx, cl", "OF SF ZF AF CF PF", "OF SF ZF AF CF PF", "", "OF AF"),
    ("48d3c0", "rol rax, cl", "OF CF", "OF CF", "", "OF"),
    ("48c1c003", "rol rax, 3", "", "OF CF", "OF CF", "OF"),
    ("48d3d0", "rcl rax, cl", "OF CF", "OF CF", "", "OF"),
    ("c4e2f1f7c3", "shlx rax, rbx, rcx", "", "", "", ""),
    ("480fafc1", "imul rax, rcx", "", "OF SF ZF AF CF PF", "OF SF ZF AF CF PF", "SF ZF AF PF"),
    ("48f7f9", "idiv rcx", "", "OF SF ZF AF CF PF", "OF SF ZF AF CF PF", "OF SF ZF AF CF PF"),
    ("0fbcc1", "bsf eax, ecx", "", "OF SF ZF AF CF PF", "OF SF ZF AF CF PF", "OF SF AF CF PF"),
    ("480fa3c8", "bt rax, rcx", "", "OF SF AF CF PF", "OF SF AF CF PF", "OF SF AF PF"),
    ("480fb10f", "cmpxchg [rdi], rcx", "", "OF SF ZF AF CF PF", "OF SF ZF AF CF PF", ""),
    ("480fc70f", "cmpxchg16b [rdi]", "", "ZF", "ZF", ""),
    ("fc", "cld", "", "DF", "DF", ""),
    ("fd", "std", "", "DF", "DF", ""),
    ("f5", "cmc", "CF", "CF", "CF", ""),
    ("a4", "movsb", "DF", "", "", ""),
    ("a6", "cmpsb", "DF", "OF SF ZF AF CF PF", "OF SF ZF AF CF PF", ""),
    ("f3a6", "repe cmpsb", "OF SF ZF AF CF PF DF", "OF SF ZF AF CF PF", "", ""),
    ("f2ae", "repne scasb", "OF SF ZF AF CF PF DF", "OF SF ZF AF CF PF", "", ""),
    ("f3a4", "rep movsb", "DF", "", "", ""),
    ("9e", "sahf", "", "SF ZF AF CF PF", "SF ZF AF CF PF", ""),
    ("9f", "lahf", "SF ZF AF CF PF", "", "", ""),
    ("9c", "pushf", "OF SF ZF AF CF PF DF", "", "", ""),
    ("0f2ec1", "ucomiss xmm0, xmm1", "", "OF SF ZF AF CF PF", "OF SF ZF AF CF PF", ""),
    ("dbf1", "fcomi st, st(1)", "", "OF SF ZF AF CF PF", "OF SF ZF AF CF PF", ""),
    ("dac1", "fcmovb st, st(1)", "CF", "", "", ""),
    ("660f38f6c1", "adcx eax, ecx", "CF", "CF", "CF", ""),
]


@pytest.mark.parametrize(
    ("code", "text", "reads", "writes", "kills", "undefined"), FLAGS, ids=[row[1] for row in FLAGS]
)
def test_flags(code: str, text: str, reads: str, writes: str, kills: str, undefined: str) -> None:
    effect = effects(decode(code))
    assert effect.reads & resources.FLAGS == bits(reads)
    assert effect.writes & resources.FLAGS == bits(writes)
    assert effect.kills == bits(kills)
    assert effect.undefined == bits(undefined)


def test_vzeroupper_touches_the_upper_lanes_of_the_first_sixteen_alone() -> None:
    effect = effects(decode("c5f877"))
    whole, low = (sum(bits(f"{kind}MM{i}") for i in range(16)) for kind in "YX")
    assert (effect.reads, effect.writes) == (0, whole & ~low)


@pytest.mark.parametrize(
    "code",
    [
        *("0faee8", "0faef0", "0faef8", "f390", "0fa2", "0f31", "0f01f9", "0f01d0"),  # fences, pause, cpuid, rdtsc, ...
        *("0f05", "cd80", "f4", "0f0b", "fa", "fb", "9d", "ec"),  # syscall, int, hlt, ud2, cli, sti, popf, in
        *("0fae07", "0fae0f", "0fae27", "0fae3f", "8ed8", "0fa1", "f3480faed0", "0fc7f0"),  # fxsave, mov ds, wrfsbase
        *("e800000000", "c3", "ffe0", "7400", "0f01d5"),  # call, ret, jmp, je, xend
    ],
)
def test_barriers(code: str) -> None:
    assert effects(decode(code)).barrier


NONE, RSP, RDI, RSI = Register.NONE, Register.RSP, Register.RDI, Register.RSI
ACCESSES = [  # code, text, accesses as (base, index, segment, scale, displacement, explicit, size, reads, writes)
    ("488b4708", "mov rax, [rdi+8]", [(RDI, NONE, NONE, 1, 0, True, 8, True, False)]),
    ("88448f08", "mov [rdi+rcx*4+8], al", [(RDI, Register.RCX, NONE, 4, 0, True, 1, False, True)]),
    ("480107", "add [rdi], rax", [(RDI, NONE, NONE, 1, 0, True, 8, True, True)]),
    ("480f4407", "cmove rax, [rdi]", [(RDI, NONE, NONE, 1, 0, True, 8, True, False)]),
    ("488b0500100000", "mov rax, [rip+4096]", [(Register.RIP, NONE, NONE, 1, 0, True, 8, True, False)]),
    ("64488b042528000000", "mov rax, fs:[40]", [(NONE, NONE, Register.FS, 1, 0, True, 8, True, False)]),
    ("360fb607", "movzx eax, byte ss:[rdi]", [(RDI, NONE, NONE, 1, 0, True, 1, True, False)]),
    ("c5fc1007", "vmovups ymm0, [rdi]", [(RDI, NONE, NONE, 1, 0, True, 32, True, False)]),
    ("50", "push rax", [(RSP, NONE, NONE, 1, -8, False, 8, False, True)]),
    ("6650", "push ax", [(RSP, NONE, NONE, 1, -2, False, 2, False, True)]),
    ("58", "pop rax", [(RSP, NONE, NONE, 1, 0, False, 8, True, False)]),
    ("c9", "leave", [(Register.RBP, NONE, NONE, 1, 0, False, 8, True, False)]),
    (
        "ff742408",
        "push [rsp+8]: the rsp before",
        [(RSP, NONE, NONE, 1, 0, True, 8, True, False), (RSP, NONE, NONE, 1, -8, False, 8, False, True)],
    ),
    (
        "8f442408",
        "pop [rsp+8]: the rsp after",
        [(RSP, NONE, NONE, 1, 8, True, 8, False, True), (RSP, NONE, NONE, 1, 0, False, 8, True, False)],
    ),
    (
        "a5",
        "movsd",
        [(RDI, NONE, NONE, 1, 0, False, 4, False, True), (RSI, NONE, NONE, 1, 0, False, 4, True, False)],
    ),
    ("f3aa", "rep stosb", [(RDI, NONE, NONE, 1, 0, False, 0, False, True)]),
    ("678b07", "mov eax, [edi]", [(RDI, NONE, NONE, 1, 0, True, 0, True, False)]),
    ("d7", "xlat", [(Register.RBX, Register.RAX, NONE, 1, 0, True, 0, True, False)]),
    ("8707", "xchg [rdi], eax", [(RDI, NONE, NONE, 1, 0, True, 0, True, True)]),
    ("f0ff07", "lock inc dword [rdi]", [(RDI, NONE, NONE, 1, 0, True, 0, True, True)]),
    ("480fa30f", "bt [rdi], rcx", [(RDI, NONE, NONE, 1, 0, True, 0, True, False)]),
    ("480fba2f05", "bts qword [rdi], 5", [(RDI, NONE, NONE, 1, 0, True, 8, True, True)]),
    ("c4e2e991042f", "vpgatherqq", [(RDI, Register.ZMM5, NONE, 1, 0, True, 0, True, False)]),
    ("488d4708", "lea rax, [rdi+8]", []),
    ("0f1f4000", "nop [rax]", []),
    ("0f1807", "prefetchnta [rdi]", []),
]


@pytest.mark.parametrize(("code", "text", "expected"), ACCESSES, ids=[row[1] for row in ACCESSES])
def test_memory(code: str, text: str, expected: list[tuple[int, ...]]) -> None:
    assert effects(decode(code)).accesses == tuple(Access(*row) for row in expected)


def test_effects_do_not_depend_on_displacement_or_address() -> None:
    for near, far in (("488b4708", "488b4718"), ("8f442408", "8f442468"), ("488b0500100000", "488b0500200000")):
        assert effects(decode(near)) == effects(decode(far))
    elsewhere = Decoder(64, bytes.fromhex("488b0500100000"), ip=0x400000).decode()
    assert effects(elsewhere) == effects(decode("488b0500100000"))


def test_displacements() -> None:
    assert explicit_displacement(decode("488b47f8")) == -8
    assert explicit_displacement(decode("50")) == 0
    assert explicit_displacement(Decoder(64, bytes.fromhex("488b0500100000"), ip=0x400000).decode()) == 0x401007


@pytest.mark.parametrize(
    ("code", "matters"),
    [(code, True) for code in ("48c1e004", "66c1d004", "c0d804", "480fa4c804", "660facc804")]  # shl rcl rcr shld shrd
    + [(code, False) for code in ("660f70c04e", "c4e37d06c101", "660f3a0fc108", "0fc6c101", "480fba2f05", "660fc4c001")]
    + [(code, False) for code in ("4883c008", "c8100001", "c4e3710cc101", "62f3754825c2ff", "660f3a63c10c", "6bc003")],
)
def test_of_immediates_only_counts_of_shifts_matter(code: str, matters: bool) -> None:
    code_bytes = bytes.fromhex(code)
    distinct = {effects(Decoder(64, code_bytes[:-1] + bytes([value])).decode()) for value in range(256)}
    assert (len(distinct) > 1) == matters


def test_loads_take_longer() -> None:
    assert effects(decode("4803c1")).latency < effects(decode("480307")).latency


def test_bytes_that_are_no_instructions() -> None:
    with pytest.raises(ValueError, match="no valid instruction at byte 3"):
        decode_block(bytes.fromhex("4889c806"))
    with pytest.raises(ValueError, match="no valid instruction at byte 1"):
        decode_block(bytes.fromhex("5048"), 0x1000)
    invalid = Instruction()
    assert invalid.code == Code.INVALID
    with pytest.raises(ValueError, match="not an instruction"):
        effects(invalid)


def test_status_flags_are_one_resource_each() -> None:
    assert STATUS.bit_count() == 6
    assert STATUS | bits("DF") == resources.FLAGS
