"""XLA's rule on HLO texts whose fusions were worked out by hand; and on what jax compiles."""

from __future__ import annotations

import pytest

from benchmarks import xla_fusions
from pipeline.graphs.compilers.xla_cpu import (
    Answer,
    Computation,
    Shape,
    answers,
    compare,
    fused_computations,
    fusions,
    is_expensive,
    parse,
    read_fusions,
)

FUSED, SEPARATE, BOTH = "fused", "separate", "both"
ADDITION = "sum {\n  l = f32[] parameter(0)\n  r = f32[] parameter(1)\n  ROOT s = f32[] add(l, r)\n}\n"


def text(*lines: str) -> str:
    """A module with a computation that adds, and these lines as its entry."""
    return f"HloModule written\n\n{ADDITION}\nENTRY main {{\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def entry(*lines: str) -> Computation:
    return parse(text(*lines)).computations["main"]


def decided(*lines: str) -> dict[str, Answer]:
    """`operand reader` -> what our rule decides."""
    return {f"{operand} {reader}": said for (operand, reader), said in answers(fusions(entry(*lines))).items()}


def refused(*lines: str) -> dict[str, str]:
    return {f"{operand} {reader}": why for (operand, reader), why in fusions(entry(*lines)).refusals.items()}


def test_names_may_have_percents_and_operands_types() -> None:
    plain = text("p = f32[2,3]{1,0} parameter(0)", "ROOT n = f32[2,3]{1,0} negate(p)")
    percents = plain.replace("p = ", "%p = ").replace("n = ", "%n = ").replace("negate(p)", "negate(f32[2,3]{1,0} %p)")
    assert parse(plain.replace("ENTRY main", "ENTRY %main (p: f32[2,3]) -> f32[2,3]")) == parse(percents)


def test_what_stands_in_quotations_and_comments_is_no_operand() -> None:
    computation = entry(
        "p = (f32[2]{0}, /*index=1*/s32[]) parameter(0)",
        'ROOT g = f32[2]{0} get-tuple-element(p), index=0, metadata={op_name="f(a, b)/\\"c\\", }" stack_frame_id=1}',
    )
    assert computation.root == "g" and computation.instructions["g"].operands == ("p",)
    assert computation.instructions["g"].attributes["index"] == "0"
    assert computation.instructions["p"].literal == "0"
    assert computation.instructions["p"].shape.parts == (Shape("f32", (2,), (0,)), Shape("s32"))


