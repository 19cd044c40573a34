"""The page on the projection: a line for each measurement, with the numbers of the right rows."""

from __future__ import annotations

import pandas as pd

from pipeline.operator.page import decoding, learning, price, projection
from tests.report import made

NOISES, LENGTHS = ("noise_1.75", "noise_10"), ("5", "10")


def test_learning_has_a_line_for_each_measured_operator() -> None:
    shown = learning.section(made.evidence(made.reproduction("operator_learning")))
    sinkhorn, popocs = shown["learned"].lines
    assert sinkhorn[:2] == ["`full`", "Sinkhorn"] and popocs[:2] == ["`full`", "POPOCS @20"]
    assert sinkhorn[3] == "-" and popocs[3] == "+0.0120 <small>[+0.0100 to +0.0140]</small>"
    assert sinkhorn[2].startswith("58.0%") and sinkhorn[7].startswith("60.0%") and sinkhorn[8] == "-"
    assert not shown["attribution"]
    assert not learning.section(made.evidence(made.reproduction("quick")))["learned"]


def test_the_attribution_is_shown_with_its_range() -> None:
    place = {"experiment": "operator_learning_attribution", "value": 0.25, "low": 0.2, "high": 0.3}
    shares = [place | {"method": "popocs_nearest", "metric": name} for name in learning._ATTRIBUTED.values()]
    cell = "25.0% <small>[20.0% to 30.0%]</small>"
    shown = learning.section(made.evidence(made.results([*shares, shares[0] | {"method": "sinkhorn"}])))
    assert shown["attribution"].lines == [["`full`", "POPOCS nearest", cell, cell]]


def test_projections_are_in_sequence_and_failures_are_named() -> None:
    shown = projection.section(made.evidence(residuals=made.residuals(), peers=made.peers()))
    assert [[*row[:4], row[6], row[9]] for row in shown["residuals"].lines[:5]] == [
        ["5", "softmax", "cyclic", "20", "0.75", "-"],
        ["5", "softmax", "cyclic", "60", "0.25", "-"],
        ["5", "softmax", "extrapolated", "20", "2.0e-05", "1.0e-05"],
        ["5", "softmax", "extrapolated", "60", "2.0e-05", "1.0e-05"],
        ["5", "softmax", "nearest", "-", "4.0e-07", "-"],
    ]
    assert shown["blocks"].lines[0] == ["5", "900", "8.9"]
    qpth = next(row for row in shown["speed"].lines if row[:2] == ["10", "qpth"])
    assert qpth == ["10", "qpth", "0.4", "400", "200", "1.0e-07", "1.0e-06", "3", "4", "-"]
    extrapolated = next(row for row in shown["speed"].lines if row[:2] == ["10", "extrapolated"])
    assert extrapolated[3:5] == ["-", "0.5"]
    assert shown["failures"].lines == [["LinSATNet", "20", "ended by signal 9 \\| out of memory"]]
    assert ["extrapolated", "3.00", "2.00"] in shown["growth"].lines
    assert ["qpth", "3.00", "-"] in shown["growth"].lines


def test_without_measurements_there_is_no_table_and_no_figure() -> None:
    shown = projection.section(made.evidence())
    assert not any(shown[name] for name in ("blocks", "residuals", "speed", "growth", "failures"))
    assert not shown["figures"]
    assert not any(decoding.section(made.evidence()).values())


def test_the_price_of_the_baseline_is_that_of_its_rows() -> None:
    of = {"experiment": "baseline_price", "metric": "seconds", "comparison": "ratio", "seed": "all", "low": 1.0, "n": 5}
    work = (("extrapolated", "40", 1.2), ("order", "all", 1.3), ("extrapolated", "5", 1.1), ("sinkhorn", "5", 1.4))
    rows = [of | {"method": method, "lengths": n, "value": x, "high": x + 0.1} for method, n, x in work]
    assert price.section(made.evidence(made.results(rows)))["table"].lines == [
        ["the console command", "all", "1.30 <small>[1.00 to 1.40]</small>"],
        ["training, Sinkhorn", "5", "1.40 <small>[1.00 to 1.50]</small>"],
        ["projection, extrapolated", "5", "1.10 <small>[1.00 to 1.20]</small>"],
        ["projection, extrapolated", "40", "1.20 <small>[1.00 to 1.30]</small>"],
    ]
    assert not price.section(made.evidence())["table"]


