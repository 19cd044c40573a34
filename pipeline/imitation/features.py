"""Single numbers of an instruction to sort blocks by: all that a network may see, and some that it must not see.

They come from the tokens themselves, so that a new kind of token is audited without a change here.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
from iced_x86 import Code, Decoder, Mnemonic, Register

from learned_schedulers.blocks.problems.instructions import COMPARED, Encodings
from learned_schedulers.blocks.problems.relations import ADDRESS_START, NODE, SAME_START, Relations

_BEFORE = 1 << 40  # weight of a register before a displacement: more than any displacement


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
        register, separator, number = text.partition(mark)
        if separator and register in _REGISTERS:
            return kind, _REGISTERS[register] * _BEFORE + int(number)
    return head, _REGISTERS[text] if text in _REGISTERS else float(text)


def of_tokens(encodings: Encodings) -> dict[str, np.ndarray]:
    """Kind -> value of the first such token of U instructions, NaN without one; and whether there is one.

    Also the values of COMPARED, from which relations are derived.
    """
    size = len(encodings.compared)
    described = [parsed(token) for token in encodings.tokens]
    kinds = sorted({kind for kind, _ in described})
    number = {kind: k for k, kind in enumerate(kinds)}
    kind = np.array([number[name] for name, _ in described])[encodings.bags]
    value = np.array([number for _, number in described], float)[encodings.bags]
    instruction = np.repeat(np.arange(size), np.diff(encodings.bounds))
    values = {}
    for k, name in enumerate(kinds):
        rows = np.flatnonzero(kind == k)[::-1]  # backwards: the first is written last
        values[name] = np.full(size, np.nan)
        values[name][instruction[rows]] = value[rows]
    present = {f"has {name}": 1.0 - np.isnan(numbers) for name, numbers in values.items()}
    compared = {f"compared {name}": encodings.compared[:, k].astype(float) for k, name in enumerate(COMPARED)}
    return values | present | compared


def of_pairs(related: Relations) -> dict[str, np.ndarray]:
    """Feature -> (B, n, n): above 0 if it puts i before k, below 0 if it puts k before i, else 0.

    The other features of PAIR are symmetric for independent pairs.
    """
    address, same = related.pairs[..., 3] - ADDRESS_START, related.pairs[..., 4] - SAME_START
    above = np.where(address >= 4, 2 * (address % 2) - 1, 0)
    distance = address // 2
    signs = {"address, right next": np.where(distance == 2, above, 0)}
    for power in range(10):
        signs[f"address, {2**power} bytes apart"] = np.where(distance == 3 + power, above, 0)
    constant = same & 3
    signs["same opcode, constant"] = (constant == 2).astype(int) - (constant == 3)
    signs["register of operand 0 is the other's of 1"] = (same & 8 > 0).astype(int) - (same & 16 > 0)
    return signs


def of_nodes(related: Relations) -> dict[str, np.ndarray]:
    """Features of NODE, (B, n)."""
    return {name: related.nodes[..., k].astype(float) for k, name in enumerate(NODE)}


def leaks(code: bytes, address: int) -> dict[str, np.ndarray]:
    """Features, (n,) each, that reveal the original order of n instructions; and their length, which does not.

    code: not masked, from `address` on.
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
