"""The library as a researcher opens it: docs/library.md and the notebooks run, and what is wrong is named."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
import torch

import learned_schedulers as ls
from learned_schedulers.blocks.dag.dependencies import block_dag
from learned_schedulers.blocks.processors import llvm_mca
from tests.notebooks import NOTEBOOKS, executed

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/library.md").read_text()
PAIRS = [("load", "left"), ("load", "right"), ("left", "join"), ("right", "join")]
SECONDS = {"join": 1.0, "load": 1.0, "left": 2.0, "right": 4.0}  # in another order than the graph's
CODE = bytes.fromhex("488b07 4801c8 480fafd6 48894708")  # load, add, imul (after the flags of add), store
LAYER = ls.read_module(torch.nn.Linear(8, 8), (torch.rand(4, 8),))
needs_llvm_mca = pytest.mark.skipif(llvm_mca.find() is None, reason="llvm-mca 19 is not installed")


def graph(**sizes: float) -> ls.Source:
    return ls.graph_from_pairs(PAIRS, SECONDS, sizes or None)


@needs_llvm_mca
def test_the_lines_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "tests/fixtures/graphs/bert_l-3_training.json", tmp_path)
    names: dict[str, Any] = {}
    for lines in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(lines, names)
    assert (tmp_path / "chart.svg").read_text().count("<svg") == 1
    assert names["mine"].makespan == names["problem"].bound == 6.0
    assert names["logits"].grad.isfinite().all()


def test_the_page_has_every_name() -> None:
    assert {*re.findall(r"\bls\.(\w+)", PAGE)} == {*ls.__all__}


@needs_llvm_mca
@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_is_stored_with_it(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    stored, again = (
        [cell.get("outputs", []) for cell in book.cells] for book in (nbformat.read(path, 4), executed(path))
    )
    for before, after in zip(stored, again, strict=True):
        assert [_words(output) for output in before] == [_words(output) for output in after]


def _words(output: Any) -> tuple[str, set[str]]:
    """What an output says, and in which forms: the bytes of pictures differ with the fonts of a machine."""
    data = output.get("data", {})
    return output.get("text") or data["text/plain"], {*data}


def test_every_notebook_is_valid_and_shows_something() -> None:
    assert {path.stem for path in NOTEBOOKS} == {"blocks", "graphs"}
    for path in NOTEBOOKS:
        notebook = nbformat.read(path, 4)
        nbformat.validate(notebook)
        assert sum(len(cell.get("outputs", [])) for cell in notebook.cells) > 4


def test_a_graph_of_pairs_by_hand() -> None:
    source = graph()
    assert source.names == ("load", "left", "right", "join")
    assert source.graph.children.targets.tolist() == [1, 2, 3, 3] and source.graph.seconds.tolist() == [1, 2, 4, 1]
    assert ls.schedule(source, "heft", devices=2, link="pcie").makespan == 6.0, "results are everywhere at once"
    slow = ls.schedule(graph(load=12e9, left=24e9), "heft", devices=2, link="pcie")  # one and two seconds on the link
    assert slow.makespan == pytest.approx(7.00002) and slow.names == source.names


@pytest.mark.parametrize("method", ["one_device", "list_scheduling", "heft", "random_valid"])
def test_a_method_is_judged_by_the_simulator(method: str) -> None:
    first, second = (ls.schedule(graph(load=1e9), method, devices=3, seed=2) for _ in range(2))
    assert first.order.tolist() == second.order.tolist() and first.placement.tolist() == second.placement.tolist()
    assert first.makespan == ls.judge(first.problem, first.order, first.placement).makespan >= first.problem.bound
    assert first.method == method and f"by {method}: 4 operations on 3 devices" in repr(first)
    assert (first.makespan == 8.0) == (method == "one_device")


@pytest.mark.parametrize("ending", [".png", ".svg", ".pdf"])
def test_a_chart_is_written_by_its_ending(ending: str, tmp_path: Path) -> None:
    ls.schedule(graph(), devices=2).gantt(tmp_path / f"chart{ending}")
    head = (tmp_path / f"chart{ending}").read_bytes()[:100]
    assert {".png": b"PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[ending] in head


def test_a_module_becomes_a_graph_and_stays_as_it_is() -> None:
    module = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 2))
    source = ls.read_module(module, [torch.rand(4, 8)])
    assert source.graph.kinds == ("addmm", "addmm") and source.graph.flops.tolist() == [2 * 4 * 8 * 8, 2 * 4 * 8 * 2]
    assert module.training and all(weight.requires_grad for weight in module.parameters())
    assert len(ls.read_module(module, [torch.rand(4, 8)], training=True).graph) > 6


def test_the_orders_of_a_block() -> None:
    block = ls.block("mov rax, [rdi]\nadd rax, rcx; imul rdx, rsi; mov [rdi + 8], rax")
    assert block == ls.block(CODE) == ls.block("mov (%rdi), %rax; add %rcx, %rax; imul %rsi, %rdx; mov %rax, 8(%rdi)")
    assert block.dag == block_dag(CODE, "full")
    orders = set(block.legal_orders())
    every = np.array(list(permutations(range(4))))
    assert {tuple(order) for order in every[block.is_legal(every)].tolist()} == orders
    assert len(orders) == block.n_legal_orders == 2
    assert {tuple(order) for order in block.draw(100).tolist()} == orders
    assert (
        ls.block("mov rax, [rdi]; mov rcx, [rsi]", memory="tso").n_legal_orders
        == 1
        < 2
        == ls.block("mov rax, [rdi]; mov rcx, [rsi]").n_legal_orders
    )


@needs_llvm_mca
def test_the_cycles_of_a_block() -> None:
    """The chain of four instructions first is slower on the Atom, which issues in order."""
    block = ls.block("mulsd xmm0, xmm1; addsd xmm0, xmm2; mulsd xmm3, xmm4; addsd xmm3, xmm5")
    orders = np.array(list(block.legal_orders()))
    cycles = block.cycles(orders, "atom")
    assert cycles.shape == (6,) and (cycles == block.model_cycles(orders, "atom")).all()
    assert block.cycles(block.order("search", "atom"), "atom") == cycles.min() < block.cycles([0, 1, 2, 3], "atom")
    assert block.cycles(orders.reshape(2, 3, 4), "atom", passes=100).shape == (2, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ls.read_graph(7), "read_graph does not take these arguments: path"),
        (lambda: ls.read_graph("nothing.onnx"), "nothing.onnx: cannot be read"),
        (lambda: ls.graph_from_pairs(PAIRS, {"load": 1.0}), "operation 'left' has no run time; add it to `seconds`"),
        (lambda: graph(lod=1.0), "operation 'lod' has no run time"),
        (lambda: ls.graph_from_pairs([("a", "b"), ("b", "a")], {"a": 1.0, "b": 1.0}), "a -> b -> a; remove one"),
        (lambda: ls.graph_from_pairs([("a", "b")], {"a": 1.0, "b": -1.0}), "operation b has -1.0 seconds"),
        (lambda: ls.read_module(torch.nn.ReLU(), torch.rand(2)), "inputs: Input should be an instance of Sequence"),
        (lambda: ls.read_module(torch.nn.Linear(2, 2), [torch.rand(3)]), "Linear: torch cannot export it"),
        (lambda: ls.schedule("model.onnx"), "schedule does not .* graph: .* instance of Source"),
        (lambda: ls.schedule(graph(), "hetf"), "no method 'hetf'; there are .*'heft'"),
        (lambda: ls.schedule(graph(), "annealing", evaluation=9), "evaluation: .*'annealing' has .*'evaluations'"),
        (lambda: ls.schedule(graph(), "ppo"), "'ppo' is not given what it needs: weights"),
        (lambda: ls.schedule(graph(), devices=0), "0 devices; there must be at least one"),
        (lambda: ls.schedule(graph(), devices=["h100", "h9"]), "there is no device 'h9'; there are t4, "),
        (lambda: ls.schedule(graph(), devices="h100,t4"), "run times are profiled, on devices of one kind"),
        (lambda: ls.on_devices(LAYER, 2, links={"a-b": "pcie"}), "link a-b: there is no device 'a'"),
        (lambda: ls.on_devices(graph(), 2, links={"v100-v100": "wire"}), "links.v100-v100: Input should be 'pcie'"),
        (lambda: ls.schedule(graph(load=2e9), memory=1), "operation load needs 2 GB"),
        (lambda: ls.schedule(graph(), "one_device").gantt("chart.gif"), r"no \.gif; end its name in \.png"),
        (lambda: ls.judge(ls.on_devices(graph()), [0], [0]), r"order is int64 \(1,\)"),
        (lambda: ls.judge(ls.on_devices(graph()), np.arange(4), np.zeros(4)), r"placement is float64 \(4,\)"),
        (lambda: ls.judge(ls.on_devices(graph()), np.arange(3), np.zeros(4, int)), r"order is int64 \(3,\)"),
        (lambda: ls.judge(ls.on_devices(graph()), np.arange(4)[::-1], np.zeros(4, int)), "slot 0: operation 3 comes"),
        (lambda: ls.Problem([1, 2, 3], np.ones(3), (), 2), "seconds is a list; it must be a NumPy array"),
        (lambda: ls.Problem(np.ones(3), np.ones(2), (), 2), r"sizes is an array \(2,\)"),
        (lambda: ls.Problem(np.ones(3), np.ones(3), [(0, 1)], 2), "children is a list; it must be Edges"),
        (lambda: ls.block(3), "block does not take these arguments: code"),
        (lambda: ls.block('.incbin "secret"'), "code: .incbin is no instruction"),
        (lambda: ls.block("nop; /**/ .Include 'secret'"), "code: .Include is no instruction"),
        (lambda: ls.block("moov rax, rbx"), "no instructions in Intel syntax .*line 2: no such instruction"),
        (lambda: ls.block("ret"), "an instruction jumps"),
        (lambda: ls.block(b""), "no bytes: not whole"),
        (lambda: ls.block("nop\n" * 65), "65 instructions, more than 64"),
        (lambda: ls.Block("4889d8"), "code is a str; it must be bytes"),
        (lambda: ls.Block(CODE, "weak"), "memory: there is no 'weak'"),
        (lambda: ls.block(CODE).order("serch"), "by: Input should be 'search'"),
        (lambda: ls.block(CODE).is_legal([0, 1, 2]), "orders: each must have the whole numbers 0 to 3"),
        (lambda: ls.block(CODE).model_cycles([0, 1, 2, 2]), "orders: each must have the whole numbers 0 to 3"),
        (lambda: ls.block(CODE).model_cycles([0, 1, 2, 3], "pentium"), "processor: there is no 'pentium'"),
        (lambda: ls.block("vpabsq zmm0, zmm1").model_cycles([0], "atom"), "the model of atom does not know vpabsq"),
    ],
)
def test_what_is_wrong_is_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
