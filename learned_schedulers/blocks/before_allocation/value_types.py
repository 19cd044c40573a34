"""Text of an instruction -> the type of its result, and the machine registers that a value of a type needs on x86-64.

The syntax is that of LLVM's Language Reference, as LLVM prints it: with opaque pointers.
"""

from __future__ import annotations

import re
from typing import NamedTuple

NONE, GENERAL, VECTOR = 0, 1, 2  # classes of registers
_VECTOR_BITS = 256  # AVX2
_FLOATING = {"half": 16, "bfloat": 16, "float": 32, "double": 64, "fp128": 128}
_NO_REGISTER = frozenset(["void", "token", "metadata", "label", "x86_fp80", "ppc_fp128", "x86_amx"])
_TOKEN = re.compile(r'[%@]"(?:[^"\\]|\\.)*"|[%@][-\w$.]+|"(?:[^"\\]|\\.)*"|!?[-\w$.]+|[^\s\w]')
_OPENING, _CLOSING = frozenset("([{<"), frozenset(")]}>")
_CASTS = frozenset(
    """
    trunc zext sext fptrunc fpext fptoui fptosi uitofp sitofp ptrtoint ptrtoaddr inttoptr bitcast addrspacecast
    """.split()  # noqa: SIM905
)
_WITHOUT_RESULT = frozenset(["store", "fence", "br", "ret", "switch", "indirectbr", "resume", "unreachable"])
_WITHOUT_RESULT |= {"cleanupret", "catchret"}


class Type(NamedTuple):
    """A type of LLVM's."""

    text: str  # as LLVM prints it; of a structure with a name, the name
    elements: int = 1  # of an array or a vector
    parts: tuple[Type, ...] = ()  # the element of an array or a vector, or the fields of a structure
    vector: bool = False


class Unknown(ValueError):
    """A text is no type, or no instruction whose result's type is plain from it."""


BOOLEAN, POINTER, VOID = Type("i1"), Type("ptr"), Type("void")


def tokens(text: str) -> list[str]:
    """Words, names, strings and single other characters of a line."""
    return _TOKEN.findall(text)


def read_type(words: list[str], place: int = 0) -> tuple[Type, int]:
    """The type that begins at a place of tokens, and the place behind it. Raises Unknown."""
    word = words[place] if place < len(words) else ""
    if word == "ptr" and words[place + 1 : place + 3] == ["addrspace", "("]:
        return Type(f"ptr addrspace({words[place + 3]})"), place + 5
    if word == "ptr" or word in _FLOATING or word in _NO_REGISTER or re.fullmatch(r"i\d+", word) or word[:1] == "%":
        return Type(word), place + 1
    packed = words[place : place + 2] == ["<", "{"]
    if packed or word == "{":
        fields, end = _fields(words, place + 1 + packed)
        inside = f"{{ {', '.join(field.text for field in fields)} }}" if fields else "{}"
        return Type(f"<{inside}>" if packed else inside, 1, tuple(fields)), end + packed
    if word in ("[", "<") and words[place + 1].isdecimal() and words[place + 2] == "x":
        element, end = read_type(words, place + 3)
        text = f"{word}{words[place + 1]} x {element.text}{words[end]}"
        return Type(text, int(words[place + 1]), (element,), word == "<"), end + 1
    raise Unknown(f"no type: {' '.join(words[place : place + 8])}")


def operands(words: list[str]) -> list[list[str]]:
    """What stands between commas in the tokens of an instruction, without metadata, which comes last.

    The first part begins with the opcode and its flags; the first type stands at `type_place`.
    """
    parts: list[list[str]] = [[]]
    depth = 0
    for word in words:
        depth += (word in _OPENING) - (word in _CLOSING)
        if word == "," and not depth:
            parts.append([])
        else:
            parts[-1].append(word)
    return [part for part in parts if not part[:1] or not part[0].startswith("!")]


def type_place(words: list[str], place: int = 1) -> int:
    """The place of the first type at or behind a place: flags, predicates and attributes are passed. Raises Unknown."""
    while place < len(words):
        try:
            read_type(words, place)
        except Unknown:
            if words[place] in _OPENING:
                raise
            place += 1
        else:
            return place
        if words[place : place + 1] == ["("]:  # of an attribute
            depth = 1
            while depth:
                place += 1
                depth += (words[place] in _OPENING) - (words[place] in _CLOSING)
            place += 1
    raise Unknown(f"no type in {' '.join(words[:12])}")


