"""The page on the projection: a line for each measurement, with the numbers of the right rows."""

from __future__ import annotations

import pandas as pd

from pipeline.operator.page import decoding, learning, projection
from tests.report import made

NOISES, LENGTHS = ("noise_1.75", "noise_10"), ("5", "10")


def test_learning_has_a_line_for_each_measured_operator() -> None:
    shown = learning.section(made.evidence(made.reproduction("operator_learning")))
    sinkhorn, popocs = shown["learned"].lines
    assert sinkhorn[:2] == ["`full`", "Sinkhorn"] and popocs[:2] == ["`full`", "POPOCS @20"]
    assert sinkhorn[3] == "-" and popocs[3] == "+0.0120 <small>[+0.0100 to +0.0140]</small>"
    assert sinkhorn[2].startswith("58.0%") and sinkhorn[7].startswith("60.0%") and sinkhorn[8] == "-"
    assert not learning.section(made.evidence(made.reproduction("quick")))["learned"]


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
                    if b:
                        less = {"comparison": "difference", "baseline": "none"}
                        rows.append(pair | less | {"metric": "exact_match", "value": 0.02})
    return made.results(rows).sample(frac=1, random_state=0)


def test_cells_of_decoding_are_those_of_their_rows() -> None:
    shown = decoding.section(made.evidence(decoded()))
    pairs = ["Relaxation", "Decoder"]
    assert shown["exact"].head == pairs + [f"n = {n}, noise {noise}" for noise in ("1.75", "10") for n in (5, 10)]
    assert shown["n_blocks"] == "2,000 of n = 5, 2,000 of n = 10"
    assert shown["exact"].lines[0] == ["row softmax", "Hungarian", "75.0%", "70.0%", "45.0%", "40.0%"]
    assert shown["exact"].lines[-1] == ["Time indexed", "best legal order", "85.0%", "80.0%", "55.0%", "50.0%"]


def test_the_winner_is_the_largest_and_those_in_its_interval_are_counted() -> None:
    assert decoding.section(made.evidence(decoded()))["best"].lines[0] == [
        "5", "1.75", "Time indexed", "best legal order", "85.0% <small>[84.0% to 86.0%]</small>", "1 of 5"
    ]  # fmt: skip