def test_shapes_have_their_layout_or_the_usual_one() -> None:
    computation = entry("a = bf16[4,2]{0,1:T(8,128)} parameter(0)", "ROOT b = pred[<=4,2] parameter(1)")
    assert computation.instructions["a"].shape == Shape("bf16", (4, 2), (0, 1))
    assert computation.instructions["b"].shape == Shape("pred", (4, 2), (1, 0))
    assert [instruction.shape.bytes for instruction in computation.instructions.values()] == [16, 8]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [("def f(): ...", "no entry"), (text("p is a parameter"), "no HLO instruction"), (text("p = f32 add(a)"), "shape")],
)
def test_what_is_no_hlo_is_named(wrong: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse(wrong)


def test_a_chain_is_one_kernel() -> None:
    said = decided(
        "p = f32[8] parameter(0)",
        "e = f32[8] exponential(p)",
        "a = f32[8] add(e, p)",
        "ROOT t = f32[8] tanh(a)",
    )
    assert said == {"p e": SEPARATE, "e a": FUSED, "p a": SEPARATE, "a t": FUSED}


@pytest.mark.parametrize(("opcode", "said"), [("negate", FUSED), ("exponential", SEPARATE)])
def test_what_is_cheap_is_copied_into_its_readers(opcode: str, said: Answer) -> None:
    lines = ("p = f32[8] parameter(0)", f"x = f32[8] {opcode}(p)", "a = f32[8] add(x, p)", "b = f32[8] multiply(x, x)")
    pairs = decided(*lines, "ROOT t = (f32[8], f32[8]) tuple(a, b)")
    assert [pairs["x a"], pairs["x b"], pairs["a t"]] == [said, said, SEPARATE]


@pytest.mark.parametrize(
    ("division", "said"), [("divide(c, x)", FUSED), ("divide(x, c)", SEPARATE), ("divide(x, x)", SEPARATE)]
)
def test_a_division_of_a_constant_is_cheap(division: str, said: Answer) -> None:
    """As published; it is meant for divisions by a constant."""
    pairs = decided(
        "x = s32[8] parameter(0)",
        "k = s32[] constant(7)",
        "c = s32[8] broadcast(k), dimensions={}",
        f"d = s32[8] {division}",
        "a = s32[8] negate(d)",
        "b = s32[8] abs(d)",
        "ROOT t = (s32[8], s32[8]) tuple(a, b)",
    )
    assert [pairs["d a"], pairs["d b"]] == [said, said]


def test_a_reduction_is_not_repeated_for_every_element() -> None:
    """A broadcast reads it for each of a row; a negation once."""
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
    """Whichever comes last; a product can be taken in by an addition alone, which then takes in nothing more."""
    m, v = "m = f32[8,8] parameter(0)", "v = f32[8] parameter(1)"
    product = "d = f32[8] dot(m, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    other, end = "n = f32[8] negate(v)", ("a = f32[8] add(d, n)", "ROOT t = f32[8] abs(a)")
    last = (m, v, other, product, *end)
    assert [decided(*last)[pair] for pair in ("d a", "n a", "a t")] == [FUSED, SEPARATE, SEPARATE]
    assert refused(*last)["n a"] == "the reader takes in nothing more"
    first = (m, v, product, other, *end)
    assert [decided(*first)[pair] for pair in ("d a", "n a")] == [SEPARATE, FUSED]
    assert refused(*first)["d a"] == "no loop"


@pytest.mark.parametrize(("length", "said"), [(4095, FUSED), (4096, SEPARATE)])
def test_a_product_with_a_small_vector_computes_its_matrix(length: int, said: Answer) -> None:
    pairs = decided(
        f"m = f32[8,{length}] parameter(0)",
        f"v = f32[{length}] parameter(1)",
        f"n = f32[8,{length}] negate(m)",
        "ROOT d = f32[8] dot(n, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
    )
    assert pairs["n d"] == said  # 16 KB are no longer small


def test_a_product_of_matrices_computes_neither() -> None:
    lines = ("m = f32[8,8] parameter(0)", "n = f32[8,8] negate(m)")
    pairs = decided(*lines, "ROOT d = f32[8,8] dot(n, m), lhs_contracting_dims={1}, rhs_contracting_dims={0}")
    assert pairs["n d"] == SEPARATE


@pytest.mark.parametrize(
    ("count", "sizes", "along", "said"),
    [(8, (4, 4), 0, FUSED), (9, (4, 4), 0, SEPARATE), (2, (4, 63), 1, FUSED), (2, (4, 64), 1, SEPARATE)],
)
def test_long_concatenations_stay_alone(count: int, sizes: tuple[int, int], along: int, said: Answer) -> None:
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
    assert [pairs["x0 c"], pairs["c n"]] == [said, said]


@pytest.mark.parametrize(
    ("producer", "said"),
    [
        ("add(p, q)", SEPARATE),
        ("negate(p)", FUSED),
        ("add(p, b)", FUSED),  # a constant is not read
        ("concatenate(h, h)", FUSED),  # reads no more than it writes
    ],
)
def test_what_is_written_anyway_is_not_copied_where_that_reads_more(producer: str, said: Answer) -> None:
    """The product of matrices needs x written: a copy of an addition would read two tensors in place of one."""
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
    assert [pairs["x n"], pairs["x d"]] == [said, SEPARATE]


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
    """Each slice reads x at positions of its own. Broadcasts are no code; that of reductions stands once."""

    def fused(k: int) -> Answer:
        lines = ["p = f32[9] parameter(0)", "q = f32[9,2] parameter(1)", "k = f32[] constant(0)"]
        lines += [f"x = f32[9] {opcode}, to_apply=sum"]
        lines += [f"s{j} = f32[2] slice(x), slice={{[0:2]}}" for j in range(k)]
        lines += [f"a{j} = f32[2] add({'s0' if j == 1 else f'a{j - 1}'}, s{j})" for j in range(1, k)]
        return decided(*lines, f"ROOT n = f32[2] negate({f'a{k - 1}' if k > 1 else 's0'})")["x s0"]

    assert [fused(most), fused(17)] == [FUSED, FUSED if most == 16 else SEPARATE]
    assert most >= 16 or fused(most + 1) == SEPARATE


def test_transposes_read_at_the_positions_of_their_reader() -> None:
    lines = ["p = f32[2,2] parameter(0)", "x = f32[2,2] negate(p)"]
    lines += [f"s{j} = f32[2,2]{{0,1}} transpose(x), dimensions={{1,0}}" for j in range(20)]
    lines += [f"a{j} = f32[2,2]{{0,1}} add({'s0' if j == 1 else f'a{j - 1}'}, s{j})" for j in range(1, 20)]
    assert decided(*lines[:-1], "ROOT " + lines[-1])["x s0"] == FUSED


def test_what_a_copied_position_reads_stands_as_often() -> None:
    """One reader reads the padding, at the positions that two slices ask it for."""
    lines = ("p = f32[2] parameter(0)", "z = f32[] constant(0)", "x = f32[4] pad(p, z), padding=1_1")
    lines = (*lines, "b = f32[2,4] broadcast(x), dimensions={1}", "s = f32[2,2] slice(b), slice={[0:2], [0:2]}")
    once = (*lines, "ROOT n = f32[2,2] negate(s)")
    twice = (*lines, "r = f32[2,2] slice(b), slice={[0:2], [1:3]}", "ROOT a = f32[2,2] add(s, r)")
    assert [decided(*once)["x b"], decided(*twice)["x b"], decided(*twice)["b r"]] == [FUSED, SEPARATE, FUSED]


def test_a_kernel_has_six_reductions_at_most() -> None:
    lines = ["z = f32[] constant(0)", "p = f32[8,8] parameter(0)"]
    lines += [f"r{j} = f32[8] reduce(p, z), dimensions={{1}}, to_apply=sum" for j in range(8)]
    lines += [f"a{j} = f32[8] add({'r0' if j == 1 else f'a{j - 1}'}, r{j})" for j in range(1, 8)]
    pairs = decided(*lines[:-1], "ROOT " + lines[-1])
    reduced = {pair: said for pair, said in pairs.items() if pair.startswith("r")}
    assert [reduced[pair] for pair in sorted(reduced)] == [SEPARATE, SEPARATE, *[FUSED] * 6]  # the last first
    assert all(said == FUSED for pair, said in pairs.items() if pair.startswith("a"))


@pytest.mark.parametrize(
    ("slicing", "said"),
    [
        ("dynamic-slice(p, i, z), dynamic_slice_sizes={1,8}", FUSED),
        ("dynamic-slice(p, z, i), dynamic_slice_sizes={1,8}", SEPARATE),
        ("slice(p), slice={[0:1], [0:8]}", SEPARATE),
    ],
)
def test_a_result_that_overwrites_its_operand_reads_it_at_the_same_positions(slicing: str, said: Answer) -> None:
    pairs = decided(
        "p = f32[4,8] parameter(0)",
        "i = s32[] parameter(1)",
        "z = s32[] constant(0)",
        f"s = f32[1,8] {slicing}",
        "n = f32[1,8] negate(s)",
        "ROOT u = f32[4,8] dynamic-update-slice(p, n, i, z)",
    )
    assert [pairs["n u"], pairs["s n"]] == [FUSED, said]


def test_a_bitcast_is_the_memory_that_is_overwritten() -> None:
    """x is read by a slice, and by way of a bitcast overwritten: it is written first."""
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
    ("reader", "operand", "said"),
    [
        ("f32[10] pad(e, k), padding=1_1", "e", FUSED),
        ("f32[10] pad(p, x), padding=1_1", "x", SEPARATE),
        ("f32[8] dynamic-update-slice(p, e, i)", "e", FUSED),
        ("f32[8] dynamic-update-slice(p, p, j)", "j", SEPARATE),
        ("f32[8] dynamic-slice(p, j), dynamic_slice_sizes={8}", "j", SEPARATE),
        ("f32[8] select(m, e, p)", "e", FUSED),
        ("f32[] reduce(e, k), dimensions={0}, to_apply=sum", "e", FUSED),
        ("f32[] reduce(p, x), dimensions={0}, to_apply=sum", "x", SEPARATE),
    ],
)
def test_what_is_expensive_is_fused_where_each_element_is_read_once(reader: str, operand: str, said: Answer) -> None:
    """Not a padding, a first value or a position: they are read for every element."""
    pairs = decided(
        "p = f32[8] parameter(0)",
        "k = f32[] parameter(1)",
        "i = s32[] parameter(2)",
        "m = pred[8] parameter(3)",
        "e = f32[8] exponential(p)",
        "x = f32[] exponential(k)",
        "j = s32[] remainder(i, i)",
        f"ROOT r = {reader}",
    )
    assert pairs[f"{operand} r"] == said


