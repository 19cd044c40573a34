"""Made-up results of users' files: what orders are worth, proofs, speed, mutated files."""

from __future__ import annotations

import math
from itertools import product

import pandas as pd

from tests.report import made

COUNTED = {"low": math.nan, "high": math.nan}
METHODS = {"search": 0.0, "cp_sat": -0.01, "learned": 0.02, "imitator": 0.09}  # -> cycles over GCC's, beyond the best
LEVELS = {"atom": 0.91, "skylake": 0.97}  # of the search under `single_thread`
PRICE = 0.015


def cycles() -> pd.DataFrame:
    """CP-SAT serves atom alone and is best there, the network does not serve skylake; `tso` costs PRICE more."""
    rows: list[dict] = []
    for (target, level), memory in product(LEVELS.items(), ("tso", "single_thread")):
        place = {"experiment": "own_cycles", "set": "test_10_40", "dependencies": memory, "target": target, "n": 8765}
        more = level + PRICE * (memory == "tso")
        judged = place | {"metric": "cycles", "comparison": "ratio", "baseline": "gcc", "judge": target}
        absent = ("cp_sat", "learned") if target == "skylake" else ()
        ratios = {name: more + beyond for name, beyond in METHODS.items() if name not in absent}
        ratios["best"] = min(ratios.values())
        rows += [judged | {"method": name, "value": ratio} for name, ratio in ratios.items()]
        rows.append(place | {"metric": "choice_share", "value": 0.5 + 0.25 * (memory != "tso")})
    return made.results(rows)


def gains() -> pd.DataFrame:
    """Proposed orders of atom, a twentieth of which is no gain, and confirmed ones, which are a little better."""
    rows: list[dict] = []
    for method, (decoder, share, loop) in product(
        ("search", "policy"), (("proposed", 0.95, 1.01), ("confirmed", 1, 0.98))
    ):
        place = {"experiment": "own_gains", "target": "atom", "dependencies": "tso", "method": method}
        place |= {"decoder": decoder}
        to_before = {"comparison": "ratio", "baseline": "before", "judge": "atom"}
        rows.append(COUNTED | place | {"metric": "changed", "value": 5000.0, "n": 70_000})
        rows.append(COUNTED | place | {"metric": "pairs_split", "value": 0.0, "n": 27_000})
        rows.append(place | {"metric": "gains_confirmed", "value": share, "low": share, "high": share})
        rows.append(place | to_before | {"metric": "cycles", "value": 0.84})
        rows.append(place | to_before | {"metric": "loop_cycles", "value": loop, "low": loop, "high": loop})
        rows.append(COUNTED | place | to_before | {"metric": "worst_loop_cycles", "value": loop + 0.2})
    return made.results(rows)


def speed() -> pd.DataFrame:
    """The command with two methods, and a long file by the first of them."""
    place = {"experiment": "own_speed", "target": "haswell", "dependencies": "tso"}
    rows: list[dict] = []
    for method, rate in (("policy", 41_000.0), ("learned", 7_000.0)):
        numbers = {"blocks_per_second": rate, "start_up_seconds": 2.5, "command_seconds": 12.34, "lost_lines": 0.0}
        rows += [
            place | {"set": "all", "method": method, "metric": name, "value": value, "n": 300_000}
            for name, value in numbers.items()
        ]
    numbers = {"blocks_per_second": 14_000.0, "start_up_seconds": 0.9, "command_seconds": 2.3, "lost_lines": 0.0}
    rows.append(place | {"set": "sections", "method": "policy", "metric": "read_seconds", "value": 2.9, "n": 8_000})
    distinct = place | {"set": "distinct", "method": "search", "n": 20_000}
    rows += [distinct | {"metric": name, "value": value} for name, value in numbers.items()]
    long = place | {"set": "streamed", "method": "policy", "n": 10_000_000}
    numbers = {"peak_memory_gb": 1.234, "command_seconds": 321.0, "lost_lines": 3.0}
    return made.results(rows + [long | {"metric": name, "value": value} for name, value in numbers.items()])


