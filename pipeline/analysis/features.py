"""Single numbers that a network may know of an instruction, and some that it must not: each to sort blocks by.

Everything is read off the tokens themselves, so that a new kind of token is audited without being named here.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
from iced_x86 import Code, Decoder, Mnemonic, Register

from pipeline.blocks.problems.instructions import COMPARED, Encodings
from pipeline.blocks.problems.relations import ADDRESS_START, NODE, SAME_START, Relations

_BEFORE = 1 << 40  # a register before what follows it: more than any displacement


def _numbers(names: ModuleType) -> dict[str, int]:
    return {name.lower(): value for name, value in vars(names).items() if isinstance(value, int)}


_REGISTERS = _numbers(Register)
_OPCODES = {"code": _numbers(Code), "mnemonic": _numbers(Mnemonic)}


def parsed(token: str) -> tuple[str, float]:
    """Kind and value of a token: registers, opcodes and mnemonics count as iced-x86 numbers them.

    `disp:24` is ("disp", 24), `disp~-5` ("disp~", -5), `base:rax+24` ("base+disp", rax before 24).
    Raises ValueError for a token without a value.
    """
    head, _, text = token.partition(":")
    if not text:
        head, _, text = token.partition("~")
        return f"{head}~", float(text)
    if head in _OPCODES:
        return head, _OPCODES[head][text]
    for mark, kind in (("*", "index*scale"), ("+", "base+disp")):
        register, found, number = text.partition(mark)
        if found and register in _REGISTERS:
            return kind, _REGISTERS[register] * _BEFORE + int(number)
    return head, _REGISTERS[text] if text in _REGISTERS else float(text)


def of_tokens(encodings: Encodings) -> dict[str, np.ndarray]:
    """Kind -> value of the first such token of U instructions, NaN without one; and whether there is one.

    Beside the tokens: the values of COMPARED, which relations are made of.
    """
    size = len(encodings.compared)
    known = [parsed(token) for token in encodings.tokens]
    kinds = sorted({kind for kind, _ in known})
    number = {kind: k for k, kind in enumerate(kinds)}
    kind = np.array([number[name] for name, _ in known])[encodings.bags]
    value = np.array([number for _, number in known], float)[encodings.bags]
    instruction = np.repeat(np.arange(size), np.diff(encodings.bounds))
    found = {}
    for k, name in enumerate(kinds):
        at = np.flatnonzero(kind == k)[::-1]  # backwards: the first is written last
        found[name] = np.full(size, np.nan)
        found[name][instruction[at]] = value[at]
    present = {f"has {name}": 1.0 - np.isnan(values) for name, values in found.items()}
    compared = {f"compared {name}": encodings.compared[:, k].astype(float) for k, name in enumerate(COMPARED)}
    return found | present | compared


def of_pairs(related: Relations) -> dict[str, np.ndarray]:
    """Feature -> (B, n, n): above 0 where it says that i comes before k, below where k before i, 0 where nothing.

    Of independent pairs the other features of PAIR are the same both ways.
    """
    address, same = related.pairs[..., 3] - ADDRESS_START, related.pairs[..., 4] - SAME_START
    above = np.where(address >= 4, 2 * (address % 2) - 1, 0)
    distance = address // 2
    found = {"address, right next": np.where(distance == 2, above, 0)}
    for power in range(10):
        found[f"address, {2**power} bytes apart"] = np.where(distance == 3 + power, above, 0)
    constant = same & 3
    found["same opcode, constant"] = (constant == 2).astype(int) - (constant == 3)
    found["register of operand 0 is the other's of 1"] = (same & 8 > 0).astype(int) - (same & 16 > 0)
    return found


def of_nodes(related: Relations) -> dict[str, np.ndarray]:
    """Features of NODE, (B, n)."""
    return {name: related.nodes[..., k].astype(float) for k, name in enumerate(NODE)}


def leaks(code: bytes, address: int) -> dict[str, np.ndarray]:
    """What must not be known of the n instructions of a block as found, (n,): it tells in which order they stood.

    code: not masked, from `address` on. Beside them their length, which is harmless.
    """
    decoded = list(Decoder(64, code, ip=address))
    offset = np.array([instruction.ip - address for instruction in decoded], float)
    rip = [instruction.is_ip_rel_memory_operand for instruction in decoded]
    target = np.array([float(i.ip_rel_memory_address) if r else np.nan for i, r in zip(decoded, rip, strict=True)])
    following = np.array([float(instruction.next_ip) for instruction in decoded])
    return {
        "byte offset": offset,
        "rip displacement": target - following,
        "rip target": target,
        "bytes of the instruction": np.array([instruction.len for instruction in decoded], float),
    }
