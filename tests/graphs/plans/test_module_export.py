"""A user's torch module becomes a graph with names, built without weights where possible, or a clear error."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from learned_schedulers.graphs.devices.settings import DEVICES
from learned_schedulers.graphs.plans.module_export import export_module
from learned_schedulers.graphs.plans.sources import on_devices

MODULE = """
import torch
from torch import nn

class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(100, 8)
        self.layer = nn.Linear(8, 4)
    def forward(self, tokens, x):
        return torch.relu(self.layer(self.words(tokens) + x))

class Data(Small):
    def forward(self, tokens, x):
        return x * tokens.sum().item()

def nothing():
    return 3
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small_module.py").write_text(MODULE)
    monkeypatch.delitem(sys.modules, "small_module", raising=False)
    return tmp_path


def test_a_module_of_the_current_folder(folder: Path) -> None:
    source = export_module("small_module:Small", ["int64:3,5", "3,5,8"], False)
    assert source.graph.kinds == ("embedding", "add", "addmm", "relu")
    assert source.names[0] == "words (embedding)" and source.names[2] == "layer (addmm)"
    assert source.graph.flops[2] == 2 * 15 * 8 * 4
    assert len(export_module("small_module:Small", ["int64:3,5", "3,5,8"], True).graph) > 8
    problem = on_devices(source, 2)
    assert problem.seconds[2] >= DEVICES["v100"].launch_seconds and np.isinf(problem.memory)
    assert "" not in sys.path or sys.path.count("") == 1


@pytest.mark.parametrize(
    ("named", "inputs", "message"),
    [
        ("small_module:Small", [], "needs the shapes of its inputs"),
        ("small_module:Small", ["int64:3,5"], "torch cannot export it: TypeError"),
        ("small_module:Small", ["int64:3,5", "3,5,9"], "torch cannot export it"),
        ("small_module:Data", ["int64:3,5", "3,5,8"], "torch cannot export it"),
        ("small_module:nothing", ["3"], "makes a int, not a torch.nn.Module"),
        ("small_module:Missing", ["3"], "small_module has no class Missing; name a class"),
        (
            "no_such_module:Small",
            ["3"],
            r"no module no_such_module, neither .* in the folder /[^;]*; call this in its folder$",
        ),
        ("small_module:Smal", ["3"], r"has no class Smal; did you mean Small\?"),
        ("small_module.py:Small", ["3"], "without .py: small_module:Small"),
        ("small_module:Small(Config(3))", ["3"], r"with literals as arguments.*without arguments.*: mine:build$"),
        ("small_module:Small", ["int:3,5"], "--input int:3,5: int .* write int64"),
        ("small_module:Small", ["a,b"], "--input a,b: this is not a shape"),
        ("small_module:Small", ["float99:3"], "--input float99:3: this is not a shape"),
        ("small_module:Small", ["3,-1"], "--input 3,-1: this is not a shape"),
    ],
)
def test_modules_that_cannot_be_exported(named: str, inputs: list[str], message: str, folder: Path) -> None:
    with pytest.raises(ValueError, match=message):
        export_module(named, inputs, False)


