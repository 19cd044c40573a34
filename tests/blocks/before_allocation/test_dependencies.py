"""Dependencies of blocks in intermediate code, by hand and by running random legal orders of them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import llvmlite.binding as llvm_binding
import numpy as np
import pytest

from learned_schedulers.blocks.before_allocation import llvm
from learned_schedulers.blocks.before_allocation.dependencies import Effect, Effects, precedes
from learned_schedulers.blocks.before_allocation.functions import Block, Item, functions, reordered
from learned_schedulers.blocks.dag.sampling import random_ready
from learned_schedulers.blocks.dag.topology import closure
from tests.blocks.before_allocation.code import LOOPS, MIXED, OBSERVED

CODE = {name: llvm.read(text.encode(), name) for name, text in (("mixed", MIXED), ("loops", LOOPS))}


def _dags(code: llvm.Code) -> list[tuple[Block, np.ndarray]]:
    effects = Effects(code.text)
    return [
        (block, precedes(block, effects, function.name, code.apart))
        for function in functions(code.text)
        for block in function.blocks
    ]


def _pair(block: Block, before: np.ndarray, first: str, second: str) -> bool:
    """Whether the first item whose text contains `first` must come before that with `second`."""
    places = [next(i for i, item in enumerate(block.items) if word in item.lines[-1]) for word in (first, second)]
    assert places[0] < places[1]
    return bool(closure(before[None])[0, places[0], places[1]])


def test_memory_keeps_its_order_only_where_bytes_may_be_the_same() -> None:
    ((block, before),) = _dags(CODE["mixed"])
    store_first = "store i64 %v1, ptr %0"
    assert _pair(block, before, "%v = load i64, ptr %1", "store i64 %v4, ptr %1")  # a store after the load of its bytes
    assert not _pair(block, before, store_first, "load i64, ptr %v5")  # noalias
    assert not _pair(block, before, "store i64 %v4, ptr %1", "load i64, ptr %0")
    assert _pair(block, before, "store i64 %v4, ptr %1", "load i64, ptr @other")  # %1 may point there
    assert _pair(block, before, store_first, "load i64, ptr %0")
    assert not _pair(block, before, "%v5 = getelementptr", "load i64, ptr @other")


def test_what_is_observed_keeps_its_sequence() -> None:
    ((block, before),) = _dags(llvm.read(OBSERVED.encode(), "observed"))
    effects = Effects(OBSERVED)
    assert [effects.of(item) for item in block.items] == [
        Effect.BARRIER,
        Effect.LOAD,
        Effect.DIVISION,
        Effect.BARRIER,
        Effect.DIVISION,
        Effect.BARRIER,
        Effect.NONE,
        Effect.WALL,
        Effect.NONE,
    ]
    assert _pair(block, before, "%c = udiv", "@may_end")  # it would be undefined, or not, if the call ends all
    assert _pair(block, before, "@may_end", "%d = udiv")
    assert _pair(block, before, "load volatile", "store atomic")
    assert _pair(block, before, "%e = add", "asm sideeffect")


@pytest.mark.parametrize(
    ("instruction", "effect"),
    [
        ("  %a = call i64 @pure(i64 %x)", Effect.NONE),
        ("  %a = call i64 @pure(ptr byval(i64) %x)", Effect.CALL),
        ("  %a = tail call i64 @throws(i64 %x)", Effect.BARRIER),
        ("  %a = call i64 %pointer(i64 %x)", Effect.WALL),
        ("  %a = call i64 @unknown(i64 %x)", Effect.BARRIER),
        ("  call void @llvm.x86.sse.ldmxcsr(ptr %p)", Effect.WALL),
        ("  %a = call token @pure()", Effect.WALL),
        ("  %a = call i64 @together(i64 %x)", Effect.WALL),
        ("  %a = alloca inalloca i64, align 8", Effect.WALL),
        ("  %a = alloca i64, align 8", Effect.ALLOCATION),
        ("  %a = atomicrmw add ptr %p, i64 1 seq_cst, align 8", Effect.BARRIER),
        ("  %a = strange i64 %x", Effect.WALL),
        ("  %a = sdiv exact i64 %x, %y", Effect.DIVISION),
        ("  store volatile i64 %x, ptr %p, align 8", Effect.BARRIER),
    ],
)
def test_effects(instruction: str, effect: Effect) -> None:
    effects = Effects(
        "declare i64 @pure(i64) #0\ndeclare i64 @throws(i64) #1\ndeclare i64 @together(i64) #2\n"
        "attributes #0 = { nounwind willreturn memory(none) }\n"
        'attributes #1 = { willreturn memory(none) "nounwind"="no" }\n'
        "attributes #2 = { convergent nounwind willreturn memory(none) }\n"
    )
    result = "%a" if " = " in instruction else ""
    words = instruction.split(" = ")[-1].split()
    opcode = words[1] if words[0] == "tail" else words[0]
    assert effects.of(Item((instruction,), result, opcode)) is effect


@pytest.fixture(scope="module")
def jit() -> Callable[[str], llvm_binding.ExecutionEngine]:
    llvm_binding.initialize_native_target()
    llvm_binding.initialize_native_asmprinter()

    def engine(text: str) -> llvm_binding.ExecutionEngine:
        module = llvm_binding.parse_assembly(text)
        module.verify()
        machine = llvm_binding.Target.from_default_triple().create_target_machine(jit=True)
        compiled = llvm_binding.create_mcjit_compiler(module, machine)
        compiled.finalize_object()
        return compiled

    return engine


def _mixed(engine: llvm_binding.ExecutionEngine, rng: np.random.Generator) -> list[int]:
    """Result and memory of MIXED, also where the second pointer is that of `other`."""
    state = []
    for separate in (True, False):
        first, second = (rng.integers(1, 1 << 60, 4).astype(np.uint64) for _ in range(2))
        other = engine.get_global_value_address("other")
        address = second.ctypes.data if separate else other
        call = ctypes.CFUNCTYPE(ctypes.c_uint64, *[ctypes.c_uint64] * 3)(engine.get_function_address("mixed"))
        ctypes.c_uint64.from_address(other).value = 17
        state.append(call(first.ctypes.data, address, int(rng.integers(1, 1 << 60))))
        state += [*first.tolist(), *second.tolist(), ctypes.c_uint64.from_address(other).value]
    return state


def _loops(engine: llvm_binding.ExecutionEngine, rng: np.random.Generator) -> list[float]:
    """Result and memory of LOOPS."""
    x, y = rng.random(9), rng.random(9)
    call = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_uint64] * 3)(engine.get_function_address("loops"))
    return [call(x.ctypes.data, y.ctypes.data, 9), *x.tolist(), *y.tolist()]


@pytest.mark.parametrize(("name", "run"), [("mixed", _mixed), ("loops", _loops)])
def test_random_legal_orders_compute_the_same(
    name: str,
    run: Callable[[llvm_binding.ExecutionEngine, np.random.Generator], list[float]],
    jit: Callable[[str], llvm_binding.ExecutionEngine],
) -> None:
    code, rng = CODE[name], np.random.default_rng(0)
    dags = _dags(code)
    expected = run(jit(code.text), np.random.default_rng(1))
    texts = set()
    for _ in range(30):
        text = reordered(code.text, [(block, random_ready(before[None], rng)[0]) for block, before in dags])
        texts.add(text)
        assert run(jit(text), np.random.default_rng(1)) == expected
    assert len(texts) > 20


def test_a_missing_dependency_is_noticed(jit: Callable[[str], llvm_binding.ExecutionEngine]) -> None:
    """Without the order of memory some orders compute something else."""
    ((block, before),) = _dags(CODE["mixed"])
    expected = _mixed(jit(CODE["mixed"].text), np.random.default_rng(1))
    stores = np.array([item.opcode == "store" for item in block.items])
    loose = before & ~stores[:, None]  # a store is waited for by nothing
    rng = np.random.default_rng(0)
    texts = [reordered(CODE["mixed"].text, [(block, random_ready(loose[None], rng)[0])]) for _ in range(30)]
    assert any(_mixed(jit(text), np.random.default_rng(1)) != expected for text in texts)
