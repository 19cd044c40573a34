"""The README's tables are those of the committed reports/results.csv (a run of one's own may differ)."""

from __future__ import annotations

import io
import re
import subprocess
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[1]
BLOCKS = ["test_5", "test_4_40", "test_programs_4_40"]
PROCESSORS = ["atom", "silvermont", "btver2", "haswell", "skylake", "znver4"]
TARGETS = ["proxy", "noisy", "bandwidth", "latency", "pcie", "nvlink"]
COLUMNS = [("quick", "full"), ("quick", "paper"), ("paper", "paper")]
LEARNED = [(mode, decoder) for mode in ("full", "paper") for decoder in ("hungarian", "best")]


def committed_rows() -> pd.DataFrame:
    """Every row of the results."""
    said = subprocess.run(["git", "show", "HEAD:reports/results.csv"], cwd=ROOT, check=True, capture_output=True)
    return pd.read_csv(io.StringIO(said.stdout.decode()), dtype={"seed": str})


def committed(*sets: str) -> pd.Series:
    """Values over all seeds by experiment, dependencies, method, decoder and metric, on the blocks of these sets."""
    rows = committed_rows()
    rows = rows[(rows.seed == "all") & rows.set.isin(sets)]
    plain = rows[rows.comparison == "value"]
    ratios = rows[(rows.comparison == "ratio") & (rows.metric == "cycles") & (rows.baseline == "gcc")]
    both = pd.concat(
        [plain[plain.judge == "none"], ratios.assign(metric=ratios.judge)]
    )  # a ratio is named by its judge
    return both.set_index(["experiment", "dependencies", "method", "decoder", "metric"]).value.sort_index()


def timed(experiment: str) -> dict[tuple[str, str], float]:
    """Microseconds a block for `atom`, over all series, by method and decoder."""
    rows = committed_rows()
    rows = rows[(rows.experiment == experiment) & (rows.set == "test_10_40") & (rows.judge == "none")]
    return dict(zip(zip(rows.method, rows.decoder, strict=True), rows.value, strict=True))


def rows(cells: int) -> list[list[str]]:
    """Rows of the README's tables of results that have so many cells."""
    found = [
        [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        for line in (ROOT / "README.md").read_text().splitlines()
        if line.startswith("| `") and line.count("%") >= 6
    ]
    return [row for row in found if len(row) == cells]


def text(value: pd.Series, *place: str) -> str:
    """Exact match and valid share of one scheduler, as the README writes them."""
    return ", ".join(f"{100 * value[(*place, metric)]:.1f}%" for metric in ("exact_match", "valid_share"))


def test_every_number_of_the_main_table_is_in_the_results() -> None:
    value = committed("test_5", "test_5_paper")
    assert len(rows(6)) == 7
    for scheduler, decoder, _, *cells in rows(6):
        for (experiment, mode), found in zip(COLUMNS, cells, strict=True):
            assert found == text(value, experiment, mode, scheduler, decoder), (scheduler, decoder, experiment, mode)


def test_every_number_of_the_operators_table_is_in_the_results() -> None:
    value = committed("test_5", "test_5_paper")
    assert len(rows(5)) == 4
    for scheduler, *cells in rows(5):
        for (mode, decoder), found in zip(LEARNED, cells, strict=True):
            assert found == text(value, "operator_learning", mode, scheduler, decoder), (scheduler, mode, decoder)


def test_every_number_of_the_imitators_table_is_in_the_results() -> None:
    lines = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("| `")]
    table = [line for line in lines if re.search(r"\d%, 0\.\d{3} \|", line)]
    assert len(table) == 7
    for line in table:
        scheduler, decoder, *cells = (cell.strip().strip("`") for cell in line.strip("|").split("|"))
        for name, found in zip(BLOCKS, cells, strict=True):
            experiment = "imitation_shipped" if scheduler == "shipped_imitator" else "imitation"
            value = committed(name)[experiment, "full", scheduler, decoder]
            assert found == f"{100 * value['exact_match']:.1f}%, {value['kendall_tau_distance']:.3f}", (line, name)