KINDS = """
from dataclasses import dataclass
from typing import NamedTuple
import numpy
import torch
from torch import nn

class Constant(nn.Module):
    def __init__(self, values=(2.0,), width=8):
        super().__init__()
        self.a, self.values = nn.Linear(8, width), values
    def forward(self, x):
        return self.a(x) * torch.tensor(self.values)

class Item(nn.Module):
    def __init__(self):
        super().__init__()
        self.rates = [rate.item() for rate in torch.linspace(0, 0.1, 4)]
        self.a = nn.Linear(8, 8)
    def forward(self, x):
        return self.a(x) * (1 - self.rates[3])

class Attribute(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale, self.count, self.a = torch.tensor([1.0, 2.0]), torch.tensor(3), nn.Linear(8, 2)
    def forward(self, x):
        return self.a(x) * self.scale * int(self.count)

class Drawn(nn.Module):
    def __init__(self):
        super().__init__()
        self.order = torch.randperm(8, generator=torch.Generator().manual_seed(3)).tolist()
        self.register_buffer("mean", torch.from_numpy(numpy.ones(4, numpy.float32)))
        self.a = nn.Linear(8, 4)
    def forward(self, x):
        return self.a(x[:, self.order]) - self.mean

class Integers(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.randint(-8, 8, (8, 16), dtype=torch.int8))
        self.register_buffer("scale", torch.ones(16))
    def forward(self, x):
        step = x.abs().amax() / 127
        return torch._int_mm((x / step).round().to(torch.int8), self.weight) * self.scale * step

class Loop(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(8, 8))
    def forward(self, x):
        from torch._higher_order_ops import while_loop
        step = lambda i, y: (i + 1, y @ self.weight)
        return while_loop(lambda i, y: i < 10, step, (torch.zeros((), dtype=torch.int64, device=x.device), x))[1]

class Scan(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(8, 8))
    def forward(self, x):
        from torch._higher_order_ops import scan
        start = torch.zeros(2, 3, dtype=torch.int64, device=x.device), x[0]
        return scan(lambda c, row: ((c[0] + 1, c[1] @ self.weight), row.sum()), start, x)

class Flex(nn.Module):
    def __init__(self):
        super().__init__()
        self.project, self.bias = nn.Linear(16, 16), nn.Parameter(torch.zeros(4))
    def forward(self, x):
        from torch.nn.attention.flex_attention import flex_attention
        q = self.project(x).view(2, 32, 4, 4).transpose(1, 2)
        return flex_attention(q, q, q, lambda score, b, head, i, j: score + self.bias[head] * (i - j))

class Autocast(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.a, self.kind = nn.Linear(8, 8, bias=False), kind
    def forward(self, x):
        with torch.autocast(self.kind, dtype=torch.bfloat16):
            return self.a(x)

class Derivative(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 1)
    def forward(self, x):
        return torch.func.vmap(torch.func.grad(lambda row: self.a(row).tanh().sum()))(x)

class Jagged(nn.Module):
    def forward(self, x, y):
        return torch.nested.to_padded_tensor(torch.nested.nested_tensor([x, y], layout=torch.jagged).sin(), 0.0)

class Choice(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda z: z.sin() @ z, lambda z: z @ z, (x,))

@dataclass
class Result:
    loss: torch.Tensor
    logits: torch.Tensor
    cache: object = None

class Pair(NamedTuple):
    first: torch.Tensor
    second: torch.Tensor

class Forms(nn.Module):
    def __init__(self, form="dictionary"):
        super().__init__()
        self.a, self.form = nn.Linear(8, 4), form
    def forward(self, x):
        y = self.a(x)
        forms = {
            "dictionary": {"scores": y, "inner": {"count": 3, "square": y * y}, "nothing": None},
            "dataclass": Result(y.mean(), y, cache=[y + 1]),
            "pair": Pair(y, y + 1),
            "numbers": {"a": y.mean(), "b": y.square().mean()},
            "none": {"count": 3},
        }
        return forms[self.form]

class Dictionary(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.words = nn.Linear(8, 4), nn.Embedding(100, 4)
    def forward(self, batch, scale=None):
        y = self.a(batch["image"]) + self.words(batch["text"]["tokens"]).sum(1)
        return y if scale is None else y * scale

class Half(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 8, dtype=torch.bfloat16)
    def forward(self, x):
        return self.a(x)

class Branch(nn.Module):
    def forward(self, x):
        return x * 2 if x.sum() > 0 else x

class Large(nn.Module):
    def __init__(self):
        super().__init__()
        self.rate = torch.linspace(0, 1, 3)[1].item()
        self.a = nn.Linear(2**20, 2**20)
    def forward(self, x):
        return self.a(x) * self.rate
"""


@pytest.fixture
def kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd_kinds.py").write_text(KINDS)
    monkeypatch.delitem(sys.modules, "odd_kinds", raising=False)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", ["Constant", "Constant(values=[1.0, 3.0], width=2)", "Item", "Attribute", "Drawn"])