def test_what_is_read_several_times_reads_several_times() -> None:
    lines = ("p = f32[8] parameter(0)", "e = f32[8] exponential(p)", "n = f32[8] negate(e)")
    pairs = decided(*lines, "ROOT b = f32[8,8] broadcast(n), dimensions={0}")
    assert [pairs["n b"], pairs["e n"]] == [FUSED, SEPARATE]
    within = decided(*lines, "b = f32[8,8] broadcast(n), dimensions={0}", "ROOT a = f32[8,8] abs(b)")
    assert [within["b a"], within["n b"], within["e n"]] == [FUSED, FUSED, SEPARATE]


@pytest.mark.parametrize(
    ("line", "expensive"),
    [
        ("f32[8] sine(p)", False),
        ("c64[8] sine(q)", True),
        ("bf16[8] convert(p)", True),  # looks for NaN
        ("f64[8] convert(p)", False),
        ("f32[8] divide(p, p)", True),
        ("f32[8] gather(p, p)", True),
        ("f32[8] multiply(p, p)", False),
    ],
)
def test_what_is_expensive(line: str, expensive: bool) -> None:
    computation = entry("p = f32[8] parameter(0)", "q = c64[8] parameter(1)", f"ROOT x = {line}")
    assert is_expensive(computation, computation.instructions["x"]) == expensive


