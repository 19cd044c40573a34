"""Where a program was loaded, and where in it a block stood, changes no bit of what an imitator says."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from iced_x86 import Decoder, Instruction

from pipeline.corpus.distinct import distinct_instructions
from pipeline.corpus.forms import Forms
from pipeline.corpus.leaks import NOWHERE, masked
from pipeline.dag.bulk import Builder
from pipeline.dag.sampling import random_ready
from pipeline.models import instructions
from pipeline.models.heads.pointer import Pointer
from pipeline.models.imitator import Imitator
from pipeline.models.inputs import Vocabulary
from pipeline.models.instructions import Encodings, encoded, tabulate
from pipeline.models.relations import relations
from pipeline.models.store import BlockStore, of_tables
from pipeline.schemas import SCHEMAS
from tests.models.imitated import settings

# A displacement from rip is given as the place that it means, in bytes from the image's first; "@" stands for the four
# bytes of an absolute address.
BLOCKS: list[list[tuple[str, int | None]]] = [
    [
        ("488b05", 0x200),  # mov rax, [rip+...]
        ("488b0d", 0x208),  # mov rcx, [rip+...]
        ("488905", 0x200),  # mov [rip+...], rax: after the first alone, as the addresses say
        ("488d3d", 0x100),  # lea rdi, [rip+...]
        ("4889e5", None),  # mov rbp, rsp
        ("48ba", None),  # mov rdx, imm64: an address, set below
    ],
    [
        ("31c0", None),  # xor eax, eax
        ("488d35", 0x140),  # lea rsi, [rip+...]
        ("f30f1005", 0x220),  # movss xmm0, [rip+...]
        ("f30f100d", 0x224),  # movss xmm1, [rip+...]
        ("488b4708", None),  # mov rax, [rdi+8]
        ("c705", 0x210),  # mov dword [rip+...], imm32
        ("be", None),  # mov esi, imm32: an address
    ],
]
ADDRESSES = {"48ba": 8, "be": 4}  # opcodes whose immediate is an address in the image, and its bytes
PLACE = 0x180  # that they mean
OTHERS = (0x1000, 0x7FF000, 0x123456)


def emitted(block: list[tuple[str, int | None]], image: int, at: int) -> bytes:
    """A block's bytes, `at` so many from the first of an image loaded at `image`."""
    code = b""
    for opcode, place in block:
        head = bytes.fromhex(opcode)
        if opcode in ADDRESSES:
            code += head + (image + PLACE).to_bytes(ADDRESSES[opcode], "little")
        elif place is None:
            code += head
        else:
            tail = (7).to_bytes(4, "little") if opcode == "c705" else b""
            end = at + len(code) + len(head) + 4 + len(tail)
            code += head + (place - end).to_bytes(4, "little", signed=True) + tail
    return code


def read(image: int, offset: int, hide: bool = True) -> tuple[BlockStore, Encodings]:
    """The blocks as the pipeline reads them from an image of 4 KiB."""
    places = [offset + 97 * number for number in range(len(BLOCKS))]
    parts = [emitted(block, image, at) for block, at in zip(BLOCKS, places, strict=True)]
    code = np.frombuffer(b"".join(parts), np.uint8)
    end = np.cumsum([len(part) for part in parts])
    begin, forms = end - [len(part) for part in parts], Forms()
    found = forms.decode(code, begin, end)
    hidden = masked(code, begin, found, forms.facts, (image, image + 0xFFF)) if hide else code
    ids = pa.array([f"{number:032x}" for number in range(len(parts))])
    known = pa.array([hidden[a:b].tobytes() for a, b in zip(begin, end, strict=True)], pa.binary())
    distinct, numbers = distinct_instructions(known)
    blocks = pa.table(
        {
            "block_id": ids,
            "address": pa.array(np.array(places, np.uint64) + np.uint64(image)),
            "relocatable": pa.array([False] * len(parts)),
            "code": pa.array(parts, pa.binary()),
        }
    )
    rows = pa.table([ids, numbers], schema=SCHEMAS["instructions"])
    return of_tables(rows, Builder("full").build(blocks)), encoded(tabulate(distinct))


