"""Small ELF files from hand-assembled bytes."""

from __future__ import annotations

import struct

_NULL = (b"", 0, 0, 0, b"", 0, 0, 0)


def _common_entry() -> bytes:
    # version 1, "zR", code alignment 1, data alignment -8, return address 16, encoding pcrel | sdata4
    body = struct.pack("<I", 0) + b"\x01zR\0\x01\x78\x10\x01\x1b"
    body += b"\0" * (-len(body) % 4)
    return struct.pack("<I", len(body)) + body


def build(
    code: bytes,
    functions: list[tuple[int, int]] | None = None,
    *,
    kind: str = "dyn",
    machine: int = 62,
    comments: tuple[str, ...] = ("GCC: (GNU) 4.9.1",),
    address: int = 0x401000,
    eh_frame: bool = True,
    relocations: tuple[tuple[int, int], ...] = (),
    more: bytes | None = None,
) -> bytes:
    """An ELF file whose `.text` holds `code` at `address`.

    `functions`: (begin, end) offsets that `.eh_frame` covers, by default the whole code. `kind`: dyn | exec | rel.
    `relocations`: (offset, type) against `.text`, in kind rel. `more`: code of a section
    `.text.more` in kind rel, which `.eh_frame` covers completely.
    """
    relocatable = kind == "rel"
    base = 0 if relocatable else address
    frame_base = 0 if relocatable else address + 0x10000
    frame, frame_relocations = bytearray(_common_entry()), []
    ranges = [(1, begin, end) for begin, end in (functions or [(0, len(code))])]
    ranges += [(2, 0, len(more))] if more is not None else []
    for number, begin, end in ranges:
        field_offset = len(frame) + 8
        frame_relocations.append((field_offset, 2, number, begin))
        initial_location = 0 if relocatable else base + begin - (frame_base + field_offset)
        frame += struct.pack("<IIiI", 16, len(frame) + 4, initial_location, end - begin) + b"\0" * 4
    # (name, type, flags, address, content, link, info, entry size)
    sections = [_NULL, (b".text", 1, 6, base, code, 0, 0, 0)]
    sections.append((b".text.more", 1, 6, 0, more, 0, 0, 0) if more is not None else (b".data", 1, 3, 0, b"", 0, 0, 0))
    if eh_frame:
        sections.append((b".eh_frame", 1, 2, frame_base, bytes(frame), 0, 0, 0))
    if comments:
        sections.append((b".comment", 1, 0x30, 0, b"".join(c.encode() + b"\0" for c in comments), 0, 0, 1))
    if relocatable:
        names = [s[0] for s in sections]
        symbols = bytes(24) + b"".join(struct.pack("<IBBHQQ", 0, 3, 0, number, 0, 0) for number in (1, 2))
        table, link = len(sections), len(sections)
        sections.append((b".symtab", 2, 0, 0, symbols, table + 1, 3, 24))
        sections.append((b".strtab", 3, 0, 0, b"\0", 0, 0, 0))
        entries = b"".join(struct.pack("<QQq", offset, 1 << 32 | type_, 0) for offset, type_ in relocations)
        sections.append((b".rela.text", 4, 0, 0, entries, link, 1, 24))
        if eh_frame:
            entries = b"".join(
                struct.pack("<QQq", offset, symbol << 32 | type_, begin)
                for offset, type_, symbol, begin in frame_relocations
            )
            sections.append((b".rela.eh_frame", 4, 0, 0, entries, link, names.index(b".eh_frame"), 24))
    names_table = b"\0".join(s[0] for s in sections) + b"\0.shstrtab\0"
    sections.append((b".shstrtab", 3, 0, 0, names_table, 0, 0, 0))

    segments = b"" if relocatable else struct.pack("<IIQQQQQQ", 1, 5, 0, address, address, 0x20000, 0x20000, 0x1000)
    content, headers = bytearray(), b""
    for name, type_, flags, section_address, payload, link, section_info, size in sections:
        name_at = (b"\0" + names_table).find(b"\0" + name + b"\0") if name else 0
        offset = 64 + len(segments) + len(content)
        headers += struct.pack(
            "<IIQQQQIIQQ", name_at, type_, flags, section_address, offset, len(payload), link, section_info, 1, size
        )
        content += payload
    header = b"\x7fELF\x02\x01\x01" + bytes(9)
    header += struct.pack("<HHIQQQI", {"rel": 1, "exec": 2, "dyn": 3}[kind], machine, 1, 0, 64 if segments else 0,
                          64 + len(segments) + len(content), 0)  # fmt: skip
    header += struct.pack("<HHHHHH", 64, 56, 1 if segments else 0, 64, len(sections), len(sections) - 1)
    return header + segments + bytes(content) + headers
