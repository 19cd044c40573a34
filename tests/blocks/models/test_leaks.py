"""The address of a program, and the place of a block in it, change no bit of an imitator's output."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from iced_x86 import Instruction

from learned_schedulers.blocks.dag.bulk import Builder
from learned_schedulers.blocks.dag.sampling import random_ready
from learned_schedulers.blocks.models.inputs import Vocabulary
from learned_schedulers.blocks.models.ordering_network import OrderingNetwork
from learned_schedulers.blocks.problems import instructions
from learned_schedulers.blocks.problems.instructions import Encodings, encoded, tabulate
from learned_schedulers.blocks.problems.relations import relations
from learned_schedulers.blocks.problems.store import BlockStore, of_tables
from learned_schedulers.blocks.read.distinct import distinct_instructions
from learned_schedulers.blocks.read.elf import CodeSection, Image
from learned_schedulers.blocks.read.forms import Forms
from learned_schedulers.blocks.read.leaks import masked
from pipeline.corpus.following import of_blocks
from pipeline.lab.stored_blocks import numbered
from tests.blocks.models import imitated
from tests.blocks.models.imitated import settings

# The number beside an opcode is the place that its displacement from rip means, in bytes from the start of the image.
JE = "je"  # short if its target is near enough
BLOCKS: list[list[tuple[str, int | None]]] = [
    [
        ("488b05", 0x200),  # mov rax, [rip+...]
        ("488b0d", 0x208),  # mov rcx, [rip+...]
        ("488905", 0x200),  # mov [rip+...], rax: the addresses say that it depends on the first alone
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
TAILS: list[list[tuple[str, int | None]]] = [  # the instructions that follow them
    [("e8", 0x900), ("488b1d", 0x230), (JE, 0x70), ("e9", 0x910)],  # call, mov rbx, [rip+...], je, jmp
    [("ff15", 0x240), ("be", None), (JE, 0xB0), ("c3", None)],  # call [rip+...], mov esi, imm32: an address, je, ret
]
ADDRESSES = {"48ba": 8, "be": 4}  # opcodes whose immediate is an address in the image, and its bytes
PLACE = 0x180  # the place of these addresses in the image
IMAGES = (0x1000, 0x7FF000, 0x123456)


def emitted(block: list[tuple[str, int | None]], image: int, offset: int) -> bytes:
    """The bytes of a block at `offset` from the start of an image, which is loaded at `image`."""
    code = b""
    for opcode, place in block:
        head = b"" if opcode == JE else bytes.fromhex(opcode)
        if opcode in ADDRESSES:
            code += head + (image + PLACE).to_bytes(ADDRESSES[opcode], "little")
        elif place is None:
            code += head
        elif opcode == JE:
            distance = place - (offset + len(code) + 2)
            code += b"\x74" + bytes([distance & 0xFF]) if -128 <= distance < 128 else _near(distance - 4)
        else:
            tail = (7).to_bytes(4, "little") if opcode == "c705" else b""
            end = offset + len(code) + len(head) + 4 + len(tail)
            code += head + (place - end).to_bytes(4, "little", signed=True) + tail
    return code


def _near(distance: int) -> bytes:
    return bytes.fromhex("0f84") + distance.to_bytes(4, "little", signed=True)


def read(image: int, offset: int, hide: bool = True) -> tuple[BlockStore, Encodings]:
    """The blocks as the pipeline reads them from an image of 4 KiB."""
    places = [offset + 97 * number for number in range(len(BLOCKS))]
    parts = [emitted(block, image, place) for block, place in zip(BLOCKS, places, strict=True)]
    code = np.frombuffer(b"".join(parts), np.uint8)
    end = np.cumsum([len(part) for part in parts])
    begin, forms = end - [len(part) for part in parts], Forms()
    decoded = forms.decode(code, begin, end)
    hidden = masked(code, begin, decoded, forms.facts, (image, image + 0xFFF)) if hide else code
    ids = pa.array([f"{number:032x}" for number in range(len(parts))])
    behind = followed(parts, places, image)
    codes = [hidden[a:b].tobytes() for a, b in zip(begin, end, strict=True)] + [b"".join(tail) for tail in behind]
    distinct, numbers = distinct_instructions(pa.array(codes, pa.binary()))
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
    """The instructions after each block in the image; each function is a block with its tail."""
    program, functions = bytearray(0x1000), []
    for part, tail, place in zip(parts, TAILS, places, strict=True):
        code = part + emitted(tail, image, place + len(part))
        program[place : place + len(code)] = code
        functions.append((image + place, image + place + len(code)))
    section = CodeSection(".text", image, bytes(program), np.array(functions), np.empty((0, 2), np.int64))
    whole = Image([section], "", False, (image, image + 0xFFF))
    names, addresses = np.array([".text"] * len(parts), object), np.array(places) + image
    instructions_after: list[list[bytes]] = of_blocks(whole, names, addresses, parts, Forms()).lists().to_pylist()
    return instructions_after


def outputs(network: OrderingNetwork, store: BlockStore, encodings: Encodings) -> list[np.ndarray]:
    """Embeddings, orders from all decoders and probabilities of every block, for a fixed shuffled order."""
    bags, results = network.vocabulary.bags(encodings), []
    for row in range(len(BLOCKS)):
        order = random_ready(store.as_emitted(np.array([row])).precedes, np.random.default_rng(row))
        problems = store.problems(np.array([row]), order)
        with torch.no_grad():
            results.append(network.embed(problems, relations(problems, encodings.compared), bags).numpy())
        results += imitated.decoded(network, problems, encodings, np.random.default_rng(5)).values()
        results.append(network.schedule(problems, encodings, bags)[1])
    return results


def random_network(encodings: Encodings, following: bool = False) -> OrderingNetwork:
    torch.manual_seed(3)
    base = settings()
    encoder_settings = base.encoder.model_copy(update={"following": following})
    network = OrderingNetwork(Vocabulary(encodings.tokens), base.model_copy(update={"encoder": encoder_settings}))
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.3)  # parameters of zero would hide differences
    return network.eval()


def equal(first: list[np.ndarray], second: list[np.ndarray]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("following", [False, True])
def test_addresses_change_no_bit(following: bool) -> None:
    store, encodings = read(0x400000, 0)
    network = random_network(encodings, following)
    expected = outputs(network, store, encodings)
    for image in IMAGES:
        for offset in (0, 1, 0x333):
            assert equal(outputs(network, *read(image, offset)), expected)


def test_what_follows_changes_the_output() -> None:
    """Without the instructions that follow, the output differs, so the test above covers them."""
    store, encodings = read(0x400000, 0)
    network = random_network(encodings, following=True)
    nothing = replace(store, following=np.full_like(store.following, -1))
    assert not equal(outputs(network, nothing, encodings), outputs(network, store, encodings))


def _with_leak(value: Callable[[Instruction], int]) -> Callable[[Instruction], instructions.Described]:
    """`describe` with a leak: a further token."""
    describe = instructions.describe

    def leaky(instruction: Instruction) -> instructions.Described:
        description = describe(instruction)
        return replace(description, tokens=[*description.tokens, f"leak:{value(instruction)}"])

    return leaky


LEAKS: dict[str, Callable[[Instruction], Any]] = {
    "displacement": lambda i: i.memory_displacement if i.is_ip_rel_memory_operand else 0,
    "constant": lambda i: i.immediate(1) if i.op_count > 1 and i.op_kind(1) in instructions.IMMEDIATES else 0,
}


@pytest.mark.parametrize("leak", LEAKS)
def test_a_leak_would_be_detected(monkeypatch: pytest.MonkeyPatch, leak: str) -> None:
    """The test above would fail if a token revealed an address and code were not masked; the mask alone prevents it."""
    monkeypatch.setattr(instructions, "describe", _with_leak(LEAKS[leak]))
    store, encodings = read(0x400000, 0)
    network = random_network(encodings)
    assert equal(outputs(network, *read(0x7FF000, 0x333)), outputs(network, store, encodings))
    store, encodings = read(0x400000, 0, hide=False)
    network = random_network(encodings)
    assert not equal(outputs(network, *read(0x7FF000, 0x333, hide=False)), outputs(network, store, encodings))


def test_constants_that_are_addresses_leak_unless_masked() -> None:
    """Immediates are tokens, so no further token is necessary."""
    store, encodings = read(0x400000, 0, hide=False)
    network = random_network(encodings)
    assert not equal(outputs(network, *read(0x7FF000, 0, hide=False)), outputs(network, store, encodings))
    assert equal(outputs(network, *read(0x400000, 0x333, hide=False)), outputs(network, store, encodings))
