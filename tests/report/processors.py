"""Made-up results of methods on processor models."""

from __future__ import annotations

from itertools import product

import pandas as pd

from pipeline.lab.shared_tables import PARTS
from pipeline.processors.tables import DEVIATIONS, TIMELINES
from tests.report import made

JUDGES = {"atom": "atom", "haswell": "haswell", "haswell_100": "haswell"}  # -> the processor that it judges for
LEVELS = {
    ("random_legal", "none"): 1.02,
    ("gcc", "none"): 1.0,
    ("learned_atom", "greedy"): 0.93,
    ("cp_sat", "none"): 0.92,
}


def results() -> pd.DataFrame:
    """Ratios as LEVELS on atom, half as far from 1 elsewhere; CP-SAT was run on atom alone."""
    rows = []
    to_gcc = {"comparison": "ratio", "baseline": "gcc"}
    for tested, ((method, decoder), level) in product(("test_5", "test_10_40"), LEVELS.items()):
        place = {"set": tested, "method": method, "decoder": decoder, "n": 500}
        for judge, target in JUDGES.items():
            if method == "cp_sat" and judge != "atom":
                continue
            ratio = level if judge == "atom" else (1 + level) / 2
            judged = place | {"experiment": "processors", "target": target, "judge": judge, "baseline": "gcc"}
            rows += [
                judged | to_gcc | {"metric": "cycles", "value": ratio},
                judged | to_gcc | {"metric": "cycles", "baseline": "best", "value": ratio / 0.92},
                judged | to_gcc | {"metric": "mean_cycles", "value": ratio},
                judged | {"metric": "fewer_cycles_share", "value": 0.5},
                judged | {"metric": "equal_cycles_share", "value": 0.3},
                judged | {"metric": "more_cycles_share", "value": 0.2},
                judged | {"metric": "same_order_share", "value": 0.1},
            ]
        if method != "gcc":
            time = {"metric": "microseconds_per_block", "value": 1234.0 * level}
            timed = "processors_speed_zen4" if method == "learned_atom" else "processors_speed"
            rows.append(place | {"experiment": timed, "target": "atom"} | time)
        if method == "cp_sat":
            proven = place | {"experiment": "processors", "target": "atom", "judge": "atom"}
            proven |= {"metric": "proven_optimal_share"}
            rows += [proven | {"value": 0.97}, proven | {"lengths": "2-20", "value": 0.99}]
    return made.results(rows)


def fresh() -> pd.DataFrame:
    """The same ratios, for the experiment on development blocks and fresh blocks."""
    on = {"test_5": "development_10_40", "test_10_40": "fresh_10_40"}
    rows = results()
    rows = rows[rows["experiment"] == "processors"]
    return rows.assign(experiment="schedulers", set=rows["set"].map(on))


def guesses() -> pd.DataFrame:
    """First guesses 0.3% over the best orders, 0.4% over where the processor was not seen; times; equal calls."""
    rows = []
    for target in ("atom", "haswell"):
        place = {"experiment": "first_guess", "set": "fresh_guess_10_40", "target": target, "judge": target, "n": 500}
        place |= {"decoder": "none", "metric": "cycles", "comparison": "ratio"}
        for method, level in (("first_guess", 1.003), ("search", 1.001), ("unseen_atom_haswell", 1.007)):
            rows += [place | {"method": method, "baseline": "best", "value": level}]
            rows += [place | {"method": method, "baseline": "first_guess", "value": level / 1.003}]
        for method, budget in product(("first_guess", "search"), (1, 10)):
            timed = {
                "experiment": "time_against_quality",
                "set": "fresh_guess_10_40",
                "target": target,
                "method": method,
            }
            timed |= {"decoder": f"evaluations_{budget}"}
            rows.append(timed | {"metric": "microseconds_per_block", "value": 40.0 * budget})
            rows.append(
                timed | {k: place[k] for k in ("judge", "metric", "comparison")} | {"baseline": "best", "value": 1.01}
            )
    for target, method, calls in product(
        ("atom", "haswell", "all"), ("learned", "search", "random"), (1, 3, 10, 30, 100)
    ):
        called = {"experiment": "equal_calls", "set": "fresh_guess_10_40", "target": target, "method": method}
        called |= {"decoder": f"calls_{calls}", "metric": "cycles", "comparison": "ratio", "baseline": "search"}
        rows.append(called | {"judge": "llvm_mca", "value": {"learned": 0.98, "search": 1.0, "random": 1.2}[method]})
    return made.results(rows)


def agreement() -> pd.DataFrame:
    """Atom is equal everywhere, haswell in 99 of 100 orders of random sequences."""
    rows = []
    for target, (tested, equal) in product(
        ("haswell", "atom"), {"random_sequences": 0.99, "latency_development": 1.0}.items()
    ):
        place = {"experiment": "processor_agreement", "set": tested, "target": target, "judge": "model"}
        place |= {"baseline": "llvm_mca", "n": 5000}
        share = 1.0 if target == "atom" else equal
        values = {"equal_cycles_share": share, "equal_blocks_share": share, "rank_correlation": share}
        values |= {"absolute_cycles_difference": 1 - share, "largest_cycles_difference": 30 * (share < 1)}
        values |= {"orders": 25000.0}
        rows += [place | {"metric": name, "value": value} for name, value in values.items()]
    return made.results(rows)


def deviations() -> pd.DataFrame:
    rows = [
        ("random_sequences", "haswell", "units", 7, 2, "setb %al; mul %edx", 8.0, 7.0),
        ("random_sequences", "haswell", "memory_barrier", 43, 2, "mfence; mov (%rcx),%rdx", 8.0, 10.0),
        ("latency_development", "haswell", "units", 1, 2, "setb %al; mul %edx", 8.0, 7.0),
    ]
    return pd.DataFrame(rows, columns=DEVIATIONS.schema.names)


def by_length() -> pd.DataFrame:
    rows = [
        made.PLAIN
        | {"experiment": "processors", "set": "test_10_40", "target": target, "method": method, "decoder": decoder}
        | {"metric": "cycles", "comparison": "ratio", "baseline": "gcc", "judge": judge, "by": "length", "part": part}
        | {"rank": rank, "value": level, "low": level - 0.01, "high": level + 0.01, "n": 100}
        for judge, target in JUDGES.items()
        for (method, decoder), level in LEVELS.items()
        for rank, part in enumerate(("8-10", "11-15", "16-20"))
    ]
    return pd.DataFrame(rows, columns=PARTS.schema.names)


def examples() -> pd.DataFrame:
    rows = [
        (rank, f"block{rank}", place, title, slot, f"op{slot}", slot, 2, 9 - place)
        for rank in range(2)
        for place, title in enumerate(("input", "GCC", "learned", "best"))
        for slot in range(4)
    ]
    return pd.DataFrame(rows, columns=TIMELINES.schema.names)