def test_every_number_of_the_schedulers_table_is_in_the_results() -> None:
    values = committed("test_10_40")
    ratio = values["processors", "full"]
    speed, once = (timed(name) for name in ("processors_speed", "processors_speed_zen4"))
    lines = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("| `")]
    table = [line for line in lines if re.search(r"\| [01]\.\d{4} \|", line)]
    assert len(table) >= 8
    for line in table:
        scheduler, decoder, *ratios, time = (cell.strip().strip("`") for cell in line.strip("|").split("|"))
        own = ratio[scheduler, decoder]
        for judge, found in zip(PROCESSORS, ratios, strict=True):
            assert found == (f"{own[judge]:.4f}" if judge in own else "-"), (line, judge)
        place = scheduler, decoder
        assert time == (f"{speed[place]:,.0f}" if place in speed else f"{once[place]:,.0f}*"), line
    policy, alone = (speed[method, "none"] for method in ("policy_refined", "cp_sat_alone"))
    prose = " ".join((ROOT / "README.md").read_text().split())
    assert f"is {alone / policy:.0f} times as fast as CP-SAT by itself" in prose


def test_the_numbers_of_the_prose_are_in_the_results() -> None:
    prose = " ".join((ROOT / "README.md").read_text().split())
    learned = committed("test_5")["operator_learning", "full"]
    for method in ("extrapolated", "nearest"):
        exact = learned[f"popocs_{method}"]
        filled, matched = (100 * exact[decoder, "exact_match"] for decoder in ("topological", "hungarian"))
        assert filled < matched and f"{filled:.1f}% instead of {matched:.1f}% for `{method}`" in prose
    for mode in ("full", "paper"):
        exact = committed("test_5", "test_5_paper")["operator_learning", mode].unstack().exact_match.unstack()
        trained = exact.loc[["sinkhorn", "popocs_20", "popocs_extrapolated", "popocs_nearest"]]
        assert (trained["best"] > trained["hungarian"]).all()
    ran = committed("all")["dag_verification", "full", "none", "none"]
    assert ran["different"] == 0 and f"{ran['undefined_flags_differ']:.0f} differed in flags" in prose
    runnable = ran["blocks"] * ran["runnable_share"]
    assert f"{runnable:,.0f} of {ran['blocks']:,.0f} blocks could be run" in prose
    cycles = committed("test_10_40")["processors", "full"]
    milp, random = (cycles[method, "none", "btver2"] for method in ("milp", "random_legal"))
    assert f"({milp:.4f} against {random:.4f})" in prose


def test_every_number_of_the_table_of_graphs_is_in_the_results() -> None:
    rows = committed_rows().query("experiment == 'devices' and set == 'unseen_real' and metric == 'makespan'")
    rows = rows[(rows.seed == "all") & (rows.baseline == "list_scheduling")]
    ratio = rows.set_index(["method", "decoder", "target"]).value
    readme = (ROOT / "README.md").read_text()
    table = re.findall(r"^\| `(\w+)` \| (best|spread) \| (.*) \|$", readme, re.MULTILINE)
    assert len(table) == 10
    for method, decoder, cells in table:
        assert cells.split(" | ") == [f"{ratio[method, decoder, target]:.3f}" for target in TARGETS], method


def test_what_is_said_of_methods_for_graphs_is_in_the_results() -> None:
    prose = " ".join((ROOT / "README.md").read_text().split())
    rows = committed_rows().query("experiment == 'devices' and seed == 'all' and judge == 'simulator'")
    real = rows[(rows.set == "unseen_real") & (rows.metric == "makespan")]
    gap = real.set_index(["baseline", "method", "decoder", "target"]).value["best", "list_scheduling", "best", "proxy"]
    assert f"list scheduling is {100 * (gap - 1):.1f}% from the best that is known" in prose
    randomised = real[(real.method == "randomised_list") & (real.baseline == "list_scheduling")]
    gain = 100 * (1 - randomised.set_index(["decoder", "target"]).value.unstack()[list(TARGETS[2:])])
    best, spread = (f"{gain.loc[rule].min():.0f}% to {gain.loc[rule].max():.0f}%" for rule in ("best", "spread"))
    assert f"is worth {best} by the paper's rule, and {spread} if schedules on few devices" in prose
    proven = rows[(rows.metric == "proven_optimal_share") & (rows.set == "unseen_small") & (rows.target == "proxy")]
    assert f"CP-SAT proves {100 * proven.value.item():.0f}% of the problems of up to 50" in prose


