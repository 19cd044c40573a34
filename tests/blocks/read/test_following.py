"""The instructions that follow blocks: in hand-assembled programs, in real ones, and by the stage."""

from __future__ import annotations

import json
import shutil
from itertools import takewhile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from iced_x86 import Code, Decoder, FlowControl, Instruction, Mnemonic, OpKind

from learned_schedulers.blocks.read import cut
from learned_schedulers.blocks.read.elf import Image, read_image
from learned_schedulers.blocks.read.forms import Forms
from pipeline.corpus.following import MOST, of_blocks
from pipeline.corpus.stages import following
from pipeline.corpus.tables import BLOCKS, FOLLOWING, MANIFEST
from pipeline.lab import tables
from tests.blocks.read.conftest import build
from tests.blocks.read.test_ingest import run, settings

TINY = Path(__file__).parents[2] / "tiny"
BLOCK = "01d889d1"  # add eax, ebx; mov ecx, edx
END = "c3"
FINAL = (
    FlowControl.UNCONDITIONAL_BRANCH, FlowControl.INDIRECT_BRANCH, FlowControl.RETURN, FlowControl.EXCEPTION,
)  # fmt: skip


def blocks_and_following(image: Image) -> tuple[list[cut.Blocks], list[list[str]]]:
    """The blocks of at least two instructions, by section, and the instructions that follow each, in hex digits."""
    sections = list(cut.blocks(image, 2, 1000, Forms()))
    names = np.repeat([part.section for part in sections], [len(part.begin) for part in sections]).astype(object)
    addresses = np.concatenate([part.address for part in sections])
    codes = [
        part.code[begin:end].tobytes() for part in sections for begin, end in zip(part.begin, part.end, strict=True)
    ]
    lists = of_blocks(image, names, addresses, codes, Forms()).lists()
    return sections, [[code.hex() for code in codes_of_block] for codes_of_block in lists.to_pylist()]


def following_codes(elf: bytes) -> list[list[str]]:
    return blocks_and_following(read_image(elf, r"4\.9|Debian", r"4\.4"))[1]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        pytest.param("e811223344 85c0 7e05 31c0 31d2", ["e800000000", "85c0", "0f8e00000000", "31c0"], id="goes on"),
        pytest.param("ffd0 85c0", ["ffd0", "85c0"], id="indirect call"),
        pytest.param("eb02 85c0 c3", ["e900000000"], id="jump"),
        pytest.param("e944332211 85c0", ["e900000000"], id="near jump"),
        pytest.param("ffe0 85c0", ["ffe0"], id="indirect jump"),
        pytest.param("c3 85c0", ["c3"], id="return"),
        pytest.param("7410 0f0b 85c0", ["0f8400000000", "0f0b"], id="trap"),
        pytest.param("7410 06 85c0", ["0f8400000000"], id="no instruction"),
        pytest.param("06 85c0", [], id="no instruction at once"),
        pytest.param("0f1f4000 6690 85c0 c3", ["85c0", "c3"], id="padding"),
        pytest.param("e2f8 488b0578563412 c3", ["e200", "488b0500000000", "c3"], id="loop and rip-relative"),
        pytest.param("2e7410 f2eb10 c3", ["2e0f8400000000", "f2e900000000"], id="prefixes"),
        pytest.param("c7f811223344 c3", ["c7f800000000", "c3"], id="transaction"),
        pytest.param("", [], id="end of the section"),
        pytest.param("e80000", [], id="cut off"),
    ],
)
def test_after_a_block(code: str, expected: list[str]) -> None:
    assert following_codes(build(bytes.fromhex(BLOCK + code)))[0] == expected


def test_a_block_that_ends_at_a_branch_target() -> None:
    codes = following_codes(build(bytes.fromhex(BLOCK + "85d2 74fc c3")))  # je to test edx, edx
    assert codes == [["85d2", "0f8400000000", "c3"]]


def test_it_ends_with_the_function() -> None:
    code = bytes.fromhex(BLOCK + "e800000000" + BLOCK + END)
    assert following_codes(build(code, [(0, 9), (9, 14)])) == [["e800000000"], ["c3"]]
    assert following_codes(build(code)) == [["e800000000", "01d8", "89d1", "c3"], ["c3"]]


def test_addresses_of_a_program_that_cannot_move_are_masked() -> None:
    code = bytes.fromhex(BLOCK + "ff24c500104000 c3")  # jmp [rax*8+0x401000]
    assert following_codes(build(code, kind="exec"))[0] == ["ff24c500000000"]
    assert following_codes(build(code))[0] == ["ff24c500104000"]


def test_the_linkers_fields_of_an_object_file_are_masked() -> None:
    code, more = bytes.fromhex(BLOCK + "ffd1be77665544" + END), bytes.fromhex(BLOCK + "ffd0" + END)
    elf = build(code, kind="rel", relocations=((7, 10),), more=more)
    assert following_codes(elf) == [["ffd1", "be00000000", "c3"], ["ffd0", "c3"]]


