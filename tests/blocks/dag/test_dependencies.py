"""Dependencies of hand-written blocks, and of random blocks compared with their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from iced_x86 import Register

from learned_schedulers.blocks.dag import conflicts, resources
from learned_schedulers.blocks.dag.dependencies import Dag, Kind, block_dag, find_conflicts, tabulate
from learned_schedulers.blocks.dag.effects import Access, decode_block, effects, explicit_displacement
from learned_schedulers.blocks.dag.settings import Dependencies
from tests.blocks.dag import naive

K = Kind
MODES: tuple[Dependencies, ...] = ("full", "conservative", "paper")


def dag(code: str, mode: Dependencies = "full", addresses_known: bool = True) -> Dag:
    return block_dag(bytes.fromhex(code), mode, 0x400000, addresses_known)


def pairs(block: Dag) -> set[tuple[int, int]]:
    return {(before, after) for before, after, _ in block.edges}


def kinds(code: str, mode: Dependencies = "full") -> Kind:
    """Kinds of dependencies between a block's first and last instruction."""
    block = dag(code, mode)
    return next((kind for i, j, kind in block.edges + block.implied if (i, j) == (0, block.n - 1)), Kind(0))


def test_kinds_of_registers() -> None:
    assert kinds("4889c8 4889c2") == K.REGISTER_RAW  # mov rax,rcx; mov rdx,rax
    assert kinds("4889c2 4889c8") == K.REGISTER_WAR  # mov rdx,rax; mov rax,rcx
    assert kinds("4889c8 4889d0") == K.REGISTER_WAW  # mov rax,rcx; mov rax,rdx
    assert kinds("4889c8 4889d3") == K(0)  # mov rax,rcx; mov rbx,rdx


def test_parts_of_a_register() -> None:
    assert kinds("b001 4889c2") == K.REGISTER_RAW  # mov al,1; mov rdx,rax
    assert kinds("b401 b002") == K(0)  # mov ah,1; mov al,2
    assert kinds("66b80100 b402") == K.REGISTER_WAW  # mov ax,1; mov ah,2
    assert kinds("b401 88c2") == K(0)  # mov ah,1; mov dl,al
    assert kinds("b801000000 88e2") == K.REGISTER_RAW  # mov eax,1; mov dl,ah


def test_parts_of_a_vector_register() -> None:
    assert kinds("c5fc28c1 0f28c2") == K.REGISTER_WAW  # vmovaps ymm0,ymm1; movaps xmm0,xmm2
    assert kinds("0f28c2 c5f877") == K(0)  # movaps xmm0,xmm2; vzeroupper
    assert kinds("c5f828c2 c5f877") == K.REGISTER_WAW  # vmovaps xmm0,xmm2 clears the upper part; vzeroupper
    assert kinds("c5fc28c1 c5f877") == K.REGISTER_WAR | K.REGISTER_WAW  # vmovaps ymm0,ymm1; vzeroupper


def test_zeroing_idiom_reads_nothing() -> None:
    assert kinds("b801000000 31c0", "paper") == K.REGISTER_WAW  # mov eax,1; xor eax,eax


def test_conditional_move_also_reads_its_destination() -> None:
    assert kinds("4889c8 480f44c2") == K.REGISTER_RAW | K.REGISTER_WAW  # mov rax,rcx; cmove rax,rdx


def test_x87_mmx_and_control_words() -> None:
    assert kinds("d907 d906") == K.REGISTER_RAW | K.REGISTER_WAR | K.REGISTER_WAW  # fld [rdi]; fld [rsi]
    assert kinds("0ffcc1 0ffcd3") == K(0)  # paddb mm0,mm1; paddb mm2,mm3
    assert kinds("0ffcc1 0f77") == K.REGISTER_WAR  # paddb mm0,mm1; emms
    assert kinds("d93c24 dec1") == K(0)  # fnstcw [rsp]; faddp
    assert kinds("d92c24 dec1") & K.REGISTER_RAW  # fldcw [rsp]; faddp
    assert kinds("0fae1424 f20f58c1") == K.REGISTER_RAW  # ldmxcsr [rsp]; addsd xmm0,xmm1
    assert kinds("0fae1c24 f20f58c1") == K.REGISTER_RAW  # stmxcsr [rsp] sees the sticky bits; addsd xmm0,xmm1
    assert kinds("f20f58c1 f20f58d3") == K(0)  # addsd xmm0,xmm1; addsd xmm2,xmm3