def test_what_is_said_of_the_operator_on_jobs_is_in_the_results() -> None:
    prose = " ".join((ROOT / "README.md").read_text().split())
    rows = committed_rows().query("experiment == 'devices' and set == 'unseen_small' and metric == 'makespan'")
    rows = rows[(rows.seed == "all") & (rows.baseline == "list_scheduling") & (rows.target == "proxy")]
    ratio = rows[rows.decoder == "best"].set_index("method")
    assert f"on {ratio.n.projected_slots} unseen graphs of up to 50" in prose
    said = {
        name: f"{row.value:.4f} [{row.low:.4f}, {row.high:.4f}]"
        for name, row in ratio.loc[["projected_slots", "unprojected_slots", "randomised_list"]].iterrows()
    }
    assert f"takes {said['projected_slots']} of list scheduling's time on the proxy" in prose
    assert f"without the projection {said['unprojected_slots']}, `randomised_list` {said['randomised_list']}" in prose


def test_every_number_of_the_table_of_policies_is_in_the_results() -> None:
    rows = committed_rows().query("experiment == 'gflownet' and metric == 'makespan' and decoder == 'best'")
    rows = rows[(rows.seed == "all") & (rows.baseline == "list_scheduling") & (rows.judge == "simulator")]
    ratio = rows.set_index(["set", "method", "target"]).value
    readme = (ROOT / "README.md").read_text()
    table = re.findall(r"^\| `(\w+)` \| ((?:\d\.\d{3} \| ){7}\d\.\d{3}) \|$", readme, re.MULTILINE)
    assert len(table) == 7
    for method, cells in table:
        expected = [
            ratio[name, method, target] for name in ("unseen_real", "unseen_synthetic") for target in TARGETS[:4]
        ]
        assert cells.split(" | ") == [f"{value:.3f}" for value in expected], method


def test_what_is_said_of_policies_is_in_the_results() -> None:
    prose = " ".join((ROOT / "README.md").read_text().split())
    rows = committed_rows().query("experiment == 'gflownet' and set == 'unseen_real' and metric == 'makespan'")
    rows = rows[(rows.seed == "all") & (rows.comparison == "ratio")]
    by_place = rows.set_index(["decoder", "baseline", "method", "target"]).sort_index()

    def said(decoder: str, baseline: str, method: str, target: str) -> str:
        row = by_place.loc[(decoder, baseline, method, target)]
        return f"{row.value:.3f} [{row.low:.3f}, {row.high:.3f}]"

    drawn = [said("best", "randomised_list", "gflownet_drawn", target) for target in TARGETS[1:4]]
    assert f"{drawn[0]} of its time on `noisy`, {drawn[1]} on `bandwidth`, {drawn[2]} on `latency`" in prose
    spread = said("spread", "randomised_list", "gflownet_drawn", "bandwidth")
    assert f"kept as well, on `bandwidth` {spread}" in prose
    known = [said("best", "heft", "gflownet_on_target", target) for target in TARGETS[2:4]]
    assert f"which knows it, too: {known[0]} and {known[1]}" in prose
    one = by_place.value
    assert (one["best", "randomised_list", "gflownet"][TARGETS[:4]] > 1).all()
    large = committed_rows().query("experiment == 'gflownet_large' and metric == 'makespan' and decoder == 'best'")
    large = large[(large.seed == "all") & (large.baseline == "randomised_list")].set_index(["method", "target"])
    rows_of = [large.loc["gflownet_drawn", target] for target in TARGETS[1:4]]
    three = [f"{row.value:.3f} [{row.low:.3f}, {row.high:.3f}] (`{row.name[1]}`)" for row in rows_of]
    assert f"1,000 operations it takes {three[0]}, {three[1]} and {three[2]} of randomised list" in prose
    alone = committed_rows().query("experiment == 'gflownet_one_graph' and metric == 'makespan' and decoder == 'best'")
    alone = alone[(alone.seed == "all") & (alone.baseline == "randomised_search") & (alone.method == "gflownet_drawn")]
    four = [
        f"{row.value:.3f} [{row.low:.3f}, {row.high:.3f}] (`{row.target}`)"
        for row in alone.set_index("target", drop=False).loc[TARGETS[:4]].itertuples()
    ]
    assert f"it takes {four[0]}, {four[1]}, {four[2]} and {four[3]} of the time of a randomised list" in prose
    exact = committed_rows().query("experiment == 'exact_flow' and metric == 'total_variation'").value
    assert f"a total variation of {exact.max():.3f} (goal" in prose


