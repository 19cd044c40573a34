"""Write the report: its pages as Markdown and self-contained HTML, figures, the tidy table, what DVC shows."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from tqdm import tqdm

from pipeline import tables
from pipeline.analysis import tidy
from pipeline.analysis.operator_results import residual_rows
from pipeline.config.params import Params
from pipeline.config.section import section
from pipeline.report import build as report
from pipeline.report import plots
from pipeline.report.corpus.card import card
from pipeline.report.index.experiments import Tables
from pipeline.report.index.training import curves
from pipeline.stages.command import run
from pipeline.stages.gather import FROZEN, fingerprint, gather, place, published


def main(
    settings: Annotated[str, typer.Option(help="All parameters, as JSON.")],
    results: Annotated[list[Path], typer.Option(help="Tables `results`, one for each experiment of the report.")],
    histories: Annotated[list[Path], typer.Option(help="Tables `history`.")],
    sweeps: Annotated[list[Path], typer.Option(help="Tables `sweep`.")],
    examples: Annotated[list[Path], typer.Option(help="Tables `examples`.")],
    blocks: Annotated[Path, typer.Option(help="Table `blocks`.")],
    skipped: Annotated[Path, typer.Option(help="Table `skipped`.")],
    dags: Annotated[list[Path], typer.Option(help="Tables `dags`.")],
    statistics: Annotated[list[Path], typer.Option(help="Tables `corpus`, of stage describe.")],
    splits: Annotated[list[Path], typer.Option(help="Tables `splits`.")],
    residuals: Annotated[Path, typer.Option(help="Table `residuals`.")],
    out: Annotated[Path, typer.Option(help="Folder for the pages, results.csv, figures ...")],
    earlier: Annotated[str, typer.Option("--published", help="CSV files of `publish`, separated by spaces.")] = "",
    tuning: Annotated[str, typer.Option(help="CSV files of `tuning`, separated by spaces.")] = "",
) -> None:
    """Write the report: pages as .md and self-contained .html, results.csv, metrics.json, figures/, plots/.

    Experiments that were published earlier stand beside the fresh ones. Equal inputs, equal bytes.
    """
    old = published(map(Path, earlier.split()))
    drawn = gather("splits", splits, ["block_id", "split"])
    legal_orders = gather("dags", dags, ["block_id", "n_legal_orders"], tables.of_blocks(drawn["block_id"])).merge(
        drawn, on=["dependencies", "block_id"]
    )
    fresh = pd.concat([tables.read("results", path) for path in results], ignore_index=True)
    params, violations = section(Params, settings), tables.read("residuals", residuals)
    of_operator = residual_rows(violations, params.residuals.shown)
    evidence = report.Evidence(
        params=params,
        experiments=Tables(
            results=tidy.merge(fresh, old["results"], of_operator),
            history=tidy.merge(gather("history", histories), old["history"]),
            sweep=tidy.merge(gather("sweep", sweeps), old["sweep"]),
            examples=gather("examples", examples),
        ),
        parts=old["parts"],
        trials=pd.concat([pd.read_csv(path) for path in tuning.split()]) if tuning.strip() else pd.DataFrame(),
        residuals=violations,
        statistics=gather("corpus", statistics),
        card=card(_compilers(blocks), tables.read("skipped", skipped), legal_orders),
        frozen={kind.split("_")[-1]: old[kind] for kind in FROZEN},
        provenance=_provenance(settings, splits),
    )
    files: dict[str, bytes] = {}
    for name, figure in tqdm(report.figures(evidence).items(), desc="Figures", unit="figure"):
        files |= {f"figures/{name}.{kind}": plots.render(figure, kind) for kind in ("png", "svg")}
    images = {Path(name).stem: data for name, data in files.items() if name.endswith(".png")}
    for name, text in report.markdown(evidence).items():
        files |= {f"{name}.md": text.encode(), f"{name}.html": report.html(text, images).encode()}
    measured = evidence.experiments
    files |= {f"plots/{name}": curve.encode() for name, curve in curves(measured.history, measured.sweep).items()}
    files["results.csv"] = tidy.csv(measured.results).encode()
    files["metrics.json"] = tidy.metrics_json(measured.results).encode()
    for folder in ("figures", "plots"):  # no figure of an earlier run may stay
        shutil.rmtree(out / folder, ignore_errors=True)
    for name, data in files.items():
        with tables.replacing(out / name) as temporary:
            temporary.write_bytes(data)


def _compilers(blocks: Path) -> pd.DataFrame:
    """Each source with each of its compilers once; one row group in memory at a time."""
    groups = tables.RowGroups("blocks", blocks, ["source", "compiler"], ["source", "compiler"])
    found = [groups[number].to_pandas().drop_duplicates() for number in range(len(groups))]
    return pd.concat([frame.astype(str) for frame in found]).drop_duplicates()


def _provenance(settings: str, splits: list[Path]) -> dict[str, str]:
    """Fingerprints (SHA-256) of the parameters and of the data set."""
    canonical = json.dumps(json.loads(settings), sort_keys=True).encode()
    found = {"parameters (`params.yaml`, canonical JSON)": hashlib.sha256(canonical).hexdigest()}
    for path in sorted(splits):
        found[f"splits, dependencies `{place(path, 'splits')['dependencies']}`"] = fingerprint(path)
    return found


if __name__ == "__main__":
    run(main)