def test_flags() -> None:
    assert kinds("4801c8 0f94c2") == K.FLAG_RAW  # add rax,rcx; sete dl
    assert kinds("0f94c2 4801c8") == K.FLAG_WAR  # sete dl; add rax,rcx
    assert kinds("4801c8 4801d3") == K.FLAG_WAW  # add rax,rcx; add rbx,rdx: the second's are live at the end
    assert kinds("48ffc3 f9") == K(0)  # inc rbx leaves the carry; stc
    assert kinds("fc f3a4") & K.FLAG_RAW  # cld; rep movsb


def test_flags_order_in_all_modes_but_paper() -> None:
    # test eax,eax; sete dl; test ecx,ecx; sete bl
    code = "85c0 0f94c2 85c9 0f94c3"
    assert pairs(dag(code)) == pairs(dag(code, "conservative")) == {(0, 1), (1, 2), (2, 3)}
    assert pairs(dag(code, "paper")) == set()


def test_dead_flag_writes_may_change_places() -> None:
    # add rax,8; add rbx,8; add rcx,8: the last one's flags are live at the end
    assert pairs(dag("4883c008 4883c308 4883c108")) == {(0, 2), (1, 2)}


def test_dead_flag_write_stays_out_of_a_live_interval() -> None:
    # cmp eax,ecx; setb dl; add rbx,8; cmp esi,edi: the add is dead, and must follow setb
    assert (1, 2) in pairs(dag("39c8 0f92c2 4883c308 39fe"))


def test_a_conditional_writer_makes_earlier_flags_live() -> None:
    # add rax,8; add rbx,8; shl rdx,cl: a count of 0 keeps the flags of the second add
    assert pairs(dag("4883c008 4883c308 48d3e2")) == {(0, 1), (1, 2)}
    # add rax,8; add rbx,8; shl rdx,4: it certainly overwrites them
    assert pairs(dag("4883c008 4883c308 48c1e204")) == {(0, 2), (1, 2)}


def test_loads_commute_and_stores_do_not() -> None:
    assert dag("488b07 488b16").edges == []  # mov rax,[rdi]; mov rdx,[rsi]
    assert kinds("488907 488b16") == K.MEMORY_RAW  # mov [rdi],rax; mov rdx,[rsi]
    assert kinds("488b16 488907") == K.MEMORY_WAR
    assert kinds("488907 48890e") == K.MEMORY_WAW  # mov [rdi],rax; mov [rsi],rcx


@pytest.mark.parametrize(
    ("code", "text", "depend"),
    [
        ("488907 488b5708", "mov [rdi],rax; mov rdx,[rdi+8]", False),
        ("488907 488b5707", "mov [rdi],rax; mov rdx,[rdi+7]", True),
        ("488907 8a57ff", "mov [rdi],rax; mov dl,[rdi-1]", False),
        ("488907 c5fc1057e0", "mov [rdi],rax; vmovups ymm2,[rdi-32]", False),
        ("488907 c5fc1057e8", "mov [rdi],rax; vmovups ymm2,[rdi-24]", True),
        ("488907 488b17", "mov [rdi],rax; mov rdx,[rdi]", True),
        ("488907 488b5608", "mov [rdi],rax; mov rdx,[rsi+8]", True),
        ("48890437 488b543708", "mov [rdi+rsi],rax; mov rdx,[rdi+rsi+8]", False),
        ("48890437 488b547708", "mov [rdi+rsi],rax; mov rdx,[rdi+rsi*2+8]", True),
        ("48890437 488b5708", "mov [rdi+rsi],rax; mov rdx,[rdi+8]", True),
        ("488904f508000000 488b14f510000000", "mov [rsi*8+8],rax; mov rdx,[rsi*8+16]", False),
        ("488907 4883c708 488b5708", "mov [rdi],rax; add rdi,8; mov rdx,[rdi+8]", True),
        ("488907 4088f7 488b5708", "mov [rdi],rax; mov dil,sil; mov rdx,[rdi+8]", True),
        ("488907 4889f0 488b5708", "mov [rdi],rax; mov rax,rsi; mov rdx,[rdi+8]", False),
        ("488b3f 488977f8", "mov rdi,[rdi]; mov [rdi-8],rsi: another rdi", True),
        ("48893f 488b7f08", "mov [rdi],rdi; mov rdi,[rdi+8]: the same rdi", False),
        ("50 488b542408", "push rax; mov rdx,[rsp+8]: another rsp", True),
        ("48890424 488b542408", "mov [rsp],rax; mov rdx,[rsp+8]", False),
        ("48890500010000 488b15000a0000", "mov [rip+256],rax; mov rdx,[rip+2560]", False),
        ("48890500010000 488b15f9000000", "two rip-relative ones with one target", True),
        ("48890500010000 488b15f1000000", "mov rdx 8 bytes below that target", False),
        ("48890500010000 488b142500014000", "mov [rip+256],rax; mov rdx,[0x400100]: 7 bytes below", True),
        ("48890500010000 488b142508014000", "mov rdx,[0x400108]", True),
        ("48890500010000 488b14250f014000", "mov rdx,[0x40010f]", False),
        ("48890500010000 488b5708", "mov [rip+256],rax; mov rdx,[rdi+8]: a pointer to a global", True),
        ("6448890425280000 00 64488b142530000000", "mov fs:[40],rax; mov rdx,fs:[48]", False),
        ("644889042528000000 65488b142530000000", "mov fs:[40],rax; mov rdx,gs:[48]", True),
        ("64488907 488b5708", "mov fs:[rdi],rax; mov rdx,[rdi+8]", True),
        ("488907 67488b5708", "mov [rdi],rax; mov rdx,[edi+8]", True),
        ("488907 488b5708 f0ff4610", "...; lock inc dword [rsi+16]", True),
        ("488907 488b5710 87470c", "xchg [rdi+12],eax is locked", True),
        ("488907 480fa34f08", "mov [rdi],rax; bt [rdi+8],rcx reaches anywhere", True),
        ("488907 480fba670805", "mov [rdi],rax; bt qword [rdi+8],5", False),
        ("c6470801 f3aa", "mov byte [rdi+8],1; rep stosb", True),
    ],
)
def test_disambiguation(code: str, text: str, depend: bool) -> None:
    memory = K.MEMORY_RAW | K.MEMORY_WAR | K.MEMORY_WAW
    assert bool(kinds(code) & memory) == depend
    assert kinds(code, "conservative") & memory
    assert kinds(code, "paper") & memory


