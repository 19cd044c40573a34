"""Machine code as the text of disassemblers: DynamoRIO's, as in Ithemal's data sets, and objdump's."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from iced_x86 import Decoder, Formatter, FormatterSyntax, Instruction, MemorySizeOptions, OpKind

_IMPLICIT = {"mul": 1, "div": 1, "idiv": 1, "imul": 1}  # with one operand
_SAME_NAME = {"cdqe": "cwde", "cqo": "cdq"}


def _formatter() -> Formatter:
    formatter = Formatter(FormatterSyntax.INTEL)
    formatter.hex_prefix, formatter.hex_suffix, formatter.uppercase_hex = "0x", "", False
    formatter.space_after_operand_separator = True
    formatter.memory_size_options = MemorySizeOptions.ALWAYS
    formatter.rip_relative_addresses = True
    formatter.use_pseudo_ops = False
    return formatter


def instructions(code: bytes) -> list[Instruction]:
    return list(Decoder(64, code))


def plain(code: bytes) -> list[str]:
    """Instructions as text that does not tell how they are encoded."""
    formatter = _formatter()
    formatter.rip_relative_addresses = False
    texts = []
    for instruction in instructions(code):
        text = formatter.format(instruction)
        if instruction.is_ip_rel_memory_operand:  # the address depends on the lengths of those before it
            distance = instruction.memory_displacement - instruction.next_ip & (1 << 64) - 1
            text = re.sub(r"0x[0-9a-f]+(?=\])|(?<=\[)[0-9]+(?=\])", f"rip+{distance:#x}", text)
        texts.append(text)
    return texts


def by_dynamorio(code: bytes) -> str:
    """A block as DynamoRIO prints it: constants by the digits of their encoding, implicit operands, columns."""
    formatter = _formatter()
    decoder = Decoder(64, code)
    lines = []
    offset = 0
    for instruction in decoder:
        constants = decoder.get_constant_offsets(instruction)
        mnemonic, _, rest = formatter.format(instruction).partition(" ")
        mnemonic = _SAME_NAME.get(mnemonic, mnemonic)
        operands = [operand.strip() for operand in rest.split(",")] if rest else []
        if constants.has_immediate and operands:
            begin = offset + constants.immediate_offset
            value = int.from_bytes(code[begin : begin + constants.immediate_size], "little")
            operands[-1] = f"0x{value:0{2 * constants.immediate_size}x}"
        operands = [re.sub(r"\b([c-gs]s):\[", r"[\1:", operand) for operand in operands]
        operands = [re.sub(r"\b(r\d+)b\b", r"\1l", operand) for operand in operands]
        if len(operands) == 1 and mnemonic in _IMPLICIT and instruction.op0_kind != OpKind.IMMEDIATE8:
            size = 1 if re.fullmatch(r"[a-d][lh]|[sd]il|[sb]pl|r\d+l|byte.*", operands[0]) else 0
            if not size:
                wide = operands[0].startswith("qword") or re.fullmatch(r"r([a-z]{2}|\d+)", operands[0])
                narrow = operands[0].startswith("word") or re.fullmatch(r"[a-d]x|[sd]i|[sb]p|r\d+w", operands[0])
                operands = (["rdx", "rax"] if wide else ["dx", "ax"] if narrow else ["edx", "eax"]) + operands
        if instruction.is_string_instruction:
            mnemonic, operands = f"{mnemonic} {rest.split()[0]}" if mnemonic.startswith("rep") else mnemonic, []
        if mnemonic == "lock":
            mnemonic, _, operands[0] = operands[0].partition(" ")
            lines.append(f"lock {mnemonic:6} {', '.join(operands)}".rstrip())
        else:
            lines.append(f"{mnemonic:6} {', '.join(operands)}".rstrip())
        offset += instruction.len
    return "".join(f"{line}\n" for line in lines)


def by_objdump(code: bytes, folder: Path) -> str:
    """A block as objdump prints it."""
    (folder / "code.bin").write_bytes(code)
    command = ["objdump", "-D", "-b", "binary", "-m", "i386:x86-64", "-M", "intel", "--no-show-raw-insn", "code.bin"]
    output = subprocess.run(command, cwd=folder, capture_output=True, check=True, text=True).stdout
    return "".join(f"{text}\n" for text in re.findall(r"^ *[0-9a-f]+:\t(.*)$", output, re.M))