def expected(code: bytes, end: int) -> list[str]:
    """Reference: iced-x86 decodes the bytes after a block, up to the end of its function."""
    decoder, texts = Decoder(64, code[end:]), []

    def valid(instruction: Instruction) -> bool:
        return instruction.code != Code.INVALID

    for instruction in takewhile(valid, decoder):
        if instruction.mnemonic in (Mnemonic.NOP, Mnemonic.ENDBR64) or len(texts) == MOST:
            continue
        assert instruction.op_count == 0 or instruction.op0_kind != OpKind.FAR_BRANCH32
        if instruction.op_count and instruction.op0_kind == OpKind.NEAR_BRANCH64:
            instruction.as_near_branch()
        texts.append(str(instruction).split(" ")[0])
        if instruction.flow_control in FINAL:
            break
    return texts


@pytest.mark.parametrize("name", ["tiny1.so", "tiny2.so"])
def test_all_blocks_of_a_program(name: str) -> None:
    image = read_image((TINY / name).read_bytes(), r"\d", r"4\.4")
    sections, following_blocks = blocks_and_following(image)
    ends = {
        (section.name, int(function[1]) - section.address)
        for section in image.sections
        for function in section.functions
    }
    code_of_section = {section.name: section.code for section in image.sections}
    block_ends = [(part.section, int(end)) for part in sections for end in part.end]
    assert len(block_ends) > 200
    for (section, end), codes in zip(block_ends, following_blocks, strict=True):
        function_end = min(stop for name, stop in ends if name == section and stop >= end)
        instructions = [Decoder(64, bytes.fromhex(code)).decode() for code in codes]
        assert [instruction.len for instruction in instructions] == [len(code) // 2 for code in codes]
        assert [str(instruction).split(" ")[0] for instruction in instructions] == expected(
            code_of_section[section][:function_end], end
        )
        for instruction in instructions:
            if instruction.op_count and instruction.op0_kind == OpKind.NEAR_BRANCH64:
                assert instruction.near_branch64 == instruction.len
            assert not instruction.is_ip_rel_memory_operand or instruction.memory_displacement == instruction.len


def test_a_block_that_the_program_does_not_contain_is_named() -> None:
    image = read_image(build(bytes.fromhex(BLOCK + END)), r"4\.9", r"4\.4")
    for section, address, code, message in (
        (".text", 0x401000, "01d889d2", r"block 01d889d2 is not at \.text 0x401000"),
        (".text", 0x401001, BLOCK, r"block 01d889d1 is not at \.text 0x401001"),
        (".text", 0x10, BLOCK, r"is not at \.text 0x10"),
        (".text.other", 0x401000, BLOCK, r"no code in section \.text\.other"),
    ):
        with pytest.raises(ValueError, match=message):
            of_blocks(image, np.array([section], object), np.array([address]), [bytes.fromhex(code)], Forms())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(TINY, tmp_path / "files")
    return tmp_path / "files"


def written_table(corpus: dict[str, object], out: Path) -> pd.DataFrame:
    following.main(json.dumps(corpus), out / "manifest.parquet", out / "blocks.parquet", out / "following.parquet")
    return tables.read(FOLLOWING, out / "following.parquet")


def test_the_stage(folder: Path, tmp_path: Path) -> None:
    corpus, out = settings(folder, shards=2), tmp_path / "out"
    run(corpus, 2, out)
    table, blocks = written_table(corpus, out), tables.read(BLOCKS, out / "blocks.parquet")
    assert table.block_id.tolist() == blocks.block_id.tolist()
    counts = table.code.str.len()
    assert counts.max() == MOST and (counts > 0).mean() > 0.95
    image = read_image((folder / "tiny1.so").read_bytes(), r"\d", r"4\.4")
    sections, expected_codes = blocks_and_following(image)
    places = [(part.section, int(address)) for part in sections for address in part.address]
    codes_of_place = dict(zip(places, expected_codes, strict=True))
    tiny_blocks = blocks[blocks.program.str.endswith("tiny1.so")]
    assert len(tiny_blocks) > 100
    for row in tiny_blocks.itertuples():
        assert [code.hex() for code in table.code[row.Index]] == codes_of_place[row.section, row.address]


def test_nothing_follows_blocks_without_a_program(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "skl.csv").write_text("01d889d1,100.0\n01d8488b0544332211,2\n")
    corpus = settings(tmp_path, sources={"tiny": {"kind": "bhive", "include": [f"{tmp_path}/files/*"]}}, shards=1)
    run(corpus, 1, tmp_path / "out")
    assert written_table(corpus, tmp_path / "out").code.str.len().tolist() == [0, 0]


def test_a_changed_program_is_named(folder: Path, tmp_path: Path) -> None:
    corpus, out = settings(folder, shards=1), tmp_path / "out"
    run(corpus, 1, out)
    shutil.copy(folder / "tiny2.so", folder / "tiny1.so")
    with pytest.raises(ValueError, match=r"tiny: .*tiny1\.so: .*fetch and ingest anew"):
        written_table(corpus, out)
    files = tables.read(MANIFEST, out / "manifest.parquet")
    tables.write(files[files.program.str.endswith("tiny2.so")], MANIFEST, out / "manifest.parquet")
    with pytest.raises(ValueError, match=r"tiny: .*tiny1\.so: it has blocks, but no source contains it any more"):
        written_table(corpus, out)
    assert not (out / "following.parquet").exists()
