"""The section on imitators: every cell from its row, marks from the values, figures that hold the data."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pandas as pd
import pytest

from pipeline.analysis import exactness as measured
from pipeline.report import plots
from pipeline.report.imitation import comparison as imitation
from pipeline.report.imitation import goals as imitation_goals
from pipeline.report.imitation.rows import decoders, leading, set_label
from pipeline.report.templates import template
from tests.analysis import imitations, synthetic

SETTINGS = synthetic.params().imitations
NAMES = {
    f"imitation_{name}"
    for name in ("length", "legal_orders", "class", "reliability", "scaling", "transfer", "training")
}


@pytest.fixture(scope="module")
def tables() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, imitation.Settings]:
    """Rows in no order of their own."""
    results = imitations.results().sample(frac=1, random_state=0)
    return results, imitations.parts(), imitations.history(), SETTINGS


@pytest.fixture(scope="module")
def found(tables: tuple) -> imitation.Section:
    return imitation.section(*tables)


@pytest.fixture(scope="module")
def drawn(tables: tuple) -> dict:
    return imitation.figures(*tables)


def small(value: float, digits: int = 1, unit: str = "%", half: float = 1.0) -> str:
    return f"{value:.{digits}f}{unit}<br><small>{value - half:.{digits}f} to {value + half:.{digits}f}</small>"


def test_every_cell_of_the_main_table_is_that_of_its_row(found: imitation.Section) -> None:
    wanted = []
    always = "100.0%<br><small>100.0 to 100.0</small>"
    for split, n in imitations.TESTED.items():
        shown = [("Attention pointer", "greedy", 0.0), ("Attention pointer", "beam search", 0.01)]
        shown += [("Attention pointer", "one sample", -0.08)]
        lines = [(name, decoder, imitations.LEVEL[split] + more) for name, decoder, more in shown]
        lines += [("Random legal", "-", 0.3), ("Input order", "-", 0.35), ("Critical path", "-", 0.4)]
        for name, decoder, exact in lines:
            speed = "-"
            if split == "test_4_40" and decoder in ("greedy", "beam search"):
                speed = {"greedy": "9,120<br><small>8,800 to 9,300</small>"}.get(
                    decoder, "3,456<br><small>3,400 to 3,500</small>"
                )
            shares = [small(100 * value) for value in (exact, exact - 0.1, exact + 0.05)]
            tau = small((1 - exact) / 5, 3, "", 0.01)
            wanted.append([set_label(split), name, decoder, *shares, tau, always, speed, f"{n:,}"])
    assert found.main == wanted
    assert found.seeds_head[3:] == ["5 instructions", "4 to 40, same programs", "4 to 40, unseen programs"]
    assert found.by_seed[2] == ["Attention pointer", "greedy", "2", "91.2%", "81.2%", "60.2%"]
    assert len(found.by_seed) == 3
    assert found.sizes == [["Attention pointer", "1,204,000", "2.4", "2,400,000"]]


def test_goals_stand_beside_the_paper_and_what_was_reached(found: imitation.Section) -> None:
    assert found.goals_head == ["Question", "Paper", "Floor", "Goal", "Reached, greedy", "Reached, beam search"]
    five, tau, same, unseen, valid, speed = found.goals
    assert five[1:4] == ["39.7%", "82.0%", "≥ 90.0%"] and five[4] == "91.0% **met**<br><small>90.0 to 92.0</small>"
    assert tau[1:4] == ["0.222", "0.034", "≤ 0.020"]
    assert tau[4] == "0.018 **met**, not certain<br><small>0.008 to 0.028</small>"
    assert same[1:4] == ["-", "72.0%<br><small>4 to 20</small>", "≥ 80.0%"] and "81.0% **met**" in same[4]
    assert unseen[1:4] == ["-", "-", "≥ 65.0%"] and unseen[4].startswith("60.0% **missed**<br>")
    assert valid[1:4] == ["93.52%", "100.0%", "≥ 100.0%"] and "100.0% **met**" in valid[5]
    assert speed[3:] == [
        "≥ 5,000",
        "9,120 **met**<br><small>8,800 to 9,300</small>",
        "3,456 **missed**<br><small>3,400 to 3,500</small>",
    ]


def goals(rows: pd.DataFrame) -> list[list[str]]:
    return imitation_goals.table(rows[(rows["seed"] == "all") & (rows["split"] != "training")])[1]


def changed(metric: str, split: str, **values: float) -> pd.DataFrame:
    rows = imitations.main_results()
    own = (rows["metric"] == metric) & (rows["split"] == split) & (rows["decoder"] == "greedy")
    for name, value in values.items():
        rows.loc[own, name] = value
    return rows


def test_marks_follow_the_data() -> None:
    exact = goals(changed("exact_match", "test_5", value=0.8999, ci_low=0.88, ci_high=0.92))[0]
    assert exact[4] == "90.0% **missed**, not certain<br><small>88.0 to 92.0</small>"
    assert "92.0% **met**" in exact[5]  # of the other decoder
    tau = goals(changed("kendall_tau_distance", "test_5", value=0.03, ci_low=0.029, ci_high=0.031))[1]
    assert tau[4] == "0.030 **missed**<br><small>0.029 to 0.031</small>"
    edge = goals(changed("exact_match", "test_programs_4_40", value=0.65, ci_low=np.nan, ci_high=np.nan))[3]
    assert edge[4] == "65.0% **met**"


def test_one_set_with_an_illegal_order_misses_the_goal_of_all() -> None:
    valid = goals(changed("valid_share", "test_4_40", value=0.9999, ci_low=0.9998, ci_high=1.0))[4]
    assert valid[4] == "99.99% **missed**, not certain<br><small>99.98 to 100.0</small>"
    assert "100.0% **met**" in valid[5]


def test_what_was_not_measured_is_neither_met_nor_missed() -> None:
    rows = imitations.main_results()
    missing = goals(rows[(rows["metric"] != "blocks_per_second") & (rows["split"] != "test_5")])
    assert [line[4] for line in (missing[0], missing[5])] == ["not measured"] * 2


def test_the_ablation_names_encoder_head_and_decoder_best_first(found: imitation.Section) -> None:
    assert len(found.ablation) == 3 * (3 + 1 + 4 + 4)
    first, last = found.ablation[0], found.ablation[-1]
    assert first[:3] == ["attention that sees the dependencies", "pointer", "one sample"]
    assert first[3:] == [
        small(74), small(64), small(0.052, 3, "", 0.01), "100.0%<br><small>100.0 to 100.0</small>", "1,200,000"
    ]  # fmt: skip
    assert last[:4] == ["LSTM", "popocs", "best legal order", small(45)]
    valid = {(line[1], line[2]): line[6] for line in found.ablation}
    assert valid["sinkhorn", "Hungarian"] == small(93) and valid["pairwise", "greedy"].startswith("100.0%")


def test_scaling_takes_its_axes_from_the_sizes(found: imitation.Section, drawn: dict) -> None:
    assert [line[:3] for line in found.scaling[:2]] == [
        ["training blocks", "1,000", "1,200,000"],
        ["training blocks", "10,000", "1,200,000"],
    ]
    assert found.scaling[-1] == ["width", "1,000,000", "2,764,800", small(78)]
    blocks, width = drawn["imitation_scaling"].axes
    assert list(blocks.lines[0].get_xdata()) == [1e3, 1e4, 1e5, 1e6]
    assert list(width.lines[0].get_xdata()) == [75 * w**2 for w in (32, 64, 128, 192)]
    assert list(blocks.lines[0].get_ydata()) == pytest.approx([0.45, 0.56, 0.67, 0.78])
    assert blocks.get_xscale() == width.get_xscale() == "log" and blocks.get_ylim() == width.get_ylim()


def test_a_library_left_out_costs_its_points(found: imitation.Section, drawn: dict) -> None:
    assert [line[0] for line in found.left_out] == list(imitations.LIBRARIES)
    assert found.left_out[0] == ["qtcore", small(79), small(69), "-10.0"]
    ax = drawn["imitation_transfer"].axes[0]
    assert [text.get_text() for text in ax.get_yticklabels()][:3] == ["all", "ffprobe", "without qtcore"]
    assert len(ax.texts) == 6 * 6 and ax.texts[0].get_text() == "75.0"
    values = ax.images[0].get_array()
    assert values.shape == (6, 6) and values[2, 2] == pytest.approx(0.69)


def test_figures_hold_the_parts(drawn: dict) -> None:
    assert set(drawn) == NAMES
    parts = imitations.parts().query("scheduler == 'attention_pointer' and decoder == 'greedy'")
    length = drawn["imitation_length"]
    assert [ax.get_title(loc="left") for ax in length.axes] == ["4 to 40, same programs", "4 to 40, unseen programs"]
    wanted = parts.query("by == 'length' and split == 'test_4_40'")["exact_match"]
    assert list(length.axes[0].lines[0].get_ydata()) == list(wanted)
    assert len(length.axes[0].lines) == 4 and len(length.axes[0].collections) == 4  # curves and intervals
    orders = drawn["imitation_legal_orders"].axes[1]
    assert orders.get_xscale() == "log"
    assert list(orders.lines[1].get_xdata()) == pytest.approx([1, 2, 3, 5, 10, 30, 100, 1e3, 1e6, 1e12], rel=0.2)
    classes = drawn["imitation_class"].axes
    assert len(classes) == 3
    assert [text.get_text() for text in classes[0].get_yticklabels()][-1] == "integer"  # the most frequent on top
    assert "n = 20k" in [text.get_text() for text in classes[1].texts]


def test_reliability_shows_confidence_exact_match_and_counts(drawn: dict) -> None:
    axes = drawn["imitation_reliability"].axes
    assert len(axes) == 6
    rows = imitations.parts().query("by == 'confidence' and split == 'test_5'")
    diagonal, curve = axes[0].lines
    assert list(diagonal.get_xdata()) == list(diagonal.get_ydata()) == [0, 1]
    assert list(curve.get_xdata()) == list(rows["confidence"]) and list(curve.get_ydata()) == list(rows["exact_match"])
    assert [bar.get_height() for bar in axes[3].patches] == list(rows["n_blocks"])
    assert [bar.get_width() for bar in axes[3].patches][-2:] == pytest.approx([0.04, 0.01])


def test_training_curves_are_means_over_seeds(drawn: dict) -> None:
    loss, exact = drawn["imitation_training"].axes
    assert len(loss.lines) == 2 * 4 and len(exact.lines) == 4  # two splits, three seeds and their mean; one split
    last = imitations.history().query("step == 16000 and split == 'development'")["exact_match"]
    assert exact.lines[-1].get_ydata()[-1] == pytest.approx(last.mean())


def test_equal_frames_give_equal_bytes(tables: tuple, drawn: dict) -> None:
    again = imitation.figures(*tables)
    for name in ("imitation_length", "imitation_class"):
        assert plots.render(again[name], "png") == plots.render(drawn[name], "png")


def render(section: imitation.Section) -> str:
    return template("imitation/comparison.md.j2").render(imitation=section)


def test_the_template_shows_every_figure_once(found: imitation.Section) -> None:
    text = render(found)
    assert "Not measured yet" not in text
    assert {name for name in NAMES if text.count(f"figures/{name}.png") == 1} == NAMES


def test_without_rows_every_experiment_is_named_with_its_command(tables: tuple) -> None:
    results, parts, history, settings = tables
    nothing = imitation.section(results[:0], parts[:0], history[:0], settings)
    assert imitation.figures(results[:0], parts[:0], history[:0], settings) == {}
    text = render(nothing)
    for name in ("imitation", "imitation_ablation", "imitation_scaling", "imitation_transfer"):
        assert f"Not measured yet: `snakemake data/published/{name}.done` trains" in text
    assert "|" not in text and "figures/" not in text


def test_one_experiment_does_not_need_the_others(tables: tuple) -> None:
    results, parts, history, settings = tables
    for name in ("imitation", "imitation_ablation", "imitation_scaling", "imitation_transfer"):
        alone = results[results["experiment"] == name]
        assert render(imitation.section(alone, parts[:0], history[:0], settings)).count("Not measured yet") == 3


def test_sets_and_models_stand_as_the_parameters_list_them(tables: tuple) -> None:
    results, parts, history, settings = tables
    main = settings["imitation"]
    turned = {"imitation": main.model_copy(update={"tested": main.tested[::-1], "baselines": ["input_order"]})}
    found = imitation.section(results, parts, history, turned)
    assert found.main[0][0] == "4 to 40, unseen programs" and found.main[-1][:2] == ["5 instructions", "Input order"]
    assert [line[1] for line in found.main[3:6]] == ["Critical path", "Random legal", "Input order"]


def test_the_leading_decoder_is_the_first_of_the_head() -> None:
    for head in ("pointer", "pairwise", "sinkhorn", "popocs"):
        known = import_module(f"pipeline.blocks.models.heads.{head}")
        names = next(thing.decoders for thing in vars(known).values() if hasattr(thing, "decoders"))
        assert leading(pd.DataFrame({"decoder": sorted(names)})) == names[0], head
    rows = pd.DataFrame({"decoder": ["sample", "beam", "greedy", "hungarian"]})
    assert leading(rows) == "greedy" and leading(rows[rows["decoder"] == "sample"]) == "sample"
    assert leading(pd.DataFrame({"decoder": ["of tomorrow"]})) == "of tomorrow"
    assert decoders(rows) == ["greedy", "beam", "hungarian", "sample"]


def test_made_up_parts_are_named_as_the_real_ones() -> None:
    """Of blocks with as many instructions and legal orders as the lower ends say."""
    named = {
        "length": (imitations.LENGTHS, [2, 4, 6, 8, 11, 16, 21, 31, 41], "n_instructions"),
        "legal_orders": (imitations.LEGAL_ORDERS, [1, 2, 3, 5, 10, 30, 100, 1e3, 1e6, 1e12], "n_legal_orders"),
    }
    for by, (names, values, column) in named.items():
        n = 41 if by == "length" else 2
        frame = pd.DataFrame({"n_instructions": n, "n_legal_orders": 1.0}, index=range(len(values)))
        frame[column] = values
        exact, classes = pd.Series(1.0, frame.index), pd.Series("integer", frame.index)
        made = measured._parts(("e", "s", "m", "greedy", "0"), exact, frame, classes, synthetic.params().evaluation)
        assert tuple(row[6] for row in made if row[5] == by) == names