def result_type(line: str) -> Type:
    """The type of the result of an instruction, void if it has none.

    line: the instruction with its result's name, if it has one. Raises Unknown where the text alone does not say it: a
    field of a structure that is given by its name, or a scalable vector.
    """
    words = tokens(line)
    if words[1:2] == ["="]:
        words = words[2:]
    if words[:1] in (["tail"], ["musttail"], ["notail"]):
        words = words[1:]
    try:
        return _result(words[0], words)
    except IndexError as error:
        raise Unknown(f"not understood: {line.strip()[:60]}") from error


def _result(opcode: str, words: list[str]) -> Type:
    if opcode in _WITHOUT_RESULT:
        return VOID
    if opcode in ("catchpad", "cleanuppad", "catchswitch"):
        return Type("token")
    parts = operands(words)
    if opcode in _CASTS:
        to = len(parts[0]) - 1 - parts[0][::-1].index("to") if "to" in parts[0] else len(words)
        return read_type(parts[0], to + 1)[0]
    if opcode == "alloca":
        spaces = [part for part in parts if part[0] == "addrspace"]
        return Type(f"ptr addrspace({spaces[0][2]})") if spaces else POINTER
    if opcode in ("select", "atomicrmw", "va_arg"):
        return read_type(parts[1])[0]
    if opcode == "cmpxchg":
        compared = read_type(parts[1])[0]
        return Type(f"{{ {compared.text}, i1 }}", 1, (compared, BOOLEAN))
    if opcode == "getelementptr":
        types = [read_type(part)[0] for part in parts[1:]]
        lanes = next((each.elements for each in types if each.vector), 0)
        pointer = types[0].parts[0] if types[0].vector else types[0]
        return _lanes(pointer, lanes) if lanes else pointer
    first = read_type(parts[0], type_place(parts[0]))[0]
    if opcode in ("icmp", "fcmp"):
        return _lanes(BOOLEAN, first.elements) if first.vector else BOOLEAN
    if opcode == "extractelement":
        return first.parts[0]
    if opcode == "shufflevector":
        return _lanes(first.parts[0], read_type(parts[2])[0].elements)
    if opcode == "extractvalue":
        for part in parts[1:]:
            if not first.parts:
                raise Unknown(f"fields of {first.text} are declared elsewhere")
            first = first.parts[int(part[0])] if len(first.parts) > 1 else first.parts[0]
    return first


def _lanes(element: Type, count: int) -> Type:
    return Type(f"<{count} x {element.text}>", count, (element,), True)


def _fields(words: list[str], place: int) -> tuple[list[Type], int]:
    """Types of the fields from the place behind the brace, and the place behind the closing brace."""
    fields: list[Type] = []
    while words[place] != "}":
        field, place = read_type(words, place)
        fields.append(field)
        place += words[place] == ","
    return fields, place + 1


def bits(of: Type) -> int:
    """Bits of a type in memory, without padding; those of a pointer are 64. Raises Unknown for names and for void."""
    if of.parts:
        return sum(bits(part) for part in of.parts) * of.elements
    if re.fullmatch(r"i\d+", of.text):
        return int(of.text[1:])
    if of.text.startswith("ptr"):
        return 64
    if of.text in _FLOATING:
        return _FLOATING[of.text]
    raise Unknown(f"the size of {of.text} is not plain")


def registers(of: Type) -> tuple[int, int]:
    """Class and number of the machine registers of a value: (NONE, 0), (GENERAL, 2) for i128 and so on.

    Floating point and vectors are in registers of 256 bits, and each bit of a vector of i1 takes a byte. The x87 stack
    has registers of its own, which are not counted. The fields of a structure, or elements of an array, have a register
    each, except bits, which are flags; if their classes differ, those of the class with more registers are counted.
    What is not understood needs a general register.
    """
    if of.text in _NO_REGISTER or of.text == "{}":
        return NONE, 0
    try:
        if of.vector:
            return VECTOR, -(-max(bits(of), 8 * of.elements) // _VECTOR_BITS)
        if of.parts:
            counts = {GENERAL: 0, VECTOR: 0, NONE: 0}
            for part in of.parts:
                kind, count = (NONE, 0) if part == BOOLEAN else registers(part)
                counts[kind] += count * of.elements
            return max(counts.items(), key=lambda item: item[1])
        return (VECTOR, 1) if of.text in _FLOATING else (GENERAL, -(-bits(of) // 64))
    except Unknown:
        return GENERAL, 1
