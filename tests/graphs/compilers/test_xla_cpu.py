"""XLA's rule on HLO texts whose fusions were worked out by hand."""

from __future__ import annotations

import pytest

from learned_schedulers.graphs.compilers.xla_decisions import Answer
from tests.graphs.compilers.hlo_texts import FUSED, SEPARATE, decided, refused


def test_a_chain_is_one_kernel() -> None:
    answer = decided(
        "p = f32[8] parameter(0)",
        "e = f32[8] exponential(p)",
        "a = f32[8] add(e, p)",
        "ROOT t = f32[8] tanh(a)",
    )
    assert answer == {"p e": SEPARATE, "e a": FUSED, "p a": SEPARATE, "a t": FUSED}


@pytest.mark.parametrize(("opcode", "answer"), [("negate", FUSED), ("exponential", SEPARATE)])
def test_what_is_cheap_is_copied_into_its_readers(opcode: str, answer: Answer) -> None:
    lines = ("p = f32[8] parameter(0)", f"x = f32[8] {opcode}(p)", "a = f32[8] add(x, p)", "b = f32[8] multiply(x, x)")
    pairs = decided(*lines, "ROOT t = (f32[8], f32[8]) tuple(a, b)")
    assert [pairs["x a"], pairs["x b"], pairs["a t"]] == [answer, answer, SEPARATE]


@pytest.mark.parametrize(
    ("division", "answer"), [("divide(c, x)", FUSED), ("divide(x, c)", SEPARATE), ("divide(x, x)", SEPARATE)]
)
def test_a_division_of_a_constant_is_cheap(division: str, answer: Answer) -> None:
    """The rule as published, although it is meant for divisions by a constant."""
    pairs = decided(
        "x = s32[8] parameter(0)",
        "k = s32[] constant(7)",
        "c = s32[8] broadcast(k), dimensions={}",
        f"d = s32[8] {division}",
        "a = s32[8] negate(d)",
        "b = s32[8] abs(d)",
        "ROOT t = (s32[8], s32[8]) tuple(a, b)",
    )
    assert [pairs["d a"], pairs["d b"]] == [answer, answer]


def test_a_reduction_is_not_repeated_for_every_element() -> None:
    """A broadcast reads it for each element of a row, a negation only once."""
    pairs = decided(
        "p = f32[8,8] parameter(0)",
        "z = f32[] constant(0)",
        "r = f32[8] reduce(p, z), dimensions={1}, to_apply=sum",
        "b = f32[8,8] broadcast(r), dimensions={0}",
        "d = f32[8,8] divide(p, b)",
        "q = f32[8] reduce(d, z), dimensions={1}, to_apply=sum",
        "ROOT n = f32[8] negate(q)",
    )
    assert [pairs["r b"], pairs["b d"], pairs["d q"], pairs["q n"]] == [SEPARATE, FUSED, FUSED, FUSED]
    assert [pairs["z r"], pairs["z q"]] == [SEPARATE, FUSED]  # r is alone


def test_constants_are_fused_into_fusions_and_only_one_element() -> None:
    lines = ("p = f32[8] parameter(0)", "k = f32[] constant(2)", "c = f32[8] constant({1, 2, 3, 4, 5, 6, 7, 8})")
    alone = (*lines, "b = f32[8] broadcast(k), dimensions={}", "ROOT t = (f32[8], f32[8]) tuple(b, c)")
    assert decided(*alone)["k b"] == SEPARATE and refused(*alone)["k b"] == "a constant alone"
    within = (
        *lines,
        "b = f32[8] broadcast(k), dimensions={}",
        "m = f32[8] multiply(p, b)",
        "ROOT a = f32[8] add(m, c)",
    )
    assert decided(*within)["k b"] == FUSED and decided(*within)["c a"] == SEPARATE


def test_the_result_is_written_though_it_is_read() -> None:
    pairs = decided("p = f32[8] parameter(0)", "ROOT n = f32[8] negate(p)", "a = f32[8] abs(n)")
    assert pairs["n a"] == SEPARATE


