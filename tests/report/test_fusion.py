"""The page on fusion: its tables agree with the rows, its figures can be drawn, and it says what is missing."""

from __future__ import annotations

import io
import re
from functools import partial

import pandas as pd
import pytest
from PIL import Image

from learned_schedulers.figures import render
from pipeline.collection.page import collection
from pipeline.collection.page.collection import COLLECTION
from pipeline.fusion.page import answers, compiler, gpu, learning, pictures, plans
from pipeline.fusion.page.gpu import ON_GPU
from pipeline.fusion.page.shared import ACCELERATORS, FUSION, INDUCTOR, JOINT, duration
from pipeline.lab.claims import declared
from pipeline.lab.page import build
from pipeline.lab.page.numbers import times
from pipeline.lab.page.pages import pages
from pipeline.lab.page.tables import Table, filled
from tests.report import fusion, made
from tests.report.fusion import FACTORS, PUBLISHED, cost

FULL = fusion.evidence(*PUBLISHED)
(PAGE,) = (page for page in pages() if page.name == "fusion")
MISSING = "(?:Not measured yet|Its numbers are missing)"
COMMANDS = {
    FUSION: "snakemake data/published/fusion.done",
    ACCELERATORS: "snakemake data/published/fusion_accelerators.done",
    JOINT: "snakemake data/published/fusion_joint.done",
    INDUCTOR: "git restore reports/published/inductor",
    ON_GPU: "git restore reports/published/fusion_on_gpu",
    COLLECTION: "python -m benchmarks.data_collection",
}


page = partial(made.page, "fusion")


def cells(table: Table, name: str) -> dict[str, str]:
    """The line of this name by its headings, without intervals."""
    (line,) = (line for line in table.lines if made.without_anchors(line[0]) == name)
    return dict(zip(table.head, [text.split(" <small>")[0] for text in line], strict=True))


@pytest.mark.slow
def test_every_figure_is_shown_and_can_be_drawn() -> None:
    text, drawn = page(FULL)
    assert drawn == {
        "fusion_groups", "fusion_kernels", "fusion_training", "inductor_run_times", "inductor_kernels",
        "collection_sizes", "opening_fusion",
    }  # fmt: skip
    assert all(f"figures/{name}.png" in text for name in drawn)
    for draw in build.page_figures(made.declared_page("fusion"), FULL).values():
        assert Image.open(io.BytesIO(render(draw()))).size[0] > 300


def test_every_claim_is_asked_and_answered() -> None:
    names = {claim.name for claim in declared() if claim.row["experiment"] in PAGE.experiments}
    assert set(answers.QUESTIONS) | set(collection.QUESTIONS) == names
    table, of_collection = (part.section(FULL)["questions"] for part in (answers, collection))
    assert len(table.lines) + len(of_collection.lines) == len(names)
    gain = cells(table, "Are its plans faster than annealing's with equal evaluations?")
    assert gain["Measured"] == f"{100 * (1 - cost('go_fusion') / cost('fusion_annealing')):.2f}%"
    assert (gain["Wanted"], gain["Papers"], gain["Reached"]) == ("> 0", "-", "**yes**")
    many = cells(of_collection, "How much faster are 4,096 CartPoles at once than Gymnasium's, one by one?")
    assert (many["Wanted"], many["Papers"], many["Measured"]) == ("> 1×", "up to 1,024× (GPU)", "2,048×")


def test_methods_are_compared_with_the_default_and_the_best_of_all_plans() -> None:
    whole, small = plans.section(FULL)["methods"].values()
    line = cells(whole, "GO's fusion")
    over = f"{100 * (cost('go_fusion') - 1):+.2f}%"
    assert line["Against the best default"] == line["Kernels, against the best default"] == over
    assert line["Against the best known"] == f"{100 * (cost('go_fusion') / 0.5 - 1):+.2f}%"
    assert "Share of the head room" not in whole.head and "Against the best of all plans" not in whole.head
    assert cells(small, "GO's fusion")["Share of the head room"] == "75.0%"


def test_accelerators_have_a_column_each() -> None:
    against_none, against_rule, small = plans.section(FULL)["accelerators"].values()
    assert against_none.head == against_rule.head == ["Method", "T4", "V100", "A100"]
    saved = cost("go_fusion") / cost("separate") - 1
    assert cells(against_none, "GO's fusion")["V100"] == f"{100 * saved:+.2f}%"
    assert cells(small, "GO's fusion")["T4"] == f"{100 * (cost('go_fusion') / 0.5 - 1):+.2f}%"


def test_a_gpu_is_beside_what_the_cost_expects() -> None:
    shown = gpu.section(FULL)
    line = cells(shown["table"], "`lstm`, small")
    assert list(line.values())[1:3] == ["306", "23"]
    assert [line[name] for name in ("Expected", "Run as a CUDA graph")] == ["0.125", "0.500"]
    assert shown["saved"]["expected"] == "62.5%" and shown["seconds"]["stream"] == "4.9 µs"
    assert shown["agreement"] == {"kernels": "0.88", "stream": "0.75", "graph": "0.62"}