@pytest.mark.parametrize(("shape", "said"), [("s32[8]", FUSED), ("s8[8,4]", SEPARATE)])
def test_bits_of_other_elements_are_no_loop(shape: str, said: Answer) -> None:
    lines = ("p = f32[8] parameter(0)", f"x = {shape} bitcast-convert(p)", f"ROOT n = {shape} negate(x)")
    assert decided(*lines)["x n"] == said


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


WHILE = """HloModule looping

%body (s: (f32[8])) -> (f32[8]) {
  %s = (f32[8]{0}) parameter(0)
  %g = f32[8]{0} get-tuple-element(%s), index=0
  %e = f32[8]{0} exponential(%g)
  %n = f32[8]{0} negate(%e)
  ROOT %t = (f32[8]{0}) tuple(%n)
}

%condition (s.1: (f32[8])) -> pred[] {
  %s.1 = (f32[8]{0}) parameter(0)
  ROOT %k = pred[] constant(false)
}

ENTRY %main (p: f32[8]) -> (f32[8]) {
  %p = f32[8]{0} parameter(0)
  %i = (f32[8]{0}) tuple(%p)
  ROOT %w = (f32[8]{0}) while(%i), condition=%condition, body=%body
}
"""
FUSION = """%fused (q: f32[8]) -> f32[8] {
  %q = f32[8]{0} parameter(0)
  %e.1 = f32[8]{0} exponential(%q)
  ROOT %n.1 = f32[8]{0} negate(%e.1)
}

"""


def looping_after() -> str:
    """`WHILE` after the pass: its body has a fusion."""
    lines = WHILE.replace("  %e = f32[8]{0} exponential(%g)\n", "")
    lines = lines.replace("negate(%e)", "fusion(%g), kind=kLoop, calls=%fused")
    return lines.replace("%body (s:", FUSION + "%body (s:")


def test_loops_are_gone_through_and_what_reductions_call_is_not() -> None:
    assert {computation.name for computation in fused_computations(parse(WHILE))} == {"body", "condition", "main"}
    assert {computation.name for computation in fused_computations(parse(looping_after()))} >= {"body", "main"}
    assert "fused" not in {computation.name for computation in fused_computations(parse(looping_after()))}
    reducing = parse(
        text("p = f32[8] parameter(0)", "z = f32[] constant(0)", "ROOT r = f32[] reduce(p, z), to_apply=sum")
    )
    assert {computation.name for computation in fused_computations(reducing)} == {"main"}
    sorting = parse(text("p = f32[8] parameter(0)", "ROOT c = f32[8] custom-call(p), called_computations={%sum}"))
    assert {computation.name for computation in fused_computations(sorting)} == {"main"}