def test_what_is_said_of_executed_graphs_is_in_the_results() -> None:
    prose = " ".join((ROOT / "README.md").read_text().split())
    rows = committed_rows().query("experiment == 'this_machine'")
    ranks = rows[rows.metric == "rank_correlation"].set_index("target").value
    assert f"{rows.n[rows.metric == 'rank_correlation'].max()} of these graphs" in prose
    assert f"correlation of {ranks.proxy:.2f} (`proxy`), {ranks.pcie:.2f} (`pcie`" in prose
    assert f"{ranks.two_cores:.2f}" == f"{ranks.pcie:.2f}"
    assert f"{ranks.bandwidth:.2f} (`bandwidth`) and {ranks.latency:.2f} (`latency`)" in prose
    assert f"measured twice: {ranks.this_machine:.2f}" in prose
    makespans = rows[(rows.metric == "makespan") & (rows.baseline == "list_scheduling")].set_index("method")
    listed, drawn = (
        f"{row.value:.3f} [{row.low:.3f}, {row.high:.3f}]"
        for row in (makespans.loc["randomised_list"], makespans.loc["gflownet_drawn"])
    )
    assert f"{listed} of list scheduling's time there, the policy that is told drawn transfers (below) {drawn}" in prose
    assert f"each of {len(makespans)} methods" in prose
    assert f"one core {makespans.value.one_device:.3f}" in prose


def test_what_is_said_of_fresh_blocks_is_in_the_results() -> None:
    prose = " ".join((ROOT / "README.md").read_text().split())
    cycles = [committed(name)["schedulers", "full"] for name in ("fresh_10_40", "fresh_programs_10_40")]
    policy, alone = (
        [f"{of[method, 'none', 'atom']:.4f}" for of in cycles] for method in ("policy_refined", "cp_sat_alone")
    )
    assert f"it needs {policy[0]} of GCC's cycles there, {policy[1]} on those of other programs" in prose
    assert f"`cp_sat_alone` {alone[0]} and {alone[1]}" in prose


def test_what_is_said_of_orders_for_the_processor_at_hand_is_in_the_results() -> None:
    prose = " ".join((ROOT / "README.md").read_text().split())
    rows = committed_rows().query("experiment == 'hardware_znver4' and metric == 'cycles' and judge == 'hardware'")
    to_gcc = rows.set_index(["method", "target"])
    best, search = (to_gcc.loc[place] for place in (("best_of_random_orders", "none"), ("search", "znver4")))
    assert f"`search` {search.value:.4f} [{search.low:.4f}, {search.high:.4f}] of GCC's cycles" in prose
    assert f"the best of 20 random orders {best.value:.4f} [{best.low:.4f}, {best.high:.4f}]" in prose


def test_what_is_said_of_hardware_is_in_the_results() -> None:
    prose = " ".join((ROOT / "README.md").read_text().split())
    rows = committed_rows().query("experiment == 'hardware' and set == 'test_10_40'")
    to_gcc = rows[(rows.metric == "cycles") & (rows.judge == "hardware")].set_index(["method", "target"])
    for place in (("search", "atom"), ("best_of_random_orders", "none")):
        row = to_gcc.loc[place]
        assert f"{row.value:.4f} [{row.low:.4f}, {row.high:.4f}]" in prose
    methods = to_gcc.drop(["gcc_again", "random_orders", "best_of_random_orders"])
    assert (methods.high >= 1).all(), "a method is faster than GCC beyond the noise: say so"
    ranks = rows[(rows.metric == "rank_correlation") & (rows.baseline == "hardware")].set_index("judge").value
    models = ranks.drop(["itself", "another_series"])
    ceiling = rows[(rows.metric == "rank_correlation_ceiling") & (rows.judge == "another_series")].value.item()
    assert f"correlation of {models.min():.2f} to {models.max():.2f}, where" in prose
    assert f"would reach {ceiling:.2f}" in prose


def test_the_speed_of_ingestion_is_in_the_results() -> None:
    prose = " ".join((ROOT / "README.md").read_text().split())
    rows = committed_rows().query("experiment == 'ingest'")
    (corpus,) = rows.value[rows.metric == "wall_over_objdump"]
    programs = rows.value[rows.metric == "program_over_allowed"]
    assert f"takes {corpus:.2f} times as long as `objdump -d`" in prose
    assert f"{programs.min():.2f} to {programs.max():.2f} of that" in prose


def test_every_command_named_in_a_readme_starts_something() -> None:
    named = {
        module
        for page in [ROOT / "README.md", *ROOT.glob("*/**/README.md")]
        if ".venv" not in page.parts
        for module in re.findall(r"python -m ((?:pipeline|benchmarks)[\w.]+)", page.read_text())
    }
    assert "benchmarks.scheduler_speed" in named
    for module in named:
        path = ROOT / module.replace(".", "/")
        package = (path / "__main__.py").exists()
        assert package or '\nif __name__ == "__main__":' in path.with_suffix(".py").read_text(), module


