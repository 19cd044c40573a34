import pytest

from pipeline.analysis import composition as corpus
from pipeline.blocks.dag.dependencies import Kind
from pipeline.report import plots
from pipeline.report.corpus import plots as corpus_plots
from tests.analysis import synthetic


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_equal_frames_give_equal_bytes(kind: str) -> None:
    sweep, results = synthetic.sweep("0"), synthetic.results()
    first = plots.render(plots.figure_3(sweep, results), kind)
    assert first == plots.render(plots.figure_3(sweep.copy(), results.copy()), kind)
    assert first != plots.render(plots.figure_3(synthetic.sweep("0", 0.01), results), kind)
    assert b"matplotlib" not in first.lower() or kind == "svg"


def test_example_marks_every_slot_twice() -> None:
    rows = synthetic.examples()
    block = rows[rows["block_id"] == rows["block_id"].iloc[0]]
    figure = plots.example(block)
    assert len(figure.axes) == 4
    assert all(len(ax.patches) == 5 for ax in figure.axes)
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == list(block.iloc[0]["instructions"])


def test_the_corpus_has_a_line_for_every_source_and_two_bars_for_every_kind() -> None:
    blocks, dags, _ = synthetic.corpus()
    figure = corpus_plots.corpus(corpus.describe(synthetic.pieces(blocks, dags)))
    lengths, orders, kinds, ready = figure.axes
    assert [line.get_label() for line in lengths.lines] == ["ffprobe", "qt56"]
    for ax in (lengths, orders):
        assert all(sum(line.get_ydata()) == pytest.approx(1) for line in ax.lines)  # shares of the source's blocks
    assert len(kinds.patches) == 2 * len(Kind)
    assert len(ready.lines) == 3


def test_names_as_the_paper_writes_them() -> None:
    assert plots.label("popocs_150") == "POPOCS @150"
    assert plots.label("sinkhorn") == "Sinkhorn"
    assert plots.label("random_legal") == "Random legal"
    assert plots.colour("a scheduler of tomorrow").startswith("#")
