"""The graphs that are cached in git: complete, small, and with the work and weights that the literature gives."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from learned_schedulers.graphs.read.unroll import CARRIED_IN
from pipeline.graph_sets import exported
from pipeline.graph_sets.architectures import ARCHITECTURES, Repeated
from pipeline.lab.graph_table import read_graphs


def test_every_architecture_is_cached_and_nothing_else() -> None:
    assert set(ARCHITECTURES) == {name for name in exported.names() if not name.startswith("light_")}
    assert len([name for name in exported.names() if name.startswith("light_")]) == 9
    assert sum(path.stat().st_size for path in exported.FOLDER.glob("*.parquet")) < 5_000_000


@pytest.mark.parametrize("name", exported.names())
def test_cached_graphs_are_sound(name: str) -> None:
    graphs = {graph.variant: graph for graph in read_graphs(exported.FOLDER / f"{name}.parquet")}
    for variant, graph in graphs.items():
        assert (graph.name, graph.variant) == (name, variant)
        assert graph.flops.sum() > 0 and graph.bytes_kept.sum() > 0
        for source in graph.children.sources.tolist():
            assert (
                graph.bytes_written[source] > 0 or graph.kinds[source] == CARRIED_IN
            )  # a result that is read has a size
    if name in ARCHITECTURES:
        assert set(graphs) == {"forward", "training"} | ({"cell"} if ARCHITECTURES[name].step else set())
        forward, training = graphs["forward"], graphs["training"]
        assert len(training) > 2 * len(forward)
        assert 2.7 < training.flops.sum() / forward.flops.sum() < 3.1  # two gradients of every product
        assert training.bytes_kept.sum() == pytest.approx(forward.bytes_kept.sum(), rel=0.01)  # and constants


@pytest.mark.parametrize(
    ("name", "batch", "multiply_adds", "parameters"),
    [
        # FLOPs of an image and weights of the network: published tables of torchvision 0.28 and timm 1.0.
        ("inception_v3", 32, 5.71e9, 23.83e6),  # without the auxiliary classifier
        ("resnet50", 32, 4.09e9, 25.56e6),
        ("vit_b_16", 32, 17.56e9, 86.57e6),
        ("nasnet_a_large", 8, 23.89e9, 88.75e6),
        ("hrnet_w18", 32, 4.32e9, 21.30e6),
        # Per token: all parameters of products, and 12 layers of attention to 128 and 256 tokens of width 768.
        ("bert_base", 16 * 128, 85.1e6 + 24.0e6 + 12 * 2 * 128 * 768, 109.5e6),
        ("gpt2", 8 * 256, 123.5e6 + 12 * 2 * 256 * 768, 124.4e6),
        # Per image and text: patches of 32 x 32 x 3 to width 768, 12 layers on 50 tokens of it, 12 on 77 of width
        # 512 (12 x width squared per token, and attention to all tokens), both projections to 512, 32 similarities.
        (
            "clip_vit_b_32",
            32,
            49 * 32 * 32 * 3 * 768
            + 50 * 12 * (12 * 768**2 + 2 * 50 * 768)
            + 77 * 12 * (12 * 512**2 + 2 * 77 * 512)
            + (768 + 512) * 512
            + 32 * 512,
            151.3e6,
        ),
        ("light_resnet50", 1, 4.09e9, 25.56e6),
        ("light_vgg19", 1, 19.63e9, 143.67e6),
    ],
)
def test_work_and_weights_are_the_published_ones(
    name: str, batch: int, multiply_adds: float, parameters: float
) -> None:
    graph = exported.load(name, "forward")
    assert graph.flops.sum() / batch / 2 == pytest.approx(multiply_adds, rel=0.03)
    assert graph.bytes_kept.sum() / 4 == pytest.approx(parameters, rel=0.01)


def test_repeating_is_upsampling_to_the_nearest_element() -> None:
    x = torch.arange(2 * 3 * 5 * 4.0).reshape(2, 3, 5, 4)
    for factor in (2, 8):
        assert torch.equal(Repeated(factor)(x), torch.nn.functional.interpolate(x, scale_factor=factor, mode="nearest"))
    assert "index" not in " ".join(exported.load("hrnet_w18", "training").kinds)


def test_what_is_not_cached_is_named() -> None:
    with pytest.raises(ValueError, match="no exported graph 'alexnet'; the graphs are bert_base"):
        exported.load("alexnet", "forward")
    with pytest.raises(ValueError, match=r"no variant 'cell' of the exported graph resnet50; its variants are forward"):
        exported.load("resnet50", "cell")


def test_reading_needs_neither_torch_nor_the_extras() -> None:
    code = (
        "import sys; from pipeline.graph_sets.exported import load; load('resnet50', 'forward'); "
        "print(sorted({'torch', 'torchvision', 'timm', 'transformers', 'onnx'} & set(sys.modules)))"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"