def test_fusions_are_read_from_the_text_after_the_pass() -> None:
    body = parse(WHILE).computations["body"]
    read = read_fusions(body, parse(looping_after()))
    assert {pair for pair, said in read.items() if said == FUSED} == {("e", "n")}
    assert all(said == SEPARATE for said in read_fusions(body, parse(WHILE)).values())
    assert read == answers(fusions(body))


COPIED = """HloModule after

fused {
  p.1 = f32[8] parameter(0)
  n.1 = f32[8] negate(p.1)
  a.1 = f32[8] abs(n.1)
  ROOT e.1 = f32[8] exponential(a.1)
}

fused.1 {
  n.2 = f32[8] parameter(0)
  a.2 = f32[8] abs(n.2)
  ROOT t.1 = f32[8] tanh(a.2)
}

ENTRY main {
  p = f32[8] parameter(0)
  f = f32[8] fusion(p), kind=kLoop, calls=fused
  n = f32[8] negate(p)
  g = f32[8] fusion(n), kind=kLoop, calls=fused.1
  ROOT r = (f32[8], f32[8]) tuple(f, g)
}
"""


def test_what_only_one_of_two_copies_computes_itself_is_both() -> None:
    lines = ("p = f32[8] parameter(0)", "n = f32[8] negate(p)", "a = f32[8] abs(n)", "e = f32[8] exponential(a)")
    before = entry(*lines, "t = f32[8] tanh(a)", "ROOT r = (f32[8], f32[8]) tuple(e, t)")
    read = read_fusions(before, parse(COPIED))
    assert [read[pair] for pair in (("n", "a"), ("a", "e"), ("a", "t"), ("p", "n"))] == [BOTH, FUSED, FUSED, SEPARATE]
    with pytest.raises(ValueError, match="main: t is tanh before and sine after"):
        read_fusions(before, parse(COPIED.replace("tanh", "sine")))


def test_pairs_that_differ_are_told_with_the_reason() -> None:
    (same,) = compare(parse(WHILE), parse(looping_after()))
    assert same.agrees and (same.operand.name, same.reader.opcode, same.xla, same.why) == ("e", "negate", FUSED, "")
    (other,) = compare(parse(WHILE), parse(WHILE))
    assert not other.agrees and (other.ours, other.xla) == (FUSED, SEPARATE)
    opaque = [whole.replace("exponential(", "custom-call(") for whole in (WHILE, looping_after())]
    (unlike,) = compare(*map(parse, opaque))
    assert (unlike.ours, unlike.xla, unlike.why) == (SEPARATE, FUSED, "no loop")


def test_simpler_rules_fuse_what_they_say() -> None:
    computation = entry(
        "p = f32[8] parameter(0)",
        "e = f32[8] exponential(p)",
        "a = f32[8] add(e, p)",
        "b = f32[8] multiply(e, p)",
        "n = f32[8] negate(b)",
        "ROOT t = (f32[8], f32[8]) tuple(a, n)",
    )
    assert xla_fusions.peers(computation) == {
        "separate": set(),
        "every_loop": {("e", "a"), ("e", "b"), ("b", "n")},
        "loop_fusion": {("b", "n")},  # e is expensive and has two readers
    }


def test_what_jax_compiles_is_fused_as_our_rule_says() -> None:
    pytest.importorskip("jax", reason="pip install -e '.[collection]' -c constraints.txt")
    cases = xla_fusions.cases()
    compared, told = zip(*(xla_fusions.agreement(cases[name]) for name in ("softmax", "cache_update")), strict=True)
    pairs = [pair for of in compared for pair in of]
    assert len(pairs) > 30 and {pair.xla for pair in pairs} == {FUSED, SEPARATE}
    assert [pair for pair in pairs if not pair.agrees] == []
    assert not all(rows["every_loop"].all() for rows in told)  # it is not that all loops are fused
