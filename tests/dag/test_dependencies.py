"""Dependencies of hand-written blocks, and invariants of DAGs from random effects."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.dag.dependencies import Dag, Kind, dependency_dag
from pipeline.dag.effects import FLAGS, MEMORY, Effects, block_effects


def dag(code: str, mode: str = "full") -> Dag:
    return dependency_dag(block_effects(bytes.fromhex(code)), mode)  # type: ignore[arg-type]


def pairs(found: Dag) -> set[tuple[int, int]]:
    return {(before, after) for before, after, _ in found.edges}


def test_read_after_write() -> None:
    assert dag("48 89 c8 48 89 c2").edges == [(0, 1, Kind.RAW)]  # mov rax,rcx; mov rdx,rax


def test_write_after_read_and_write_after_write() -> None:
    assert dag("48 89 c2 48 89 c8").edges == [(0, 1, Kind.WAR)]  # mov rdx,rax; mov rax,rcx
    assert dag("48 89 c8 48 89 d0").edges == [(0, 1, Kind.WAW)]  # mov rax,rcx; mov rax,rdx


def test_sub_registers_alias() -> None:
    assert dag("b0 01 48 89 c2").edges == [(0, 1, Kind.RAW)]  # mov al,1; mov rdx,rax
    assert pairs(dag("b4 01 b0 02")) == {(0, 1)}  # mov ah,1; mov al,2: full-register granularity, conservative


def test_zeroing_idiom_reads_nothing() -> None:
    assert dag("b8 01 00 00 00 31 c0", "paper").edges == [(0, 1, Kind.WAW)]  # mov eax,1; xor eax,eax


def test_loads_commute_and_stores_do_not() -> None:
    assert dag("48 8b 07 48 8b 16").edges == []  # mov rax,[rdi]; mov rdx,[rsi]
    assert dag("48 89 07 48 8b 16").edges == [(0, 1, Kind.RAW)]  # mov [rdi],rax; mov rdx,[rsi]
    assert dag("48 89 07 48 89 0e").edges == [(0, 1, Kind.WAW)]  # mov [rdi],rax; mov [rsi],rcx


def test_lea_touches_no_memory() -> None:
    assert dag("48 89 07 48 8d 16").edges == []  # mov [rdi],rax; lea rdx,[rsi]


def test_push_and_pop_move_the_stack() -> None:
    assert pairs(dag("53 55 5d")) == {(0, 1), (1, 2)}  # push rbx; push rbp; pop rbp


def test_flags_order_only_in_mode_full() -> None:
    # test eax,eax; sete dl; test ecx,ecx; sete bl
    code = "85 c0 0f 94 c2 85 c9 0f 94 c3"
    assert pairs(dag(code)) == {(0, 1), (1, 2), (2, 3)}
    assert pairs(dag(code, "paper")) == set()


def test_dead_flag_writes_may_change_places() -> None:
    # add rax,8; add rbx,8; add rcx,8: the last one's flags are live at the end
    assert pairs(dag("48 83 c0 08 48 83 c3 08 48 83 c1 08")) == {(0, 2), (1, 2)}


def test_dead_flag_write_stays_out_of_a_live_interval() -> None:
    # cmp eax,ecx; setb dl; add rbx,8; cmp esi,edi: the add is dead, and must follow setb
    assert (1, 2) in pairs(dag("39 c8 0f 92 c2 48 83 c3 08 39 fe"))


def test_shift_by_cl_may_leave_the_flags() -> None:
    # add rax,8; shl rdx,cl: a count of 0 keeps the add's flags, which therefore are not dead
    reads = block_effects(bytes.fromhex("48 83 c0 08 48 d3 e2"))[1].reads
    assert reads & FLAGS


def test_x87_instructions_stay_in_order() -> None:
    assert pairs(dag("d9 07 d9 06")) == {(0, 1)}  # fld [rdi]; fld [rsi]


def test_barrier() -> None:
    assert pairs(dag("48 89 c8 0f a2 45 31 c0")) == {(0, 1), (1, 2)}  # mov rax,rcx; cpuid; xor r8d,r8d


def test_bytes_that_are_no_instructions() -> None:
    with pytest.raises(ValueError, match="no valid instruction at byte 3"):
        block_effects(bytes.fromhex("48 89 c8 06"))


resources = st.integers(0, 31).map(lambda bits: (bits & 3) | (MEMORY if bits & 4 else 0) | (bits & 24) << 20)
blocks = st.lists(st.builds(Effects, resources, resources, st.just(1)), min_size=1, max_size=8)


@given(blocks)
def test_reduction_has_the_closure_of_all_conflicts(effects: list[Effects]) -> None:
    def closure(edges: set[tuple[int, int]]) -> set[tuple[int, int]]:
        found = set(edges)
        while True:
            more = {(a, d) for a, b in found for c, d in found if b == c} - found
            if not more:
                return found
            found |= more

    n = len(effects)
    without_flags = [Effects(e.reads & ~FLAGS, e.writes & ~FLAGS, 1) for e in effects]
    conflicts = {
        (i, j)
        for j in range(n)
        for i in range(j)
        if (a := without_flags[i]) and (b := without_flags[j])
        if a.writes & b.reads or a.reads & b.writes or a.writes & b.writes
    }
    edges = pairs(dependency_dag(effects, "paper"))
    assert closure(edges) == closure(conflicts)
    assert all(edge not in closure(edges - {edge}) for edge in edges)  # nothing superfluous


@given(blocks)
def test_flags_only_add_dependencies(effects: list[Effects]) -> None:
    def ancestors(found: Dag) -> list[int]:
        reach = [0] * found.n
        for before, after, _ in sorted(found.edges, key=lambda edge: edge[1]):
            reach[after] |= reach[before] | 1 << before
        return reach

    paper, full = (ancestors(dependency_dag(effects, mode)) for mode in ("paper", "full"))
    assert all(a & ~b == 0 for a, b in zip(paper, full, strict=True))
