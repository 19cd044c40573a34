"""The operator's section and rows, on made-up measurements."""

import numpy as np
import pandas as pd
import pytest

from pipeline.analysis import operator_results, tidy
from pipeline.report.operator import projection as operator
from pipeline.report.operator import projection_plots as operator_plots
from tests.analysis import synthetic

SETTINGS = synthetic.params().residuals
NOTHING = pd.DataFrame(columns=operator_results.SPEED)


def test_residuals_become_rows_at_the_default_and_after_some_iterations() -> None:
    rows = operator_results.residual_rows(synthetic.residuals(), [20]).set_index(["scheduler", "metric"])["value"]
    assert rows["cyclic", "residual_median_10"] == 0.5 == rows["cyclic", "residual_median_10_after_20"]
    assert rows["extrapolated", "residual_max_5"] == 1e-5
    assert rows["nearest", "residual_max_5"] == 4e-7
    assert ("cyclic", "residual_median_10_after_60") not in rows and ("cyclic", "straggler_share_10") not in rows
    assert rows["extrapolated_alone", "straggler_share_5"] == 0


def test_speedups_are_ratios_of_seconds_and_growth_is_that_of_random_dags() -> None:
    rows = operator_results.speed_rows(synthetic.speed())
    assert list(rows.columns) == tidy.COLUMNS
    values = rows.set_index(["scheduler", "metric"])["value"]
    assert values["extrapolated", "speedup_over_qpth_10"] == pytest.approx(400)
    assert values["nearest", "speedup_over_cyclic_loop_20"] == pytest.approx(125)
    assert np.isnan(values["extrapolated", "speedup_over_linsatnet_20"])  # it failed
    assert values["extrapolated", "growth_exponent"] == pytest.approx(2)
    assert not any("speedup_over_cyclic_5" in metric or "speedup_over_nearest" in metric for _, metric in values.index)


def test_published_and_fresh_rows_of_the_operator_stand_side_by_side() -> None:
    fresh = operator_results.residual_rows(synthetic.residuals(), [20])
    published = operator_results.speed_rows(synthetic.speed())
    merged = tidy.merge(synthetic.results(), published, fresh)
    assert len(merged) == len(synthetic.results()) + len(published) + len(fresh)
    assert not merged.duplicated(["experiment", "scheduler", "decoder", "seed", "metric"]).any()


def test_the_section_orders_methods_and_names_failures() -> None:
    shown = operator.section(synthetic.residuals(), synthetic.speed(), SETTINGS)
    cells = [[*row[:4], row[6], row[9]] for row in shown.residuals[:5]]
    assert cells == [
        ["5", "softmax", "cyclic", "20", "0.75", "-"],
        ["5", "softmax", "cyclic", "60", "0.25", "-"],
        ["5", "softmax", "extrapolated", "20", "2.0e-05", "1.0e-05"],
        ["5", "softmax", "extrapolated", "60", "2.0e-05", "1.0e-05"],
        ["5", "softmax", "nearest", "-", "4.0e-07", "-"],
    ]
    assert shown.blocks[0] == ["5", "900", "8.9"]
    assert shown.failures == [["LinSATNet", "20", "ended by signal 9 \\| out of memory"]]
    assert ["extrapolated", "3.00", "2.00"] in shown.growth and ["qpth", "3.00", "-"] in shown.growth


def test_nothing_measured_is_no_figure() -> None:
    none = synthetic.residuals().iloc[:0]
    assert operator.figures(none, NOTHING, SETTINGS) == {}
    assert operator.section(none, NOTHING, SETTINGS).speed == []


def test_figures_have_a_panel_for_each_length_and_a_line_for_each_peer() -> None:
    panels = operator_plots.residuals(synthetic.residuals(), SETTINGS.tolerance).axes
    assert [ax.get_title(loc="left") for ax in panels] == ["5 instructions", "10 instructions"]
    assert all(len(ax.lines) == 3 * 2 + 1 for ax in panels)
    seconds, memory = operator_plots.speed(synthetic.speed()).axes
    assert len(seconds.lines) == 6 and len(memory.lines) == 5
    scaled = [line.get_ydata() for line in seconds.lines if line.get_linestyle() == ":"]
    assert scaled[0][-1] == pytest.approx(8e-6 * 64**2)  # from a batch of 32 to one of 256