def test_joint_tasks_are_shown_on_both_links() -> None:
    tables = plans.section(FULL)
    line = cells(tables["joint"], "GO, all three tasks together")
    assert line["Against the best default, both links"] == f"{100 * (cost('go_joint') - 1):+.2f}%"
    peer = cells(tables["peers"], "GO, one task after the other")
    assert peer["PCIe"] == f"{100 * (cost('go_joint') / cost('go_joint_separate') - 1):+.2f}%"
    assert list(tables["graphs"]) == ["one device", "four devices, PCIe", "four devices, NVLink"]
    graph = cells(tables["graphs"]["one device"], "wavenet_36 forward")
    assert (graph["Operations"], graph["Best default"]) == ("1,234", "250 ms")
    assert graph["GO's fusion"] == f"{cost('go_fusion'):.3f}" and "Optimum" not in graph


def test_learning_is_compared_with_a_control_without_it() -> None:
    line = cells(learning.section(FULL)["worth"], "GO's fusion, zero shot")
    untaught = cost("go_fusion_zero_shot") / cost("go_fusion_untaught") - 1
    assert line["Against GO untaught"] == f"{100 * untaught:+.2f}%"
    assert learning.untaught(FULL.of("fusion_development")) == cost("go_fusion_untaught")
    assert learning.untaught(FULL.of("nothing")) is None


def test_kernels_before_and_after() -> None:
    counts = pictures.kernel_counts(FULL.table("parts", FUSION))
    assert list(counts.columns) == ["name", "method", "kernels"] and counts["method"].iloc[0] == "separate"
    assert pictures.kernel_counts(pd.DataFrame()).empty
    assert pictures.section(FULL)["of"] == "gnmt_4 training, operations 0 to 4"


def test_plans_are_drawn_from_published_text_as_well() -> None:
    titles = [[ax.get_title("left") for ax in pictures.groups(fusion.drawn(text)).axes] for text in (False, True)]
    assert titles[0] == titles[1] == [
        "No fusion: 2,951 kernels, 13.25 s, whole graph", "XLA's passes of 2023: 794 kernels, 40 µs, whole graph"
    ]  # fmt: skip


def test_operations_of_a_kernel_that_no_edge_joins_are_joined() -> None:
    parents = {0: [], 1: [0], 2: [], 3: [2]}
    assert set(pictures.links({0, 1, 2, 3}, parents)) == {(0, 1), (2, 3), (1, 2)}


def test_inductor_is_compared_with_its_control() -> None:
    shown = compiler.section(FULL)
    line = cells(shown["methods"], "Learned")
    assert (line["Against the control's upper end"], line["Share of the head room"]) == ("-25.00%", "50.0%")
    assert cells(shown["models"], "gru")["Default again (control)"] == "+0.00%"
    assert cells(shown["kernels"], "gru")["Fusion forbidden"] == "18"
    assert shown["rank_correlation"].startswith("0.62 (") and shown["head_room"].startswith("0.0% (")


def test_environments_are_compared_with_gymnasium() -> None:
    shown = collection.section(FULL)
    ways = cells(shown["ways"], "numba, blocks of environments")
    assert (ways["Environments"], ways["Million steps per second"]) == ("4,096", "205")
    assert (ways["Over Gymnasium, one by one"], ways["Calls per step of all"]) == ("2,048×", "2")
    factors = cells(shown["factorial"], "jax.jit, scan")
    assert list(factors.values())[1:] == [times(value) for value in FACTORS.values()]
    assert [line[0] for line in shown["strategies"].lines][-3:] == ["Unrolled 2", "Unrolled 16", "Best"]
    assert cells(shown["strategies"], "Unrolled 2")["MB moved, one iteration"] == "2.5"
    assert (
        shown["calls"].startswith("16× (")
        and cells(shown["scheduling"], "numba")["Over Gymnasium, one by one"] == "50×"
    )


def test_times_and_factors_as_people_read_them() -> None:
    assert [duration(seconds) for seconds in (13.25, 0.0042, 1.3e-5)] == ["13.25 s", "4.2 ms", "13 µs"]
    assert [times(value) for value in (0.5, 10.56, 1024.0)] == ["0.5×", "10.56×", "1,024×"]
    assert filled(Table(["A", "B"], [["x", "-"], ["y", "-"]], 1)) == Table(["A"], [["x"], ["y"]], 1)


@pytest.mark.slow
@pytest.mark.parametrize("missing", PUBLISHED)
def test_the_page_says_what_is_missing(missing: str) -> None:
    text, _ = page(fusion.evidence(*(name for name in PUBLISHED if name != missing)))
    assert not re.search(r"\bnan\b", text.lower())
    named = {name for name, command in COMMANDS.items() if re.search(rf"{MISSING}: `{re.escape(command)}`", text)}
    assert named == {missing} - {"fusion_development", "xla_fusions"}


def test_without_anything_the_page_says_what_to_run() -> None:
    text, drawn = page(fusion.evidence())
    assert not drawn and all(f"`{command}`" in text for command in COMMANDS.values())
    sections = [part for part in text.split("\n## ")[2:] if not part.startswith("All graphs")]
    assert len(sections) == 8 and all(re.search(f"{MISSING}: `", part) for part in sections)