def decoded() -> pd.DataFrame:
    """Two noises, two lengths, two relaxations, three decoders; every value identifies its row."""
    rows = []
    for a, noise in enumerate(NOISES):
        for n in LENGTHS:
            place = {"experiment": "operator_decoding", "set": noise, "lengths": n, "seed": "none", "n": 2000}
            for b, relaxation in enumerate(("none", "time_indexed")):
                for c, decoder in enumerate(("hungarian", "topological", "best")):
                    pair = place | {"method": relaxation, "decoder": decoder}
                    exact = 0.8 - 0.3 * a - int(n) / 100 + 0.02 * b + 0.04 * c
                    rows.append(pair | {"metric": "exact_match", "value": exact})
                    rows.append(pair | {"metric": "kendall_tau_distance", "value": 1 - exact})
                    rows.append(pair | {"metric": "valid_share", "value": 1.0 if c else 0.9 + b / 100})
                    if b:
                        less = {"comparison": "difference", "baseline": "none"}
                        rows.append(pair | less | {"metric": "exact_match", "value": 0.02})
                    if c:
                        rows.append(pair | {"metric": "gap", "value": 0.1 if c == 1 else 0.0})
                rows.append(
                    place | {"method": relaxation, "decoder": "best", "metric": "optimal_share", "value": 0.999}
                )
            for metric, value in (("converged_share", 0.995), ("residual_max", 2.5e-4)):
                rows.append(place | {"method": "time_indexed", "metric": metric, "value": value})
    for n in LENGTHS:
        value = 1e6 / int(n)
        speed = {"metric": "blocks_per_second", "value": value, "low": value - 100, "high": value + 100, "lengths": n}
        rows.append({"experiment": "operator_decoding", "set": "speed", "decoder": "hungarian", "seed": "none"} | speed)
    return made.results(rows).sample(frac=1, random_state=0)


def test_cells_of_decoding_are_those_of_their_rows() -> None:
    shown = decoding.section(made.evidence(decoded()))
    pairs = ["Relaxation", "Decoder"]
    assert shown["exact"].head == pairs + [f"n = {n}, noise {noise}" for noise in ("1.75", "10") for n in (5, 10)]
    assert shown["hardest"] == "10" and shown["n_blocks"] == "2,000 of n = 5, 2,000 of n = 10"
    assert shown["exact"].lines[0] == ["row softmax", "Hungarian", "75.0%", "70.0%", "45.0%", "40.0%"]
    assert shown["exact"].lines[-1] == ["Time indexed", "best legal order", "85.0%", "80.0%", "55.0%", "50.0%"]
    assert shown["valid"].lines == [
        ["row softmax", "Hungarian"] + 4 * ["90.0%"],
        ["Time indexed", "Hungarian"] + 4 * ["91.0%"],
        ["all", "smallest of the legal decoders"] + 4 * ["100.0%"],
    ]
    first = ["less row softmax", "Time indexed", "Hungarian"]
    assert shown["added"].lines[0] == first + 4 * ["+2.0 <small>[+1.0 to +3.0]</small>"]
    assert shown["gap"].head[2:] == ["n = 5", "n = 10", "proven, n = 5", "proven, n = 10"]
    assert shown["gap"].lines[:2] == [
        ["row softmax", "topological fill", "10.00%", "10.00%", "-", "-"],
        ["row softmax", "best legal order", "0.00%", "0.00%", "99.9%", "99.9%"],
    ]
    assert shown["converged"].lines[0] == ["1.75", "5", "99.5%", "2.5e-04"] and len(shown["converged"].lines) == 4
    both = ["200,000 <small>[199,900 to 200,100]</small>", "100,000 <small>[99,900 to 100,100]</small>"]
    assert shown["speed"].lines == [["Hungarian", *both]]


def test_the_winner_is_the_largest_and_those_in_its_interval_are_counted() -> None:
    assert decoding.section(made.evidence(decoded()))["best"].lines[0] == [
        "5", "1.75", "Time indexed", "best legal order", "85.0% <small>[84.0% to 86.0%]</small>", "1 of 5"
    ]  # fmt: skip


def test_an_illegal_order_of_a_legal_decoder_shows() -> None:
    rows = decoded()
    illegal = (rows["metric"] == "valid_share") & (rows["lengths"] == "10") & (rows["decoder"] == "best")
    rows.loc[illegal, "value"] = 0.5
    last = decoding.section(made.evidence(rows))["valid"].lines[-1]
    assert last == ["all", "smallest of the legal decoders", "100.0%", "50.0%", "100.0%", "50.0%"]


def test_speed_alone_is_shown_alone() -> None:
    shown = decoding.section(made.evidence(decoded().query("set == 'speed'")))
    assert shown["speed"] and not shown["exact"]