def proofs() -> pd.DataFrame:
    """Blocks of two formats by two methods, controls, assembly at two levels, mutated files of two formats."""
    rows: list[dict] = []
    for name, method in product(("lines", "assembly", "all"), ("policy", "search", "all")):
        numbers = {
            "blocks": 50_000.0,
            "blocks_changed": 45_690.0,
            "blocks_run": 45_678.0,
            "blocks_that_cannot_run": 12.0,
        }
        place = COUNTED | {"experiment": "own_blocks", "set": name, "method": method}
        numbers |= {"blocks_that_differ": 0.0}
        rows += [place | {"metric": metric, "value": value} for metric, value in numbers.items()]
    for method, detected in (("random", {}), ("broken", {"share_detected": 0.91})):
        numbers = {
            "blocks_changed": 300.0,
            "blocks_run": 290.0,
            "blocks_that_differ": len(detected) * 264.0,
            **detected,
        }
        place = COUNTED | {"experiment": "own_blocks", "set": "assembly", "method": method}
        rows += [place | {"metric": metric, "value": value} for metric, value in numbers.items()]
    for name in ("all", "O0", "O3"):
        failing = 1.0 if name in ("all", "O3") else 0.0
        numbers = {"files": 50.0, "files_that_fail": failing, "lines_wrong": failing, "backtraces_wrong": 0.0}
        numbers |= {"exceptions_not_caught": 0.0, "variable_locations_changed": 0.25 * failing}
        place = COUNTED | {"experiment": "own_assembly", "set": name}
        rows += [place | {"metric": metric, "value": value} for metric, value in numbers.items()]
    for name in ("sql", "archive", "all"):
        numbers = {"files": 2000.0, "crashes": 0.0, "hangs": 0.0, "wrong_outputs": 0.0, "changed_inputs": 0.0}
        place = COUNTED | {"experiment": "own_mutations", "set": name}
        rows += [place | {"metric": metric, "value": value} for metric, value in numbers.items()]
    return made.results(rows)


def generated() -> pd.DataFrame:
    """Programs of two families in all formats, a construct with a group and one without, and a control."""
    rows: list[dict] = []
    place = COUNTED | {"experiment": "own_generated", "method": "random_legal"}
    numbers = {"programs": 5100.0, "blocks": 2_000_000.0, "blocks_changed": 1_234_567.0, "orders": 2_100_000.0}
    numbers |= {"programs_different": 0.0}
    constructs = {"alias_set": (12.0, 345.0), "usdt": (6.0, 78.0)}
    counted = {
        f"construct_{name}_{kind}": pair[k]
        for name, pair in constructs.items()
        for k, kind in enumerate(("programs", "blocks"))
    }
    for name in ("assembly", "object", "program", "csmith", "cplusplus", "all"):
        refused = {} if name in ("csmith", "cplusplus", "all") else {"programs_refused": 9.0}
        of_set = numbers | refused | (counted if name == "all" else {})
        rows += [place | {"set": name, "metric": metric, "value": value} for metric, value in of_set.items()]
    control = place | {"set": "all", "method": "every_block", "metric": "share_detected", "value": 0.875, "n": 800}
    return made.results([*rows, control])


def projects() -> pd.DataFrame:
    """Two projects by two builds, of which one fails, a control, what three builds cost, and what two programs gain."""
    rows: list[dict] = []
    for name, variant in product(("zlib", "lua"), ("search-atom", "random-0", "broken-flags")):
        passes = 0.0 if variant == "broken-flags" or (name, variant) == ("lua", "random-0") else 1.0
        place = COUNTED | {"experiment": "own_projects", "set": name, "method": variant}
        numbers = {"passing": passes, "blocks": 2000.0, "blocks_changed": 100.0 + 900 * (variant == "random-0")}
        rows += [place | {"metric": metric, "value": value} for metric, value in numbers.items()]
    total = COUNTED | {"experiment": "own_projects", "set": "all"}
    rows.append(total | {"method": "all", "metric": "projects_passing", "value": 1.0, "n": 2})
    rows.append(total | {"method": "broken-flags", "metric": "broken_seen", "value": 2.0, "n": 2})
    for method, ratio in (("plain", 1.0), ("cold", 1.5), ("warm", 1.04)):
        place = {"experiment": "own_wrapper", "set": "zstd", "method": method, "n": 75}
        rows.append(place | {"metric": "build_seconds", "value": 10 * ratio, "low": 10 * ratio, "high": 10 * ratio})
        to_plain = {"metric": "build_ratio", "comparison": "ratio", "baseline": "plain"}
        rows += [place | to_plain | {"value": ratio, "low": ratio, "high": ratio}] if method != "plain" else []
    for name, method in product(("bzip2", "lua"), ("plain", "control", "search", "random_legal")):
        place = {"experiment": "own_run_times", "set": name, "method": method, "n": 24}
        ratio = {"plain": 1.0, "control": 1.0, "search": 0.97 if name == "lua" else 1.005, "random_legal": 1.03}[method]
        rows.append(COUNTED | place | {"metric": "run_seconds", "value": ratio})
        to_plain = {"metric": "run_time", "comparison": "ratio", "baseline": "plain"}
        interval = {"value": ratio, "low": ratio - 0.01, "high": ratio + 0.01}
        rows += [place | to_plain | interval] if method != "plain" else []
    return made.results(rows)


def results() -> pd.DataFrame:
    """All of them."""
    return pd.concat([cycles(), gains(), speed(), proofs(), generated(), projects()], ignore_index=True)
