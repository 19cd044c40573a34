"""Artificial blocks of several lengths from real x86 instructions, for tests of imitators."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import torch

from learned_schedulers.blocks.dag.bulk import Builder
from learned_schedulers.blocks.dag.sampling import random_ready
from learned_schedulers.blocks.models.decoders import DECODERS
from learned_schedulers.blocks.models.ordering_network import OrderingNetwork
from learned_schedulers.blocks.models.ordering_settings import Encoder, Head, Ordering
from learned_schedulers.blocks.problems.instructions import Encodings, encoded, tabulate
from learned_schedulers.blocks.problems.problems import Problems
from learned_schedulers.blocks.problems.relations import relations
from learned_schedulers.blocks.problems.sample import Sample
from learned_schedulers.blocks.problems.store import BlockStore, of_tables
from learned_schedulers.blocks.read.distinct import distinct_instructions
from pipeline.lab.stored_blocks import numbered

# In the order that the imagined compiler prefers; some of them conflict.
INSTRUCTIONS = [
    bytes.fromhex(code)
    for code in (
        "4889e5",  # mov rbp, rsp
        "31c0",  # xor eax, eax
        "4801d8",  # add rax, rbx
        "488b4f08",  # mov rcx, [rdi+8]
        "488b5710",  # mov rdx, [rdi+16]
        "48894e08",  # mov [rsi+8], rcx
        "48895610",  # mov [rsi+16], rdx
        "480fafca",  # imul rcx, rdx
        "83c205",  # add edx, 5
        "83c307",  # add ebx, 7
        "f30f58c1",  # addss xmm0, xmm1
        "488b0500000000",  # mov rax, [rip]
    )
]
FOLLOWING = [
    bytes.fromhex(code)
    for code in (
        "e800000000",  # call
        "0f8400000000",  # je
        "c3",  # ret
        "85c0",  # test eax, eax
        "4889c7",  # mov rdi, rax
        "31c0",  # xor eax, eax: also an instruction of blocks
    )
]


def settings(**changed: object) -> Ordering:
    """A small imitator."""
    ordering = Ordering(
        encoder=Encoder(kind="attention", width=16, layers=2, heads=2, expansion=2, relations=True),
        head=Head(kind="pointer", hidden=16, beam=4, iterations=10),
        training="training",
        min_count=1,
        batch_instructions=256,
        steps=40,
        learning_rate=5e-3,
        warmup=5,
        weight_decay=0.01,
        patience=100,
        precision="float32",
        threads=1,
    )
    return ordering.model_copy(update=changed)


def corpus(
    size: int, shortest: int = 2, longest: int = 9, seed: int = 0, preferred: bool = True, behind: bool = False
) -> tuple[BlockStore, Encodings, Sample]:
    """Blocks of `shortest` to `longest` instructions in the order of INSTRUCTIONS, shown in random legal orders.

    Without `preferred`, the blocks have random orders, which nothing can learn. With `behind`, up to four
    instructions of FOLLOWING follow each block.
    """
    rng = np.random.default_rng(seed)
    chosen = [np.sort(rng.integers(len(INSTRUCTIONS), size=rng.integers(shortest, longest + 1))) for _ in range(size)]
    if not preferred:
        chosen = [rng.permutation(block) for block in chosen]
    draw = np.random.default_rng([seed, 1])
    tails = [draw.integers(len(FOLLOWING), size=draw.integers(5)) for _ in range(size)] if behind else None
    store, encodings = _store_of(chosen, tails)
    orders = [random_ready(store.as_emitted(np.array([row])).precedes, rng)[0] for row in range(size)]
    return store, encodings, Sample(store.block_ids, np.arange(size), orders)


def decided_by_following() -> tuple[BlockStore, Encodings, Sample]:
    """Blocks of two independent instructions, in one order before a return and in the reverse order before a call."""
    free = [1, 4, 9, 10]  # of INSTRUCTIONS: no two conflict
    pairs = [(a, b) for a in free for b in free if a < b]
    tails = [np.array([2]), np.array([0])]
    store, encodings = _store_of([np.array(p) for p in pairs] + [np.array(p[::-1]) for p in pairs], tails, len(pairs))
    return store, encodings, Sample(store.block_ids, np.arange(len(store.lengths)), [np.arange(2)] * 2 * len(pairs))


def _store_of(chosen: list[np.ndarray], tails: list[np.ndarray] | None, times: int = 1) -> tuple[BlockStore, Encodings]:
    """The store and the encodings of the blocks from `block_tables`."""
    rows, dags, distinct = block_tables(chosen, tails, times)
    return of_tables(rows, dags), encoded(tabulate(distinct))


def block_tables(
    chosen: list[np.ndarray], tails: list[np.ndarray] | None = None, times: int = 1
) -> tuple[pa.Table, pa.Table, list[bytes]]:
    """Tables `instructions` and `dags` of blocks of INSTRUCTIONS, and their distinct instructions, sorted.

    Instructions of FOLLOWING follow the blocks: `times` blocks in a row have the same tail.
    """
    size = len(chosen)
    code = pa.array([b"".join(INSTRUCTIONS[k] for k in block) for block in chosen], pa.binary())
    tail = [b"".join(FOLLOWING[k] for k in numbers_of_tail) for numbers_of_tail in tails or [] for _ in range(times)]
    ids = pa.array([f"{number:032x}" for number in range(size)])
    blocks = pa.table(
        {
            "block_id": ids,
            "address": pa.array(np.zeros(size, np.uint64)),
            "relocatable": pa.array(np.zeros(size, bool)),
            "code": code,
        }
    )
    distinct, numbers = distinct_instructions(pa.concat_arrays([code, pa.array(tail, pa.binary())]))
    rows = numbered(ids, numbers[:size], None if tails is None else numbers[size:])
    return rows, Builder("full").build(blocks), distinct


def decoded(
    network: OrderingNetwork, problems: Problems, encodings: Encodings, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Orders of blocks of one length from all decoders of a network: name -> (B, n)."""
    related = relations(problems, encodings.compared)
    with torch.no_grad():
        output = network.head.output(network.embed(problems, related, network.vocabulary.bags(encodings)))
    orders = {network.head.decoder: network.head.decode(output, problems, related)}
    return orders | {name: decode(network.head, output, problems, related, rng) for name, decode in DECODERS.items()}