def test_what_the_meta_device_does_not_build(name: str, training: bool, kinds: Path) -> None:
    source = export_module(f"odd_kinds:{name}", ["2,8"], training)
    assert "addmm" in source.graph.kinds
    assert ("mm" in source.graph.kinds) == training and source.unpriced == ()
    assert len(source.types) == len(source.graph)


def test_products_of_integers_have_the_type_of_their_numbers(kinds: Path) -> None:
    source = export_module("odd_kinds:Integers", ["4,8"], False)
    assert source.types[source.graph.kinds.index("_int_mm")] == "int8"
    assert source.graph.bytes_kept[source.graph.kinds.index("_int_mm")] == 8 * 16


@pytest.mark.slow
def test_control_flow_says_its_rule(kinds: Path) -> None:
    loop = export_module("odd_kinds:Loop", ["2,8"], False)
    assert "torch's while_loop (1) is priced as a single step" in loop.notes[0] and "--costs FILE" in loop.notes[0]
    assert loop.graph.flops[loop.graph.kinds.index("while_loop")] == pytest.approx(2 * 2 * 8 * 8, abs=3)
    (kinds / "costs.json").write_text('{"higher_order::while_loop": {"flops": "10 * 2 * 2 * 64"}}')
    priced = export_module("odd_kinds:Loop", ["2,8"], False, costs=kinds / "costs.json")
    assert priced.graph.flops[priced.graph.kinds.index("while_loop")] == 2560
    choice = export_module("odd_kinds:Choice", ["8,8"], False)
    assert choice.notes[0].startswith("torch's cond (1) is priced as its more expensive branch")
    assert choice.graph.flops[choice.graph.kinds.index("cond")] == 2 * 8**3 + 64
    scan = export_module("odd_kinds:Scan", ["5,4,8"], False)
    assert "scan (1) is priced as all of its steps" in scan.notes[0]
    number = scan.graph.kinds.index("scan")
    assert scan.graph.flops[number] == 5 * (6 + 2 * 4 * 8 * 8 + 32) and scan.types[number] == "float32"


@pytest.mark.slow
def test_flex_attention_is_attention_with_its_functions(kinds: Path) -> None:
    pairs, width = 2 * 4 * 32 * 32, 4
    step = export_module("odd_kinds:Flex", ["2,32,16"], True)
    forward, backward = (step.graph.kinds.index(f"flex_attention{part}") for part in ("", "_backward"))
    assert step.graph.flops[forward] == pairs * (2 * 2 * width + 3)  # a difference, a product and a sum for each pair
    assert step.graph.flops[backward] == pairs * (5 * 2 * width + 3 + 3)  # and their gradients: a sum for each head
    assert step.types[forward] == "float32" and step.unpriced == () and "flex_attention (1)" in "".join(step.notes)
    alone = export_module("odd_kinds:Flex", ["2,32,16"], False, eager=True)
    number = alone.graph.kinds.index("flex_attention")
    assert alone.graph.flops[number] == step.graph.flops[forward]
    whole = 2 * 32 * 16 * 4 + 4 * 4  # bytes of queries, which are keys and values, too, and of the bias
    assert whole <= alone.graph.bytes_read[number] < whole + 32  # and of the one block that no mask leaves out


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_products_under_autocast_have_its_type(kind: str, training: bool, kinds: Path) -> None:
    source = export_module(f"odd_kinds:Autocast(kind='{kind}')", ["4,8"], training, loss="sum")
    products = [number for number, name in enumerate(source.graph.kinds) if name == "mm"]
    assert [source.types[number] for number in products] == ["bfloat16"] * (1 + training)
    assert source.graph.bytes_written[products[0]] == 4 * 8 * 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "loss", "note"),
    [
        ("dictionary", "cross_entropy", "cross-entropy of the last dimension of output scores"),
        ("dictionary", "mean_square:inner.square", "mean square error of output inner.square"),
        ("dataclass", "cross_entropy", "cross-entropy of the last dimension of output logits"),
        ("dataclass", "output", "output loss, which is the loss itself"),
        ("pair", "mean_square:second", "mean square error of output second"),
        ("pair", "sum", "sum of all outputs"),
        ("numbers", "sum", "sum of all outputs"),
        ("numbers", "output:b", "output b, which is the loss itself"),
    ],
)
def test_outputs_and_losses(form: str, loss: str, note: str, kinds: Path) -> None:
    named = f"odd_kinds:Forms(form='{form}')"
    assert "addmm" in export_module(named, ["2,8"], False).graph.kinds
    source = export_module(named, ["2,8"], True, loss=loss)
    assert source.notes == (f"loss of the training step: {note} (--loss chooses another)",)
    assert "mm" in source.graph.kinds