def test_an_addition_takes_in_a_product_with_a_vector_or_its_other_operand() -> None:
    """The operand that comes last. Only an addition can fuse a product, and then it fuses nothing more."""
    m, v = "m = f32[8,8] parameter(0)", "v = f32[8] parameter(1)"
    product = "d = f32[8] dot(m, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    negation, end = "n = f32[8] negate(v)", ("a = f32[8] add(d, n)", "ROOT t = f32[8] abs(a)")
    last = (m, v, negation, product, *end)
    assert [decided(*last)[pair] for pair in ("d a", "n a", "a t")] == [FUSED, SEPARATE, SEPARATE]
    assert refused(*last)["n a"] == "the reader takes in nothing more"
    first = (m, v, product, negation, *end)
    assert [decided(*first)[pair] for pair in ("d a", "n a")] == [SEPARATE, FUSED]
    assert refused(*first)["d a"] == "no loop"


@pytest.mark.parametrize(("length", "answer"), [(4095, FUSED), (4096, SEPARATE)])
def test_a_product_with_a_small_vector_computes_its_matrix(length: int, answer: Answer) -> None:
    pairs = decided(
        f"m = f32[8,{length}] parameter(0)",
        f"v = f32[{length}] parameter(1)",
        f"n = f32[8,{length}] negate(m)",
        "ROOT d = f32[8] dot(n, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    )
    assert pairs["n d"] == answer  # 16 KB are no longer small


def test_a_product_of_matrices_computes_neither() -> None:
    lines = ("m = f32[8,8] parameter(0)", "n = f32[8,8] negate(m)")
    pairs = decided(*lines, "ROOT d = f32[8,8] dot(n, m), lhs_contracting_dims={1}, rhs_contracting_dims={0}")
    assert pairs["n d"] == SEPARATE


@pytest.mark.parametrize(
    ("count", "sizes", "along", "answer"),
    [(8, (4, 4), 0, FUSED), (9, (4, 4), 0, SEPARATE), (2, (4, 63), 1, FUSED), (2, (4, 64), 1, SEPARATE)],
)
def test_long_concatenations_stay_alone(count: int, sizes: tuple[int, int], along: int, answer: Answer) -> None:
    """More than 8 operands, or 128 elements along the minor dimension."""
    rows, columns = sizes
    whole = (rows * count, columns) if along == 0 else (rows, columns * count)
    shape = f"f32[{whole[0]},{whole[1]}]"
    pairs = decided(
        f"p = f32[{rows},{columns}] parameter(0)",
        *(f"x{k} = f32[{rows},{columns}] negate(p)" for k in range(count)),
        f"c = {shape} concatenate({', '.join(f'x{k}' for k in range(count))}), dimensions={{{along}}}",
        f"ROOT n = {shape} negate(c)",
    )
    assert [pairs["x0 c"], pairs["c n"]] == [answer, answer]


@pytest.mark.parametrize(
    ("producer", "answer"),
    [
        ("add(p, q)", SEPARATE),
        ("negate(p)", FUSED),
        ("add(p, b)", FUSED),  # a constant is not read
        ("concatenate(h, h)", FUSED),  # it reads no more than it writes
    ],
)
def test_what_is_written_anyway_is_not_copied_where_that_reads_more(producer: str, answer: Answer) -> None:
    """The matrix product needs a stored x: a copy of an addition would read two tensors instead of one."""
    pairs = decided(
        "p = f32[8,8] parameter(0)",
        "q = f32[8,8] parameter(1)",
        "h = f32[4,8] parameter(2)",
        "k = f32[] constant(1)",
        "b = f32[8,8] broadcast(k), dimensions={}",
        f"x = f32[8,8] {producer}, dimensions={{0}}",
        "n = f32[8,8] abs(x)",
        "d = f32[8,8] dot(x, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
        "ROOT t = (f32[8,8], f32[8,8]) tuple(n, d)",
    )
    assert [pairs["x n"], pairs["x d"]] == [answer, SEPARATE]


def test_an_addition_that_all_paths_can_take_in_is_copied() -> None:
    pairs = decided(
        "p = f32[8] parameter(0)",
        "q = f32[8] parameter(1)",
        "x = f32[8] add(p, q)",
        "n = f32[8] abs(x)",
        "m = f32[8] negate(x)",
        "ROOT t = (f32[8], f32[8]) tuple(n, m)",
    )
    assert [pairs["x n"], pairs["x m"]] == [FUSED, FUSED]


def test_a_reduction_whose_code_would_stand_twice_is_written() -> None:
    lines = ("p = f32[8,8] parameter(0)", "z = f32[] constant(0)")
    lines = (*lines, "r = f32[8] reduce(p, z), dimensions={1}, to_apply=sum")
    once = (*lines, "ROOT m = f32[8] multiply(r, r)")
    twice = (*lines, "n = f32[8] negate(r)", "a = f32[8] abs(r)", "ROOT m = f32[8] multiply(n, a)")
    assert decided(*once)["r m"] == FUSED
    assert [decided(*twice)[pair] for pair in ("r n", "r a", "n m", "a m")] == [SEPARATE, SEPARATE, FUSED, FUSED]
    assert refused(*twice)["r n"] == "its code would be copied"


@pytest.mark.parametrize(
    ("opcode", "most"), [("negate(p)", 15), ("broadcast(k), dimensions={}", 16), ("reduce(q, k), dimensions={1}", 1)]
)
def test_code_stands_at_15_places_at_most(opcode: str, most: int) -> None:
    """Each slice reads x at different positions. Broadcasts have no code; the code of reductions occurs once."""

    def fused(k: int) -> Answer:
        lines = ["p = f32[9] parameter(0)", "q = f32[9,2] parameter(1)", "k = f32[] constant(0)"]
        lines += [f"x = f32[9] {opcode}, to_apply=sum"]
        lines += [f"s{j} = f32[2] slice(x), slice={{[0:2]}}" for j in range(k)]
        lines += [f"a{j} = f32[2] add({'s0' if j == 1 else f'a{j - 1}'}, s{j})" for j in range(1, k)]
        return decided(*lines, f"ROOT n = f32[2] negate({f'a{k - 1}' if k > 1 else 's0'})")["x s0"]

    assert [fused(most), fused(17)] == [FUSED, FUSED if most == 16 else SEPARATE]
    assert most >= 16 or fused(most + 1) == SEPARATE


def test_a_kernel_has_six_reductions_at_most() -> None:
    lines = ["z = f32[] constant(0)", "p = f32[8,8] parameter(0)"]
    lines += [f"r{j} = f32[8] reduce(p, z), dimensions={{1}}, to_apply=sum" for j in range(8)]
    lines += [f"a{j} = f32[8] add({'r0' if j == 1 else f'a{j - 1}'}, r{j})" for j in range(1, 8)]
    pairs = decided(*lines[:-1], "ROOT " + lines[-1])
    reduced = {pair: answer for pair, answer in pairs.items() if pair.startswith("r")}
    assert [reduced[pair] for pair in sorted(reduced)] == [SEPARATE, SEPARATE, *[FUSED] * 6]  # the last first
    assert all(answer == FUSED for pair, answer in pairs.items() if pair.startswith("a"))


@pytest.mark.parametrize(
    ("slicing", "answer"),
    [
        ("dynamic-slice(p, i, z), dynamic_slice_sizes={1,8}", FUSED),
        ("dynamic-slice(p, z, i), dynamic_slice_sizes={1,8}", SEPARATE),
        ("slice(p), slice={[0:1], [0:8]}", SEPARATE),
    ],
)
def test_a_result_that_overwrites_its_operand_reads_it_at_the_same_positions(slicing: str, answer: Answer) -> None:
    pairs = decided(
        "p = f32[4,8] parameter(0)",
        "i = s32[] parameter(1)",
        "z = s32[] constant(0)",
        f"s = f32[1,8] {slicing}",
        "n = f32[1,8] negate(s)",
        "ROOT u = f32[4,8] dynamic-update-slice(p, n, i, z)",
    )
    assert [pairs["n u"], pairs["s n"]] == [FUSED, answer]


def test_a_bitcast_is_the_memory_that_is_overwritten() -> None:
    """A slice reads x, and an update overwrites x through a bitcast: x is written first."""
    lines = (
        "p = f32[4,2] parameter(0)",
        "c = s32[] constant(3)",
        "x = f32[4,2] negate(p)",
        "b = f32[8] bitcast(x)",
        "s = f32[1,2] slice(x), slice={[0:1], [0:2]}",
        "f = f32[2] bitcast(s)",
        "ROOT u = f32[8] dynamic-update-slice(b, f, c)",
    )
    pairs = decided(*lines)
    assert [pairs["b u"], pairs["s f"], pairs["x b"], pairs["x s"]] == [FUSED, FUSED, SEPARATE, SEPARATE]
    assert refused(*lines)["x s"] == "is read elsewhere while it is overwritten"


UPDATED = (
    "p = f32[4,8] parameter(0)",
    "w = f32[1,4] parameter(1)",
    "i = s32[] parameter(2)",
    "z = s32[] constant(0)",
    "s = f32[1,8] dynamic-slice(p, i, z), dynamic_slice_sizes={1,8}",
)


def test_a_slice_that_is_moved_is_not_read_while_it_is_overwritten() -> None:
    lines = (*UPDATED, "r = f32[1,8] reverse(s), dimensions={1}", "ROOT u = f32[4,8] dynamic-update-slice(p, r, i, z)")
    assert [decided(*lines)["r u"], decided(*lines)["s r"]] == [FUSED, SEPARATE]
    assert refused(*lines)["s r"] == "is read elsewhere while it is overwritten"


def test_a_kernel_with_another_update_overwrites_nothing_that_it_slices() -> None:
    lines = (
        *UPDATED,
        "q = f32[1,8] parameter(3)",
        "v = f32[1,8] dynamic-update-slice(q, w, z, z)",
        "a = f32[1,8] add(v, s)",
        "ROOT u = f32[4,8] dynamic-update-slice(p, a, i, z)",
    )
    assert [decided(*lines)["v a"], decided(*lines)["s a"]] == [FUSED, SEPARATE]
    assert refused(*lines)["s a"] == "several updates"


def test_nothing_is_taken_into_an_update_of_what_it_reads_beside() -> None:
    lines = ("p = f32[8] parameter(0)", "c = s32[] constant(0)", "x = f32[8] negate(p)")
    lines = (*lines, "ROOT u = f32[8] dynamic-update-slice(x, x, c)")
    assert refused(*lines)["x u"] == "is read where it is overwritten"


@pytest.mark.parametrize(
    ("shape", "product", "readers"),
    [
        ("f32[8]", "dot(m, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}", "add(d, d)"),
        ("f32[8]", "dot(m, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}", "multiply(d, v)"),
        ("f32[8]", "dot(m, m), lhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_batch_dims={0}", "add(d, v)"),
        ("f32[8,8]", "dot(m, m), lhs_contracting_dims={1}, rhs_contracting_dims={0}", "add(d, m)"),
    ],
)
def test_other_products_stay_alone(shape: str, product: str, readers: str) -> None:
    lines = ("m = f32[8,8] parameter(0)", "v = f32[8] parameter(1)", f"d = {shape} {product}")
    assert decided(*lines, f"ROOT a = {shape} {readers}")["d a"] == SEPARATE


def test_a_product_that_others_read_stays_alone() -> None:
    lines = ("k = f32[] parameter(0)", "v = f32[8] parameter(1)", "b = f32[8] broadcast(k), dimensions={}")
    lines = (*lines, "d = f32[] dot(v, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}", "a = f32[] add(d, k)")
    assert decided(*lines)["d a"] == FUSED
    assert decided(*lines, "ROOT t = (f32[], f32[]) tuple(a, d)")["d a"] == SEPARATE


def test_what_cannot_be_fused_is_not() -> None:
    lines = ("p = f32[8] parameter(0)", 'c = f32[8] custom-call(p), custom_call_target="f"', "n = f32[8] negate(c)")
    assert decided(*lines, "ROOT a = f32[8] abs(n)") == {"p c": SEPARATE, "c n": SEPARATE, "n a": FUSED}
    assert refused(*lines)["c n"] == "no loop"
    lines = (lines[0], lines[1] + ", custom_call_has_side_effect=true", lines[2])
    assert refused(*lines)["c n"] == "cannot be fused"
    lines = ("k = f32[] parameter(0)", "r = f32[8] rng(k, k), distribution=rng_uniform", "n = f32[8] negate(r)")
    assert decided(*lines)["r n"] == FUSED
    lines = (*lines, "a = f32[8] abs(r)", "ROOT t = (f32[8], f32[8]) tuple(n, a)")
    assert refused(*lines)["r n"] == "cannot be fused"