def said(network: Imitator, store: BlockStore, encodings: Encodings) -> list[np.ndarray]:
    """Embeddings, and orders of all decoders, of every block in one and the same shuffled order."""
    bags, found = network.vocabulary.bags(encodings), []
    for row in range(len(BLOCKS)):
        order = random_ready(store.as_emitted(np.array([row])).precedes, np.random.default_rng(row))
        problems = store.problems(np.array([row]), order)
        with torch.no_grad():
            found.append(network.embed(problems, relations(problems, encodings.compared), bags).numpy())
        decoders = network.head.decoders
        found += network.schedule(problems, encodings, bags, np.random.default_rng(5), decoders).values()
        if isinstance(network.head, Pointer):
            found.append(network.confidence(problems, encodings, bags, found[-1]))
    return found


def made(encodings: Encodings, encoder: str = "attention", head: str = "pointer") -> Imitator:
    torch.manual_seed(3)
    network = Imitator(Vocabulary(encodings.tokens), settings(encoder, head))
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.3)  # of zeros nothing would be seen
    return network.eval()


def equal(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("head", ["pointer", "pairwise", "popocs", "sinkhorn"])
@pytest.mark.parametrize("encoder", ["attention", "lstm"])
def test_addresses_change_no_bit(encoder: str, head: str) -> None:
    store, encodings = read(0x400000, 0)
    network = made(encodings, encoder, head)
    expected = said(network, store, encodings)
    for image in OTHERS:
        for offset in (0, 1, 0x333):
            assert equal(said(network, *read(image, offset)), expected)


def _telling(value: Callable[[Instruction], int]) -> Callable[[Instruction], instructions.Described]:
    """`describe` with a leak: one more token."""
    describe = instructions.describe

    def leaky(instruction: Instruction) -> instructions.Described:
        found = describe(instruction)
        return replace(found, tokens=[*found.tokens, f"leak:{value(instruction)}"])

    return leaky


LEAKS: dict[str, Callable[[Instruction], Any]] = {
    "displacement": lambda i: i.memory_displacement if i.is_ip_rel_memory_operand else 0,
    "constant": lambda i: i.immediate(1) if i.op_count > 1 and i.op_kind(1) in instructions.IMMEDIATES else 0,
}


@pytest.mark.parametrize("leak", LEAKS)
def test_a_leak_would_be_seen(monkeypatch: pytest.MonkeyPatch, leak: str) -> None:
    """The test above fails where code is not masked and a token tells of it; the mask alone would do."""
    monkeypatch.setattr(instructions, "describe", _telling(LEAKS[leak]))
    store, encodings = read(0x400000, 0)
    assert equal(said(made(encodings), *read(0x7FF000, 0x333)), said(made(encodings), store, encodings))
    store, encodings = read(0x400000, 0, hide=False)
    network = made(encodings)
    assert not equal(said(network, *read(0x7FF000, 0x333, hide=False)), said(network, store, encodings))


def test_constants_that_are_addresses_leak_unless_masked() -> None:
    """No token was put in here: immediates are tokens."""
    store, encodings = read(0x400000, 0, hide=False)
    network = made(encodings)
    assert not equal(said(network, *read(0x7FF000, 0, hide=False)), said(network, store, encodings))
    assert equal(said(network, *read(0x400000, 0x333, hide=False)), said(network, store, encodings))


def test_the_blocks_are_what_they_should_be() -> None:
    """They hold addresses, which differ before masking; dependencies are those of the places meant."""
    store, _ = read(0x400000, 0)
    assert store.lengths.tolist() == [len(block) for block in BLOCKS]
    precedes = store.as_emitted(np.array([0])).precedes[0]
    assert precedes[0, 2] and not precedes[1, 2]
    one, other = emitted(BLOCKS[0], 0x400000, 0), emitted(BLOCKS[0], 0x1000, 9)
    assert one != other
    assert [i.code for i in Decoder(64, one)] == [i.code for i in Decoder(64, other)]
    assert NOWHERE == (1, 0)
