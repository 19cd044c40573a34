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

from learned_schedulers.figures import render
from learned_schedulers.files import replacing
from pipeline.corpus.tables import BLOCKS, CORPUS, DAGS, SKIPPED, SPLITS
from pipeline.lab import behaviour as behaviours
from pipeline.lab import chapters, digests, places, tables, tidy
from pipeline.lab import published as frozen
from pipeline.lab.page import build, rendering
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.outputs import curves
from pipeline.lab.provenance import state
from pipeline.lab.shared_tables import HISTORY, PARTS, RESULTS
from pipeline.lab.stages import options
from pipeline.lab.stages.gather import gather
from pipeline.operator.results import residual_rows
from pipeline.reproduction.tables import EXAMPLES, RESIDUALS, SWEEP

_DRAWN = (
    "gantts",
    "executed_points",
    "memory_curves",
    "kept_points",
    "placed_operations",
)  # of examples; their columns do not say of which experiment


def main(
    settings: options.Settings,
    results: options.Tables,
    history: options.Tables,
    sweep: options.Tables,
    examples: options.Tables,
    blocks: options.Blocks,
    skipped: options.Table,
    dags: options.Tables,
    corpus: options.Tables,
    splits: options.Tables,
    residuals: options.Table,
    behaviour: options.Behaviour,
    out: Annotated[Path, typer.Option(help="Folder for the pages, results.csv, figures ...")] = Path("reports"),
    parts: options.SomeTables = None,
    published: options.Published = None,
    claims: Annotated[Path | None, typer.Option(help="The claims, as CSV.")] = None,
    settings_now: Annotated[str, typer.Option(help="JSON: published experiment -> its settings of now.")] = "{}",
) -> None:
    """Write the report: pages as .md and self-contained .html, results.csv, metrics.json, figures/, plots/.

    Experiments that were published earlier stand beside the fresh ones. Equal inputs, equal bytes.
    """
    params, now = json.loads(settings), json.loads(settings_now)
    tables_now = behaviours.read(behaviour)
    violations = tables.read(RESIDUALS, residuals)
    measured = [tables.read(RESULTS, path) for path in results]
    old = frozen.load(published or [])
    fresh = {
        "results": pd.concat([*measured, residual_rows(violations, params["residuals"]["shown"])], ignore_index=True),
        "history": gather(HISTORY, history),
        "sweep": gather(SWEEP, sweep),
        "parts": pd.concat(
            [PARTS.schema.empty_table().to_pandas(), *(tables.read(PARTS, path) for path in parts or [])],
            ignore_index=True,
        ),
    }
    both = {name: tidy.merge(frame, old.tables[name]) for name, frame in fresh.items()}
    evidence = Evidence(
        params=params,
        results=both["results"],
        tables=old.tables
        | both
        | {name: of_experiments(name, published or []) for name in _DRAWN}
        | {
            "examples": gather(EXAMPLES, examples).rename(columns={"scheduler": "method"}),
            "residuals": violations,
            "corpus": gather(CORPUS, corpus),
            "compilers": _compilers(blocks),
            "skipped": tables.read(SKIPPED, skipped),
            "splits": _legal_orders(splits, dags),
        },
        fresh=tuple(places.place(path, "results")["experiment"] for path in results),
        provenance=old.provenance,
        states={name: state(source, tables_now, now.get(name)) for name, source in old.provenance.items()},
        claims=pd.read_csv(claims) if claims else pd.DataFrame(),
        fingerprints=_fingerprints(settings, splits),
    )
    _write(evidence, out)


def _write(evidence: Evidence, out: Path) -> None:
    """Pages, figures and numbers; no figure of an earlier run may stay."""
    files: dict[str, bytes] = {}
    for name, draw in tqdm(build.figures(evidence).items(), desc="Figures", unit="figure"):
        files[f"figures/{name}.png"] = render(draw())
    images = {Path(name).stem: content for name, content in files.items()}
    for name, text in build.markdown(evidence).items():
        files |= {f"{name}.md": text.encode(), f"{name}.html": rendering.html(text, images).encode()}
    drawn = curves(evidence.tables["history"], evidence.tables["sweep"])
    files |= {f"plots/{name}": curve.encode() for name, curve in drawn.items()}
    files["results.csv"] = tidy.csv(evidence.results).encode()
    files["metrics.json"] = tidy.metrics_json(evidence.results).encode()
    for folder in ("figures", "plots"):
        shutil.rmtree(out / folder, ignore_errors=True)
    for name, content in files.items():
        with replacing(out / name) as temporary:
            temporary.write_bytes(content)


def _legal_orders(splits: list[Path], dags: list[Path]) -> pd.DataFrame:
    """Columns `dependencies`, `split` and `n_legal_orders` of each block of a split."""
    of_split = gather(SPLITS, splits, ["block_id", "split"])
    orders = gather(DAGS, dags, ["block_id", "n_legal_orders"], tables.of_blocks(of_split["block_id"]))
    return orders.merge(of_split, on=["dependencies", "block_id"])


def _compilers(blocks: Path) -> pd.DataFrame:
    """Each source with each of its compilers once; one row group in memory at a time."""
    groups = tables.RowGroups(BLOCKS, blocks, ["source", "compiler"], ["source", "compiler"])
    pairs = [groups[number].to_pandas().drop_duplicates() for number in range(len(groups))]
    return pd.concat([frame.astype(str) for frame in pairs]).drop_duplicates()


def of_experiments(name: str, folders: list[Path]) -> pd.DataFrame:
    """A published table with a column `experiment`, the name of its folder."""
    files = [folder / f"{name}.csv" for folder in sorted(folders)]
    table = chapters.tables()[name]
    rows = [frozen.read(table, file).assign(experiment=file.parent.name) for file in files if file.exists()]
    return pd.concat(rows, ignore_index=True) if rows else frozen.empty(table)


def _fingerprints(settings: str, splits: list[Path]) -> dict[str, str]:
    """SHA-256 of the parameters and of the data set."""
    canonical = json.dumps(json.loads(settings), sort_keys=True).encode()
    prints = {"parameters (`params.yaml`, canonical JSON)": hashlib.sha256(canonical).hexdigest()}
    of_splits = {places.place(path, "splits")["dependencies"]: digests.of_file(path) for path in sorted(splits)}
    return prints | {f"splits, dependencies `{name}`": digest for name, digest in of_splits.items()}
