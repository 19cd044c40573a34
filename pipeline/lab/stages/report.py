"""Write the report: its pages as Markdown and self-contained HTML, figures, the tidy table, what DVC shows."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from tqdm import tqdm

from learned_schedulers.figures import render
from learned_schedulers.files import replacing
from pipeline.lab import behaviour as behaviours
from pipeline.lab import places, tables, tidy
from pipeline.lab import published as frozen
from pipeline.lab.config.params import load
from pipeline.lab.page import build, prepared, rendering
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.provenance import state
from pipeline.lab.shared_tables import HISTORY, PARTS, RESULTS
from pipeline.lab.stages import options
from pipeline.lab.stages.gather import gather


def main(
    behaviour: options.Behaviour,
    settings: Annotated[str, typer.Option(help="The parameters as JSON; params.yaml by default.")] = "",
    results: options.SomeTables = None,
    history: options.SomeTables = None,
    out: Annotated[Path, typer.Option(help="Folder for the pages, results.csv, figures ...")] = Path("reports"),
    parts: options.SomeTables = None,
    fresh: Annotated[str, typer.Option(help="JSON: kind -> further files, which the chapters prepare.")] = "{}",
    published: options.Published = None,
    claims: Annotated[Path | None, typer.Option(help="The claims, as CSV.")] = None,
    settings_now: Annotated[str, typer.Option(help="JSON: published experiment -> its settings of now.")] = "{}",
) -> None:
    """Write the report: pages as .md and self-contained .html, results.csv, figures/, plots/.

    Experiments that were published earlier stand beside the fresh ones; they alone make a report, too. Equal inputs,
    equal bytes.
    """
    params = json.loads(settings) if settings else load().model_dump(mode="json")
    now = json.loads(settings_now)
    tables_now = behaviours.read(behaviour)
    files = {kind: [Path(path) for path in paths] for kind, paths in json.loads(fresh).items()}
    of_chapters = prepared.of_chapters(files, params)
    old = frozen.load(published or [], told_apart=True)
    measured = [tables.read(RESULTS, path) for path in results or []]
    by_graph = [tables.read(PARTS, path) for path in parts or []]
    of_this_run = dict(of_chapters.tables) | {
        "results": pd.concat(
            [RESULTS.schema.empty_table().to_pandas(), *measured, *of_chapters.results], ignore_index=True
        ),
        "history": gather(HISTORY, history or []),
        "parts": pd.concat([PARTS.schema.empty_table().to_pandas(), *by_graph], ignore_index=True),
    }
    # Of an experiment, fresh rows replace published ones; a table without a column of experiments is of this run alone.
    joined = {name for name in of_this_run if name in old.tables and "experiment" in old.tables[name]}
    both = {
        name: tidy.merge(frame, old.tables[name]) if name in joined else frame for name, frame in of_this_run.items()
    }
    evidence = Evidence(
        params=params,
        results=both["results"],
        tables=old.tables | both,
        fresh=tuple(places.place(path, "results")["experiment"] for path in results or []),
        provenance=old.provenance,
        states={name: state(source, tables_now, now.get(name)) for name, source in old.provenance.items()},
        claims=pd.read_csv(claims) if claims else pd.DataFrame(),
        fingerprints={"parameters (`params.yaml`, canonical JSON)": _digest(params), **of_chapters.fingerprints},
    )
    _write(evidence, prepared.curves(evidence.tables, of_chapters.curves), out)


def _write(evidence: Evidence, curves: dict[str, str], out: Path) -> None:
    """Pages, figures and numbers; no figure of an earlier run may stay."""
    files: dict[str, bytes] = {}
    report = build.report(evidence)
    for name, draw in tqdm(report.figures.items(), desc="Figures", unit="figure"):
        files[f"figures/{name}.png"] = render(draw())
    images = {Path(name).stem: content for name, content in files.items()}
    for name, text in report.texts.items():
        files |= {f"{name}.md": text.encode(), f"{name}.html": rendering.html(text, images).encode()}
    files |= {f"plots/{name}": curve.encode() for name, curve in curves.items()}
    files["results.csv"] = tidy.csv(evidence.results).encode()
    for folder in ("figures", "plots"):
        shutil.rmtree(out / folder, ignore_errors=True)
    for name, content in files.items():
        with replacing(out / name) as temporary:
            temporary.write_bytes(content)


def _digest(params: dict[str, Any]) -> str:
    """SHA-256 of the parameters."""
    return hashlib.sha256(json.dumps(params, sort_keys=True).encode()).hexdigest()
