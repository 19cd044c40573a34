"""A small tree of the pipeline's tables with synthetic numbers, without any training."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import yaml

from pipeline.corpus import composition as corpus_statistics
from pipeline.corpus.page import ingest, verification
from pipeline.corpus.tables import BLOCKS, CORPUS, DAGS, SKIPPED, SPLITS
from pipeline.lab import chapters, tables, tidy
from pipeline.lab.config.params import Params, validate
from pipeline.lab.shared_tables import HISTORY, RESULTS
from pipeline.operator import results as operator_results
from pipeline.operator.tables import PEERS
from pipeline.reproduction.tables import EXAMPLES, RESIDUALS, SWEEP

ROOT = Path(__file__).resolve().parents[2]
NETWORKS = ["sinkhorn", "popocs_20", "popocs_40", "popocs_60", "popocs_150"]
BASELINES = ["random_legal", "input_order", "critical_path", "gcc"]
HASWELL, ATOM = "cycles_per_iteration_haswell", "single_pass_cycles_atom"


def settings() -> dict:
    """The parameters of the repository, with two seeds and one kind of dependencies."""
    settings = yaml.safe_load((ROOT / "params.yaml").read_text())
    settings["experiments"]["quick"]["seeds"] = [0, 1]
    settings["experiments"]["quick"]["dependencies"] = ["full"]
    settings["report"]["experiments"] = ["quick"]
    return settings


def params() -> Params:
    return validate(settings())


def results(experiment: str = "quick", dependencies: str = "full", latency: bool = True) -> pd.DataFrame:
    """Rows of table `results`: a network learns a little, POPOCS a little more."""
    rng = np.random.default_rng([len(experiment), len(dependencies)])
    rows: list[tuple] = []

    def add(scheduler: str, decoder: str, metric: str, value: float, half: float) -> None:
        for seed in ("all", "0", "1"):
            middle = value if seed == "all" else value + rng.normal(0, half / 4)
            rows.append((scheduler, decoder, seed, metric, middle, middle - half, middle + half))

    for k, scheduler in enumerate([*NETWORKS, *BASELINES]):
        for decoder in ("hungarian", "topological") if scheduler in NETWORKS else ("none",):
            topological = decoder == "topological"
            learned = scheduler in NETWORKS
            exact = 1.0 if scheduler == "gcc" else 0.58 + 0.004 * k + 0.02 * topological if learned else 0.3
            valid = 0.934 + 0.005 * k if learned and not topological else 1.0
            add(scheduler, decoder, "exact_match", exact, 0.01 if exact < 1 else 0)
            add(scheduler, decoder, "exact_match_multi_order", exact - 0.1, 0.011)
            add(scheduler, decoder, "slot_accuracy", min(exact + 0.2, 1), 0.005)
            add(scheduler, decoder, "kendall_tau_distance", 0.2 - 0.15 * exact, 0.003)
            add(scheduler, decoder, "violations_per_block", (1 - valid) * 1.4, 0.002 if valid < 1 else 0)
            add(scheduler, decoder, "valid_share", valid, 0.004 if valid < 1 else 0)
            if scheduler.startswith("popocs"):
                for metric, value in (
                    ("exact_match", 0.012),
                    ("kendall_tau_distance", -0.001),
                    ("violations_per_block", -0.02),
                    ("valid_share", 0.01),
                ):
                    add(scheduler, decoder, f"{metric}_minus_sinkhorn", value, 0.004)
                add(scheduler, decoder, "valid_share_minus_popocs_20", 0.003 * (k - 1), 0.001)
            if latency:
                add(scheduler, decoder, HASWELL, 2.34 + 0.001 * k, 0.03)
                add(scheduler, decoder, f"{HASWELL}_minus_gcc", 0.001 * k if scheduler != "gcc" else 0, 0.002)
                add(scheduler, decoder, ATOM, 9.1 + 0.02 * k, 0.05)
                add(scheduler, decoder, f"{ATOM}_minus_gcc", 0.02 * k if scheduler != "gcc" else 0, 0.01)
    names = ["scheduler", "decoder", "seed", "metric", "value", "ci_low", "ci_high"]
    frame = pd.DataFrame(rows, columns=names)
    return frame.assign(experiment=experiment, dependencies=dependencies, split="test", n_blocks=8579)


def history(offset: float = 0.0) -> pd.DataFrame:
    steps = np.arange(0, 2001, 200)
    frames = []
    for split, gap in (("training", 0.05), ("development", 0.0)):
        fall = np.exp(-steps / 700)
        frames.append(
            pd.DataFrame(
                {
                    "step": steps,
                    "split": split,
                    "loss": 0.6 + fall - gap + offset,
                    "exact_match": 0.58 - 0.4 * fall - offset,
                    "valid_share": 0.94 - 0.3 * fall,
                    "learning_rate": 0.002,
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def sweep(seed: str, shift: float = 0.0) -> pd.DataFrame:
    iterations = np.array(params().evaluation.sweep_iterations)
    return pd.DataFrame(
        {
            "iterations": iterations,
            "seed": seed,
            "violations_per_block": 0.06 + 0.1 * np.exp(-iterations / 15) + shift,
            "valid_share": 0.955 - 0.1 * np.exp(-iterations / 15) - shift,
            "exact_match": 0.59 + shift,
            "residual_median": np.exp(-iterations / 10.0),
        }
    )


def examples() -> pd.DataFrame:
    text = ["movsd xmm5,[rsp+0x20]", "movsd xmm3,[r13+0xa0]", "subsd xmm3,xmm5", "divsd xmm3,xmm8", "ucomisd xmm2,xmm3"]
    rng = np.random.default_rng(0)
    rows = []
    for block, scheduler in product(range(2), ("sinkhorn", "popocs_20")):
        logits = rng.normal(0, 2, (5, 5)) + 3 * np.eye(5)
        soft = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        rows.append(
            {
                "block_id": f"{block:032x}",
                "scheduler": scheduler,
                "instructions": text,
                "proposal": logits.ravel(),
                "projected": soft.ravel(),
                "order": [0, 1, 2, 4, 3] if block else [0, 1, 2, 3, 4],
                "gcc_order": [1, 0, 2, 3, 4],
                "before": [0, 1, 2, 3] if block == 0 else [],
                "after": [2, 2, 3, 4] if block == 0 else [],
            }
        )
    return pd.DataFrame(rows)


def residuals() -> pd.DataFrame:
    """Table `residuals`: the loop converges slowly, the others at once; `extrapolated` has stragglers at first."""
    rows: list[tuple] = []
    for n, kind, k in product((5, 10), ("softmax", "logits"), (1, 20, 60)):
        residual = 4.0 if k == 1 else 1e-5
        late = 0.25 if k == 1 else 0.0
        rows += [
            (n, kind, "cyclic", k, k == 20, 900, 8.9, n / k, 2 * n / k, 3 * n / k, 0.0, np.nan),
            (n, kind, "extrapolated_alone", k, k == 60, 900, 8.9, 3e-8, residual, 2 * residual, 1 - late, late),
            (n, kind, "extrapolated", k, k == 60, 900, 8.9, 3e-8, 9e-6, 1e-5, 1.0, late),
        ]
    rows += [
        (n, kind, "nearest", 0, True, 900, 8.9, 0.0, 1e-7, 4e-7, 1.0, np.nan)
        for n, kind in product((5, 10), ("softmax", "logits"))
    ]
    return pd.DataFrame(rows, columns=RESIDUALS.schema.names)


def speed() -> pd.DataFrame:
    """Table of benchmarks/operator: seconds grow as the cube of the size, on random DAGs as the square."""
    slower = {"cyclic": 1, "extrapolated": 1, "nearest": 2, "cyclic_loop": 250, "qpth": 400}
    rows: list[tuple] = [
        (peer, "corpus", n, 256, 256 if peer != "qpth" else 4, 0, factor * 1e-6 * n**3, 1e-7, 1e-6, 3.0, None)
        for n, (peer, factor) in product((5, 10, 20), slower.items())
    ]
    rows += [("extrapolated", "random", n, 32, 32, 60, 1e-6 * n**2, 1e-7, 1e-6, 3.0, None) for n in (16, 32, 64)]
    rows.append(("linsatnet", "corpus", 20, 256, 0, 0, *[np.nan] * 4, "ended by signal 9 | out of memory"))
    return pd.DataFrame(rows, columns=PEERS.schema.names)


def corpus(n: int = 600) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Blocks, DAGs and splits of `n` blocks."""
    rng = np.random.default_rng(1)
    ids = [f"{i:032x}" for i in range(n)]
    code = [bytes([i % 256]) for i in range(n)]
    blocks = pd.DataFrame(
        {
            "block_id": ids,
            "source": np.where(np.arange(n) % 20 < 19, "qt56", "ffprobe"),
            "program": [f"PyQt5/Qt/lib/libQt5Part{i % 20}.so.5" for i in range(n)],
            "compiler": "GCC: (GNU) 4.9.1 20140922 (Red Hat 4.9.1-10)",
            "section": ".text",
            "relocatable": False,
            "address": np.arange(n, dtype=np.uint64),
            "n_instructions": rng.geometric(0.2, n).clip(2, 60),
            "occurrences": rng.geometric(0.5, n),
            "code": code,
            "masked_code": code,
        }
    )
    dags = pd.DataFrame(
        {
            "block_id": ids,
            "n_instructions": 5,
            "before": [[0]] * n,
            "after": [[1]] * n,
            "kinds": [[1]] * n,
            "implied_before": [[]] * n,
            "implied_after": [[]] * n,
            "implied_kinds": [[]] * n,
            "latencies": [[1] * 5] * n,
            "orders_exact": True,
            "n_legal_orders": rng.choice([1.0, 2, 3, 5, 8, 20, 60, 120], n),
        }
    )
    split = np.where(np.arange(n) < n * 0.8, "training", np.where(np.arange(n) < n * 0.9, "development", "test"))
    splits = pd.DataFrame({"block_id": ids, "split": split, "input_order": [[0, 1, 2, 3, 4]] * n})
    return blocks, dags, splits