def test_every_number_of_the_table_of_fusion_is_in_the_results() -> None:
    rows = committed_rows().query("experiment == 'fusion' and seed == 'all' and judge == 'fusion_cost'")
    rows = rows[rows.baseline == "default"]
    ratio = rows[rows.comparison == "ratio"].set_index(["set", "method", "metric"]).value
    shares = rows[rows.metric == "share_of_head_room"].set_index(["set", "method"])
    readme = (ROOT / "README.md").read_text()
    table = re.findall(r"^\| (.*) \| (\S+) \| (\S+) \| (\S+) \| ([^|]*\S) \|$", readme, re.MULTILINE)
    table = [cells for cells in table if re.fullmatch(r"[+-]?\d\.\d{3}%", cells[1])]
    methods = (
        *("separate", "loop_fusion", "xla_2023", "priority_fusion", "fusion_annealing"),
        *("go_fusion_untaught", "go_fusion", "go_fusion_zero_shot", "go_fusion_fine_tuned"),
    )
    assert len(table) == len(methods)
    whole, parts = "fusion_unseen", "fusion_unseen_parts"
    for method, (_, *cells) in zip(methods, table, strict=True):
        places = ((whole, "run_time", 3), (whole, "loop_time", 2), (parts, "run_time", 1))
        for cell, (name, metric, digits) in zip(cells, places, strict=False):
            assert float(cell.rstrip("%")) == round(100 * (ratio[name, method, metric] - 1), digits), (method, metric)
        share = shares.loc[(parts, method)]
        said = f"{100 * share.value:.0f}% [{100 * share.low:.0f}, {100 * share.high:.0f}]"
        assert cells[3] == ("below 0" if share.value < -0.01 else "0%" if share.value < 0.01 else said), method


def test_what_is_said_of_fusion_is_in_the_results() -> None:
    prose = " ".join((ROOT / "README.md").read_text().split())
    rows = committed_rows()
    rows = rows[rows.seed == "all"]

    def gain(experiment: str, method: str, baseline: str, **columns: str) -> str:
        chosen = rows[(rows.experiment == experiment) & (rows.method == method) & (rows.baseline == baseline)]
        chosen = chosen[(chosen.metric == "run_time") & (chosen.comparison == "ratio")]
        for name, value in columns.items():
            chosen = chosen[chosen[name] == value]
        (row,) = chosen.itertuples()
        return f"{100 * (1 - row.value):.1f}% [{100 * (1 - row.high):.1f}, {100 * (1 - row.low):.1f}]"

    joint = [gain("fusion_joint", "go_joint", peer, target="all") for peer in ("go_joint_separate", "default")]
    assert f"takes {joint[0]} less time than one after the other, and {joint[1]} less than the best rule's" in prose
    assert f"is level with it ({gain('fusion_joint', 'go_joint', 'go_joint_untaught', target='all')})" in prose
    compiled = {name: gain("inductor", name, "default", set="all") for name in ("best", "learned", "search", "control")}
    assert f"candidates takes {compiled['best']} less time than Inductor's default" in prose
    assert f"by the cost {compiled['learned']}, a search by measured time {compiled['search']}" in prose
    assert f"of the default differ by {compiled['control']}" in prose
    for model in ("cartpole", "norms", "shared"):
        assert f"{gain('inductor', 'learned', 'default', set=model).split()[0]} (`{model}`)" in prose
    assert "share_of_head_room" not in set(rows[rows.experiment == "inductor"].metric)
    (agreeing,) = rows[(rows.experiment == "xla_fusions") & (rows.metric == "agreeing_share") & (rows.set == "all")].n
    assert f"in {agreeing:,} of {agreeing:,} pairs" in prose
    collected = rows[(rows.experiment == "data_collection") & (rows.metric == "speedup")]
    ways = collected[(collected.set == "cartpole") & (collected.lengths == "4096") & (collected.iterations == "1")]
    speedup = ways.set_index("method").value
    said = f"{speedup.torch_compiled:,.0f} by torch.compile, {speedup.jax:,.0f} by jax"
    assert f"take {speedup.numba_blocks:,.0f} times as many steps" in prose and said in prose
    best = collected[(collected.set == "strategies") & (collected.method == "best")].value.item()
    assert f"{best:.2f} times as fast as its baseline" in prose