def test_inputs_by_name_and_in_dictionaries(kinds: Path) -> None:
    inputs = ["batch.image=2,8", "batch.text.tokens=int64:2,5"]
    assert export_module("odd_kinds:Dictionary", inputs, False).graph.kinds == ("addmm", "embedding", "sum", "add")
    assert export_module("odd_kinds:Dictionary()", [*inputs, "scale=2,1"], False).graph.kinds[-1] == "mul"
    assert "mm" in export_module("odd_kinds:Dictionary", [*inputs, "scale=2,1"], True).graph.kinds


@pytest.mark.parametrize(
    ("named", "inputs", "options", "message"),
    [
        ("Branch", ["2,8"], {}, r"forward needs the value of a tensor .*use torch.where or torch.cond"),
        (
            "Derivative",
            ["2,8"],
            {},
            r"forward transforms a function by torch.func .*; write the derivative by ordinary",
        ),
        ("Jagged", ["2,8", "3,8"], {}, r"forward makes nested \(jagged\) tensors.*; pad the sequences to one length"),
        ("Large", ["2,1048576"], {}, r"only be built with its weights, which do not fit.*take numbers from the const"),
        ("Half", ["2,8"], {}, r"different types, bfloat16 and float32.*write the type before the shape"),
        ("Half", ["int64:2,8"], {}, r"different types, bfloat16 and int64.*write the type before the shape"),
        ("Item", ["2,9"], {}, r"must have same reduction dim.*check the shapes of --input"),
        ("Item", ["2,8", "3"], {}, r"takes 2 positional arguments but 3 were given; give --input for each tensor"),
        ("Item(3)", ["2,8"], {}, r"takes 1 positional argument but 2 were given.*mine:Network\(width=64\)"),
        ("Item(width=open('x'))", ["2,8"], {}, r"with literals as arguments"),
        ("Item(**{})", ["2,8"], {}, r"\*\* is not a literal"),
        ("Item().a", ["2,8"], {}, r"'Item\(\).a' is not a name"),
        ("Item(", ["2,8"], {}, r"with literals as arguments"),
        ("Item", ["x=2,8", "x=2,9"], {}, r"--input x stands twice"),
        ("Item", ["x=2,8", "x.y=2,9"], {}, r"x is a tensor already"),
        ("Item", ["=2,8"], {}, r"--input =2,8: this is not a shape"),
        ("Forms", ["2,8"], {"training": True, "loss": "hinge"}, r"--loss hinge: write one of cross_entropy"),
        ("Forms", ["2,8"], {"training": True, "loss": "sum:nothing"}, r"no such output; the outputs are scores, inner"),
        ("Forms", ["2,8"], {"training": True, "loss": "output"}, r"its shape is \(2, 4\), but a loss is one number"),
        ("Forms('numbers')", ["2,8"], {"training": True}, r"the outputs are single numbers; choose --loss sum"),
        ("Forms(form='none')", ["2,8"], {}, r"forward returns no tensor"),
    ],
)
def test_refusals_have_a_cause_and_a_remedy(
    named: str, inputs: list[str], options: dict, message: str, kinds: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match=message) as error:
        export_module(f"odd_kinds:{named}", inputs, **{"training": False} | options)
    assert len(str(error.value)) < 600 and "\n" not in str(error.value)
    assert capfd.readouterr().err == ""  # torch prints nothing about its own work