def pieces(blocks: pd.DataFrame, dags: pd.DataFrame, size: int = 100) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Arrow tables of pieces of `blocks` and `dags`."""
    for at in range(0, len(blocks), size):
        blocks_piece, dags_piece = (
            pa.Table.from_pandas(frame[at : at + size], schema=chapters.tables()[name].schema, preserve_index=False)
            for frame, name in ((blocks, "blocks"), (dags, "dags"))
        )
        yield blocks_piece, dags_piece


def frozen(root: Path) -> None:
    """Tables of stage `verify`, benchmarks/ingest.py and benchmarks/operator in reports/published."""
    measured = {
        "dag_verification": [("full", "all", 0.0), ("full", "qt56", 0.0), ("paper", "all", 1234.0)],
        "ingest": [("full", "all", 0.0)],
    }
    values = {
        "dag_verification": {"state_runs": 1_234_567, "runnable_share": 0.951, "sensitivity": 0.987, "blocks": 20_100},
        "ingest": {"blocks": 1_600_000, "wall_over_objdump": 1.21, "peak_memory_gb": 0.9},
    }
    for experiment, places in measured.items():
        rows = [
            (experiment, mode, split, "none", "none", "all", metric, value, np.nan, np.nan, 20_100)
            for mode, split, different in places
            for metric, value in (values[experiment] | {"different": different}).items()
            if experiment == "dag_verification" or metric != "different"
        ]
        save(pd.DataFrame(rows, columns=tidy.COLUMNS), root / f"reports/published/{experiment}.csv")
    strata = [
        ("full", "class", "AVX", 900, 850, 8000, 60000, 0),
        ("full", "length", "5-8", 5000, 4900, 50000, 300000, 0),
    ]
    reasons = [
        ("full", "privileged instruction", 12, "in al,dx"),
        ("full", "not supported by this processor", 30, None),
    ]
    swaps = [
        ("full", "all", "changed", 900),
        ("full", "all", "value coincidence", 20),
        ("full", "all", "unexplained", 0),
    ]
    missed = [("full", "value coincidence", "both write the same value", 20, "xor eax,eax; and eax,0")]
    growth = [(0.25, 4_000_000, 11.0, 0.7), (0.5, 8_000_000, 21.0, 0.8), (1.0, 16_000_000, 43.0, 0.8)]
    for name, rows, names in (
        ("dag_verification_strata", strata, verification.STRATA),
        ("dag_verification_reasons", reasons, verification.REASONS),
        ("dag_verification_sensitivity", swaps, verification.SENSITIVITY),
        ("dag_verification_explanations", missed, verification.EXPLANATIONS),
        ("ingest_growth", growth, ingest.GROWTH),
    ):
        save(pd.DataFrame(rows, columns=names), root / f"reports/published/{name}.csv")
    save(operator_results.speed_rows(speed()), root / "reports/published/operator.csv")
    save(speed(), root / "reports/published/operator_speed.csv")


def save(frame: pd.DataFrame, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(tidy.csv(frame))


def tree(root: Path, latency: bool = True) -> None:
    """Write all tables of experiment `quick` under `root`/data, as the pipeline's rules name them."""
    data_root = root / "data"
    modes, seeds = params().experiments["quick"].dependencies, ["0", "1"]
    both = pd.concat([results("quick", mode, latency) for mode in modes], ignore_index=True)
    tables.write(both, RESULTS, data_root / "metrics/quick.parquet")
    blocks, dags, splits = corpus()
    tables.write(blocks, BLOCKS, data_root / "corpus/blocks.parquet")
    described = corpus_statistics.describe(pieces(blocks, dags))
    skipped = pd.DataFrame(
        [["qt56", "PyQt5/Qt/libexec/part|one", "no .eh_frame", "name another file"]],
        columns=["source", "program", "reason", "remedy"],
    )
    tables.write(skipped, SKIPPED, data_root / "corpus/skipped.parquet")
    tables.write(residuals(), RESIDUALS, data_root / "operators/residuals.parquet")
    for mode in modes:
        tables.write(dags, DAGS, data_root / f"dags/{mode}.parquet")
        tables.write(described, CORPUS, data_root / f"statistics/{mode}.parquet")
        tables.write(splits, SPLITS, data_root / f"splits/{mode}.parquet")
        tables.write(examples(), EXAMPLES, data_root / f"examples/quick/{mode}.parquet")
        for seed in seeds:
            shift = 0.004 * int(seed)
            tables.write(sweep(seed, shift), SWEEP, data_root / f"sweep/quick/{mode}/{seed}.parquet")
            for model in ("sinkhorn", "popocs"):
                folder = data_root / f"models/quick/{mode}/{model}/{seed}"
                tables.write(history(shift + 0.03 * (model == "popocs")), HISTORY, folder / "history.parquet")
                (folder / "weights.safetensors").write_bytes(f"{mode} {model} {seed}".encode())