def test_nothing_is_disambiguated_if_addresses_are_unknown() -> None:
    code = "488907 488b5708"  # mov [rdi],rax; mov rdx,[rdi+8]
    assert dag(code, addresses_known=False).edges == [(0, 1, K.MEMORY_RAW)]


def test_addresses_are_compared_by_value_not_by_displacement() -> None:
    # The same displacement, two targets; disjoint only if the block's address takes part.
    assert dag("48890500010000 488b1500010000").edges == [(0, 1, K.MEMORY_RAW)]  # 7 bytes apart
    assert dag("48890500010000 9090909090 488b1500010000").edges == []  # 12 bytes apart


def test_push_and_pop_change_the_stack_pointer() -> None:
    assert pairs(dag("53 55 5d")) == {(0, 1), (1, 2)}  # push rbx; push rbp; pop rbp


def test_nothing_moves_across_barriers() -> None:
    # mov rax,rcx; lfence; mov rbx,rdx
    assert dag("4889c8 0faee8 4889d3").edges == [(0, 1, K.REGISTER_WAR), (1, 2, K.REGISTER_RAW)]
    assert kinds("0faee8 0faef0") == K.REGISTER_RAW | K.REGISTER_WAR | K.REGISTER_WAW  # lfence; mfence
    assert pairs(dag("90 0fa2")) == {(0, 1)}  # nop; cpuid


def test_blocks_that_are_too_long_are_refused() -> None:
    assert block_dag(b"\x90" * 64, "full").n == 64
    with pytest.raises(ValueError, match="65 instructions"):
        block_dag(b"\x90" * 65, "full")


def test_the_compiled_code_has_the_same_numbers() -> None:
    assert resources.words(resources.FLAGS) == (0, 0, int(conflicts.FLAGS))
    assert (resources.N_GENERAL, resources.GENERAL_LANES) == (conflicts.N_GENERAL, conflicts.GENERAL_LANES)
    assert (Register.NONE, Register.RAX, Register.RIP) == (conflicts.NONE, conflicts.FIRST_GENERAL, conflicts.RIP)
    values_of_kinds = {
        f"{resource}_{direction}": getattr(conflicts, resource) * getattr(conflicts, direction)
        for resource in ("REGISTER", "FLAG", "MEMORY")
        for direction in ("RAW", "WAR", "WAW")
    }
    assert values_of_kinds == {kind.name: kind.value for kind in Kind}
    assert list(Access._fields[:7]) == [
        *("base_register", "index_register", "segment", "scale", "displacement", "explicit", "size")
    ]
    columns = (conflicts.BASE, conflicts.INDEX, conflicts.SEGMENT, conflicts.SCALE, conflicts.DISPLACEMENT)
    assert (*columns, conflicts.EXPLICIT, conflicts.SIZE, conflicts.DIRECTION) == tuple(range(8))


def test_no_instructions() -> None:
    assert block_dag(b"", "full") == Dag(0, [], [])


