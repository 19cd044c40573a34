"""Where a program was loaded, and where in it a block stood, changes no bit of what an imitator says."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from iced_x86 import Decoder, Instruction

from pipeline.blocks.corpus.distinct import distinct_instructions
from pipeline.blocks.corpus.elf import CodeSection, Image
from pipeline.blocks.corpus.following import of_blocks
from pipeline.blocks.corpus.forms import Forms
from pipeline.blocks.corpus.leaks import NOWHERE, masked
from pipeline.blocks.dag.bulk import Builder
from pipeline.blocks.dag.sampling import random_ready
from pipeline.blocks.models.heads.pointer import Pointer
from pipeline.blocks.models.inputs import Vocabulary
from pipeline.blocks.models.ordering_network import OrderingNetwork
from pipeline.blocks.problems import instructions
from pipeline.blocks.problems.instructions import Encodings, encoded, tabulate
from pipeline.blocks.problems.relations import relations
from pipeline.blocks.problems.store import BlockStore, numbered, of_tables
from tests.blocks.models import imitated
from tests.blocks.models.imitated import settings

# A displacement from rip is given as the place that it means, in bytes from the image's first; "@" stands for the four
# bytes of an absolute address.
JE = "je"  # short where its target is near enough
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
TAILS: list[list[tuple[str, int | None]]] = [  # what stands behind them
    [("e8", 0x900), ("488b1d", 0x230), (JE, 0x70), ("e9", 0x910)],  # call, mov rbx, [rip+...], je, jmp
    [("ff15", 0x240), ("be", None), (JE, 0xB0), ("c3", None)],  # call [rip+...], mov esi, imm32: an address, je, ret
]
ADDRESSES = {"48ba": 8, "be": 4}  # opcodes whose immediate is an address in the image, and its bytes
PLACE = 0x180  # that they mean
OTHERS = (0x1000, 0x7FF000, 0x123456)


def emitted(block: list[tuple[str, int | None]], image: int, at: int) -> bytes:
    """A block's bytes, `at` so many from the first of an image loaded at `image`."""
    code = b""
    for opcode, place in block:
        head = b"" if opcode == JE else bytes.fromhex(opcode)
        if opcode in ADDRESSES:
            code += head + (image + PLACE).to_bytes(ADDRESSES[opcode], "little")
        elif place is None:
            code += head
        elif opcode == JE:
            distance = place - (at + len(code) + 2)
            code += b"\x74" + bytes([distance & 0xFF]) if -128 <= distance < 128 else _near(distance - 4)
        else:
            tail = (7).to_bytes(4, "little") if opcode == "c705" else b""
            end = at + len(code) + len(head) + 4 + len(tail)
            code += head + (place - end).to_bytes(4, "little", signed=True) + tail
    return code


def _near(distance: int) -> bytes:
    return bytes.fromhex("0f84") + distance.to_bytes(4, "little", signed=True)


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
    behind = followed(parts, places, image)
    known = [hidden[a:b].tobytes() for a, b in zip(begin, end, strict=True)] + [b"".join(one) for one in behind]
    distinct, numbers = distinct_instructions(pa.array(known, pa.binary()))
    blocks = pa.table(
        {
            "block_id": ids,
            "address": pa.array(np.array(places, np.uint64) + np.uint64(image)),
            "relocatable": pa.array([False] * len(parts)),
            "code": pa.array(parts, pa.binary()),
        }
    )
    rows = numbered(ids, numbers[: len(ids)], numbers[len(ids) :])
    return of_tables(rows, Builder("full").build(blocks)), encoded(tabulate(distinct))


def followed(parts: list[bytes], places: list[int], image: int) -> list[list[bytes]]:
    """What follows each block in the image, whose functions are a block with its tail."""
    program, functions = bytearray(0x1000), []
    for part, tail, at in zip(parts, TAILS, places, strict=True):
        code = part + emitted(tail, image, at + len(part))
        program[at : at + len(code)] = code
        functions.append((image + at, image + at + len(code)))
    section = CodeSection(".text", image, bytes(program), np.array(functions), np.empty((0, 2), np.int64))
    whole = Image([section], "", False, (image, image + 0xFFF))
    names, addresses = np.array([".text"] * len(parts), object), np.array(places) + image
    found: list[list[bytes]] = of_blocks(whole, names, addresses, parts, Forms()).lists().to_pylist()
    return found


def said(network: OrderingNetwork, store: BlockStore, encodings: Encodings) -> list[np.ndarray]:
    """Embeddings, and orders of all decoders, of every block in one and the same shuffled order."""
    bags, found = network.vocabulary.bags(encodings), []
    for row in range(len(BLOCKS)):
        order = random_ready(store.as_emitted(np.array([row])).precedes, np.random.default_rng(row))
        problems = store.problems(np.array([row]), order)
        with torch.no_grad():
            found.append(network.embed(problems, relations(problems, encodings.compared), bags).numpy())
        found += imitated.decoded(network, problems, encodings, np.random.default_rng(5)).values()
        if isinstance(network.head, Pointer):
            found.append(network.schedule(problems, encodings, bags)[1])
    return found


def made(
    encodings: Encodings, encoder: str = "attention", head: str = "pointer", following: bool = False
) -> OrderingNetwork:
    torch.manual_seed(3)
    chosen = settings(encoder, head)
    looking = chosen.encoder.model_copy(update={"following": following})
    network = OrderingNetwork(Vocabulary(encodings.tokens), chosen.model_copy(update={"encoder": looking}))
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.3)  # of zeros nothing would be seen
    return network.eval()


def equal(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("head", ["pointer", "pairwise", "popocs", "sinkhorn"])
@pytest.mark.parametrize(("encoder", "following"), [("attention", False), ("attention", True), ("lstm", False)])
def test_addresses_change_no_bit(encoder: str, following: bool, head: str) -> None:
    store, encodings = read(0x400000, 0)
    network = made(encodings, encoder, head, following)
    expected = said(network, store, encodings)
    for image in OTHERS:
        for offset in (0, 1, 0x333):
            assert equal(said(network, *read(image, offset)), expected)


def test_what_follows_is_seen() -> None:
    """The test above says something of a network that sees it: without, it says other things."""
    store, encodings = read(0x400000, 0)
    network = made(encodings, following=True)
    nothing = replace(store, following=np.full_like(store.following, -1))
    assert not equal(said(network, nothing, encodings), said(network, store, encodings))


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


def test_what_follows_is_what_it_should_be() -> None:
    """Its addresses and the width of its jumps differ before masking."""
    store, encodings = read(0x400000, 0)
    assert (store.following >= 0).all()
    tails = [[emitted(tail, image, at) for tail in TAILS] for image, at in ((0x400000, 40), (0x1000, 0x360))]
    for near, far in zip(*tails, strict=True):
        assert len(far) == len(near) + 4
    words = [encodings.tokens[t] for row in store.following[0, 2:3] for t in _bag(encodings, row)]
    assert words == ["code:je_rel32_64", "mnemonic:je"]


def _bag(encodings: Encodings, row: int) -> np.ndarray:
    return encodings.bags[encodings.bounds[row] : encodings.bounds[row + 1]]
