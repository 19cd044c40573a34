"""Experts' placements of layers: by hand, against all possible cuts, and on the networks that are cached in git."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from learned_schedulers.graphs.read.graph import Graph, Operations, graph
from pipeline.graph_sets import exported
from pipeline.graph_sets.architectures import ARCHITECTURES
from pipeline.graph_sets.experts import balanced, by_layers, layer_blocks, published
from pipeline.lab.graph_table import read_graphs

COMPONENTS = ["model", "encoder", "decoder", "layers", "0", "1", "2", "conv1", "layer2", "logits", "embedding"]
PATHS = st.lists(st.sampled_from(COMPONENTS), max_size=4).map(".".join)
EVERY = [graph for name in exported.names() for graph in read_graphs(exported.FOLDER / f"{name}.parquet")]


def of_paths(paths: list[str], kinds: list[str] | None = None, family: str = "mine") -> Graph:
    """A chain of operations with these module paths."""
    n = len(paths)
    counts = np.ones(n, np.int64)
    listed = Operations(kinds or ["add"] * n, 1.0 * counts, counts, counts, counts, layers=paths)
    return graph("mine", family, "forward", listed, np.arange(n - 1), np.arange(1, n))[0]


def of_sizes(sizes: list[int]) -> Graph:
    """A chain of layers with these numbers of operations, at least two each."""
    return of_paths([f"block_{k}.part_{i}" for k, size in enumerate(sizes) for i in range(size)])


def best_cuts(work: list[int], parts: int) -> tuple[int, ...]:
    """The best of all cuts: the smallest largest part, then the earliest first cut, then the same for the rest."""

    def key(cuts: tuple[int, ...]) -> list[int]:
        ends = [0, *cuts, len(work)]
        sums = [sum(work[begin:end]) for begin, end in pairwise(ends)]
        return [number for k, cut in enumerate([*cuts, 0]) for number in (max(sums[k:]), cut)]

    return min(combinations(range(1, len(work)), parts - 1), key=key)


@pytest.mark.parametrize(
    ("paths", "layers"),
    [
        # A stem before the layers and a head after them; a number after a name with a digit belongs to the name.
        (
            ["conv1", "bn1", "layer1.0.a", "layer1.0", "layer1.1.a", "layer1.1.b.0", "pool", "fc"],
            [0, 0, 1, 1, 2, 2, 3, 3],
        ),
        # A part of a larger module without numbered modules is a layer; the larger module is unknown.
        (["m.words.a", "m.words.b", "m", "m.h.0.a", "m.h.0.b", "m.top.a", "m.top.b"], [0, 0, 0, 1, 1, 2, 2]),
        # Single operations between layers belong to the layer that they read; in a chain that is the layer before.
        (["a_1.x", "a_1.y", "pool1", "a_2.x", "a_2.y"], [0, 0, 0, 1, 1]),
        # Operations of unknown paths; operations of a layer that come later, like gradients.
        (
            ["", "a.0.x", "", "a.1.x", "a.1.y", "loss", "", "a.1.y", "a.1.x", "", "a.0.y"],
            [0, 0, 0, 1, 1, 2, 2, 1, 1, 1, 0],
        ),
        # No layer has several paths, so every path is a layer.
        (["embedding", "", "lstm", "embedding", "logits"], [0, 0, 1, 0, 2]),
        (["0", "1", "2", "1"], [0, 1, 2, 1]),
    ],
)
def test_layers_by_hand(paths: list[str], layers: list[int]) -> None:
    assert layer_blocks(of_paths(paths)).tolist() == layers


def test_what_reads_no_layer_before_belongs_to_the_one_behind() -> None:
    paths = ["a.0.x", "a.0.y", "words", "b.0.x", "b.0.y"]
    counts = np.ones(5, np.int64)
    listed = Operations(["add"] * 5, 1.0 * counts, counts, counts, counts, layers=paths)
    graph_of_layers = graph("mine", "mine", "forward", listed, np.array([0, 2, 3]), np.array([1, 3, 4]))[0]
    assert layer_blocks(graph_of_layers).tolist() == [0, 0, 1, 1, 1]


def test_products_begin_layers_where_no_path_is_known() -> None:
    kinds = ["Pad", "Conv", "Relu", "BatchNormalization", "Gemm", "Softmax"]
    assert layer_blocks(of_paths([""] * 6, kinds)).tolist() == [0, 0, 0, 0, 1, 1]
    assert layer_blocks(of_paths([""] * 3)).tolist() == [0, 0, 0]
    empty = of_paths([])
    assert [len(layer_blocks(empty)), len(by_layers(empty, 2)), len(balanced(empty, np.zeros(0), 2))] == [0, 0, 0]


@given(st.lists(PATHS, min_size=1, max_size=30), st.integers(1, 6), st.sampled_from(["mine", "gnmt", "rnnlm"]))
@example(["", "logits"], 3, "gnmt")
def test_every_placement_is_contiguous_on_existing_devices(paths: list[str], devices: int, family: str) -> None:
    drawn = of_paths(paths, family=family)
    blocks = layer_blocks(drawn)
    layers = blocks.max() + 1
    assert set(blocks.tolist()) == set(range(layers))
    for i in range(1, len(paths)):
        assert paths[i] or blocks[i] == blocks[i - 1]
    for placed in (by_layers(drawn, devices), balanced(drawn, np.ones(len(drawn)), devices)):
        assert placed.dtype == np.int32
        device = [set(placed[blocks == layer].tolist()) for layer in range(layers)]
        assert all(len(candidates) == 1 for candidates in device)
        sequence = [candidates.pop() for candidates in device]
        assert sequence == sorted(sequence)
        assert set(sequence) == set(range(min(devices, layers)))
    sizes = np.bincount(sequence_of(by_layers(drawn, devices), blocks))
    assert sizes.max() - sizes.min() <= 1
    papers = published(drawn, devices)
    assert papers is None or (papers.dtype == np.int32 and 0 <= papers.min() <= papers.max() < devices)
    assert papers is None or family != "mine"


def sequence_of(placed: np.ndarray, blocks: np.ndarray) -> np.ndarray:
    """Device of each layer."""
    return placed[np.unique(blocks, return_index=True)[1]]


@given(
    st.lists(st.tuples(st.integers(2, 4), st.integers(0, 9)), min_size=1, max_size=8),
    st.integers(1, 6),
)
@example([(2, 1), (2, 9), (2, 1), (2, 1)], 3)  # one layer decides; the layers after it are balanced nevertheless
@example([(2, 0)] * 5, 3)
def test_balanced_is_the_best_of_all_ways_to_cut(layers: list[tuple[int, int]], devices: int) -> None:
    drawn = of_sizes([size for size, _ in layers])
    seconds = np.array([work if i == size - 1 else 0.0 for size, work in layers for i in range(size)])
    placed = balanced(drawn, seconds, devices)
    cuts = best_cuts([work for _, work in layers], min(devices, len(layers)))
    expected = [sum(cut <= layer for cut in cuts) for layer in range(len(layers))]
    assert sequence_of(placed, layer_blocks(drawn)).tolist() == expected


@pytest.mark.parametrize(
    ("name", "layers"),
    [
        ("bert_base", 14),  # embeddings, 12 layers, head
        ("clip_vit_b_32", 1 + 12 + 1 + 12 + 1),  # images, then texts, then the comparison
        ("gnmt_4", 11),
        ("gnmt_8", 19),  # embedding, 9 encoders (one runs back), 8 decoders, logits
        ("gpt2", 14),
        ("hrnet_w18", 25),  # stem, 4 bottlenecks, 4 transitions, 8 modules, 7 of the head's branches, the head
        ("inception_v3", 17),
        ("nasnet_a_large", 24),  # stem, 2 stem cells, 18 cells, 2 reductions, head
        ("resnet50", 18),  # stem, 16 bottlenecks, head
        ("rnnlm_2", 4),
        ("rnnlm_8", 10),
        ("transformer_xl_8", 10),
        ("vit_b_16", 14),
        ("wavenet_36", 38),
        ("light_bvlc_alexnet", 8),
        ("light_densenet121", 121),
        ("light_vgg19", 19),
    ],
)
def test_layers_of_real_networks(name: str, layers: int) -> None:
    forward = exported.load(name, "forward")
    blocks = layer_blocks(forward)
    assert blocks.max() + 1 == layers
    if name in ARCHITECTURES:  # gradients have the layers of their forward operations
        training = exported.load(name, "training")
        of_path = dict(zip(forward.layers, blocks.tolist(), strict=True))
        for path, block in zip(training.layers, layer_blocks(training).tolist(), strict=True):
            assert of_path.get(path, block) == block or path in ("", "encoder")  # these modules contain layers


def test_layers_of_bottlenecks() -> None:
    resnet = exported.load("resnet50", "forward")
    paths = [[*dict.fromkeys(np.array(resnet.layers)[layer_blocks(resnet) == k].tolist())] for k in range(18)]
    assert paths[0] == ["conv1", "bn1", "relu", "maxpool"]
    assert {path.rsplit(".conv", 1)[0] for path in paths[4] if ".conv" in path} == {"layer2.0"}
    assert paths[17] == ["avgpool", "fc"]
    devices = [by_layers(resnet, 4)[resnet.layers.index(path)] for path in ("conv1", "layer2.0", "layer2.1", "fc")]
    assert devices == [0, 0, 1, 3]


@pytest.mark.parametrize("graph", EVERY, ids=lambda graph: f"{graph.name}-{graph.variant}")
def test_balanced_work_is_at_most_that_of_equal_numbers(graph: Graph) -> None:
    most = [
        np.bincount(placed, graph.flops, 4).max() for placed in (balanced(graph, graph.flops, 4), by_layers(graph, 4))
    ]
    assert graph.flops.max() <= most[0] <= most[1] * (1 + 1e-12)


def test_published_placement_of_translation() -> None:
    for variant in ("forward", "training"):
        translation = exported.load("gnmt_8", variant)
        where = {path: number for number, path in enumerate(translation.layers)}
        attention = translation.kinds.index("bmm")
        for devices, expected in ((8, [*range(8)]), (16, [*range(8)]), (4, [0, 0, 1, 1, 2, 2, 3, 3]), (1, [0] * 8)):
            placed = published(translation, devices)
            assert placed is not None
            for i, device in enumerate(expected):
                assert placed[where[f"encoder.{i}.gates"]] == placed[where[f"decoder.{i}.gates"]] == device
            assert placed[where["source"]] == placed[where["target"]] == placed[attention] == 0
            assert placed[where["backward_layer"]] == expected[1]
            assert placed[where["logits"]] == expected[-1]


def test_published_placement_of_language_models() -> None:
    language = exported.load("rnnlm_8", "training")
    where = {path: number for number, path in enumerate(language.layers)}
    placed = published(language, 3)
    assert placed is not None
    assert [placed[where[f"step.layers.{i}"]] for i in range(8)] == [0, 0, 0, 1, 1, 1, 2, 2]
    assert (placed[where["step.embedding"]], placed[where["step.logits"]]) == (0, 2)
    few = published(exported.long("rnnlm_2", 200), 4)
    assert few is not None and set(few.tolist()) == {0, 1}


@pytest.mark.parametrize("graph", EVERY, ids=lambda graph: f"{graph.name}-{graph.variant}")
def test_only_recurrent_networks_have_a_published_placement(graph: Graph) -> None:
    assert (published(graph, 4) is None) == (graph.family not in ("rnnlm", "gnmt"))


def test_a_recurrent_network_without_paths_has_no_published_placement() -> None:
    assert published(of_paths(["", ""], family="gnmt"), 2) is None


def test_faults() -> None:
    chain = of_sizes([2, 2])
    for place in (by_layers, published, lambda graph, devices: balanced(graph, np.ones(4), devices)):
        with pytest.raises(ValueError, match="0 devices; there must be at least one"):
            place(chain, 0)
    with pytest.raises(ValueError, match="graph mine: 4 operations, but 3 run times"):
        balanced(chain, np.ones(3), 2)