POOL = [
    *("4889c8", "4889c2", "b001", "b401", "88e0", "66b80100", "31c0", "480f44c1", "0f94c0", "0f92c2"),
    *("4801c8", "4883c008", "48ffc3", "4811ca", "39c8", "85c9", "48d3e2", "48c1e204", "f9", "0fbcc1", "9c", "9f"),
    *("488907", "488b5708", "8a57ff", "48890e", "48890424", "488b542408", "50", "58", "5f", "c9", "8f442408"),
    *(
        "48890437",
        "488b543708",
        "488b547708",
        "48893d00010000",
        "c4e2e991042f",
        "62f27d0192042f",
        "67890f",
        "d7",
        "488b15f1000000",
        "488b14250f014000",
    ),
    *("644889042528000000", "64488b142530000000", "f0ff4610", "87470c", "480fa34f08", "aa", "f3aa", "a6", "fc"),
    *("0f28c1", "f20f58c1", "f20f58d3", "c5f828c2", "c5fc28c1", "c5fc1147e0", "c5f877", "0fae1424", "0fae1c24"),
    *("d907", "dec1", "d93c24", "d92c24", "0ffcc1", "0f77", "dbf1", "0faee8", "0fa2", "90", "4088f7", "488b3f"),
]
blocks = st.lists(st.sampled_from(POOL).map(bytes.fromhex), min_size=1, max_size=10).map(b"".join)


@given(st.lists(blocks, max_size=4), st.sampled_from(MODES), st.booleans())
@example([b"\x90" * 64], "full", True)
def test_conflicts_equal_their_definition(codes: list[bytes], mode: Dependencies, addresses_known: bool) -> None:
    """Many blocks in one batch share the rows of one table."""
    decoded = [decode_block(code, 0x400000) for code in codes]
    distinct = sorted({effects(i) for block in decoded for i in block}, key=repr)
    displacements = [[explicit_displacement(i) for i in block] for block in decoded]
    batch = find_conflicts(
        tabulate(distinct),
        np.array([distinct.index(effects(i)) for block in decoded for i in block], np.int32),
        np.array([value for block in displacements for value in block], np.int64),
        np.cumsum([0] + [len(block) for block in decoded]),
        np.full(len(codes), addresses_known),
        mode,
    )
    assert len(batch.offsets) == len(codes) + 1
    for number, block in enumerate(decoded):
        edges = slice(batch.offsets[number], batch.offsets[number + 1])
        before, after = batch.before[edges].tolist(), batch.after[edges].tolist()
        relation = list(zip(before, after, strict=True))
        expected = naive.conflicts([effects(i) for i in block], displacements[number], mode, addresses_known)
        assert dict(zip(relation, batch.kinds[edges].tolist(), strict=True)) == expected
        assert relation == sorted(relation)
        assert all(i < j for i, j in relation)  # the original order is legal
        reduction = {pair for pair, is_edge in zip(relation, batch.reduced[edges], strict=True) if is_edge}
        assert naive.closure(reduction) == naive.closure(set(relation))
        if len(block) <= 10:
            assert all(edge not in naive.closure(reduction - {edge}) for edge in reduction)  # nothing superfluous


@given(blocks, st.integers(0, 2**32))
@example(bytes.fromhex("4883c008 4883c308 48d3e2 9f 48ffc3 4883c108"), 0)
def test_every_legal_order_leads_to_the_same_state(code: bytes, seed: int) -> None:
    """This includes flags: no instruction reads the dead flags that exchange places."""
    block_graph = block_dag(code, "conservative")
    block = [effects(i) for i in decode_block(code)]
    rng = np.random.default_rng(seed)
    predecessors, order = block_graph.predecessors(), []
    while len(order) < block_graph.n:
        placed = sum(1 << i for i in order)
        ready = [i for i in range(block_graph.n) if i not in order and not predecessors[i] & ~placed]
        order.append(int(rng.choice(ready)))
    assert naive.final_state(block, order) == naive.final_state(block, list(range(block_graph.n)))


@given(blocks)
def test_modes_only_add_dependencies(code: bytes) -> None:
    full, conservative, paper = (block_dag(code, mode, 0x400000) for mode in MODES)

    def partial_order(block: Dag) -> set[tuple[int, int]]:
        return naive.closure(pairs(block))

    assert partial_order(full) <= partial_order(conservative) >= partial_order(paper)


@given(blocks)
def test_a_dag_lists_every_conflict_once(code: bytes) -> None:
    block = block_dag(code, "full")
    listed = [(i, j) for i, j, _ in block.edges + block.implied]
    assert len(set(listed)) == len(listed)
    assert [sum(after == j for _, after, _ in block.edges) for j in range(block.n)] == [
        bits.bit_count() for bits in block.predecessors()
    ]
