"""Describe the report to machines: RO-Crate 1.1 (w3id.org/ro/crate), with its files, inputs, code and authors."""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from learned_schedulers.files import replacing
from pipeline.lab import digests
from pipeline.lab.provenance import commit
from pipeline.lab.stages import options

_LICENCES = {"Apache-2.0": "https://www.apache.org/licenses/LICENSE-2.0"}
_CODE, _RUN, _PLACE = "#code", "#run", {"@id": "./"}
Entity = dict[str, Any]


def main(
    pages: Annotated[list[Path], typer.Option(help="Pages of the report.")],
    tables: Annotated[list[Path], typer.Option(help="Its tables, published ones among them.")],
    figures: Annotated[Path, typer.Option(help="Folder of its figures.")],
    citation: Annotated[Path, typer.Option(help="CITATION.cff: title, version, licence, authors.")],
    licences: Annotated[Path, typer.Option(help="docs/licences.md: the licence of each download.")],
    sources: Annotated[str, typer.Option(help="JSON: downloads, of params.yaml.")],
    out: options.Out,
) -> None:
    """Write ro-crate-metadata.json; its folder is the crate, which has all files."""
    cited: Mapping[str, Any] = yaml.safe_load(citation.read_text())
    authors = [{"@id": f"#author{k}", "@type": "Organization"} | author for k, author in enumerate(cited["authors"])]
    inputs = list(_inputs(json.loads(sources), licences.read_text()))
    files = [_file(path, out.parent) for path in (*pages, *tables, *sorted(figures.glob("*.png")))]
    licence = {"@id": _LICENCES[cited["license"]], "@type": "CreativeWork", "name": cited["license"]}
    head, is_changed = commit()
    code: Entity = {"@id": _CODE, "@type": "SoftwareSourceCode", "name": "learned-schedulers"}
    code |= {"version": cited["version"], "identifier": f"{head}{', changed' * (is_changed is True)}"}
    code |= {"programmingLanguage": "Python", "license": _of(licence), "author": [*map(_of, authors)]}
    report: Entity = _PLACE | {"@type": "Dataset", "name": f"Report of {cited['title']}"}
    report |= {"description": "Pages, claims, tables and figures, with all they were computed from."}
    report |= {"datePublished": str(cited["date-released"]), "license": _of(licence), "author": [*map(_of, authors)]}
    report |= {"hasPart": [*map(_of, files)], "mentions": [{"@id": _RUN}, *map(_of, inputs)]}
    run = {"@id": _RUN, "@type": "CreateAction", "name": "make reproduce", "instrument": {"@id": _CODE}}
    crate = {"@id": out.name, "@type": "CreativeWork", "about": _PLACE}
    graph = [
        crate | {"conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"}},
        *(report, licence, *authors, code, run | {"object": [*map(_of, inputs)], "result": _PLACE}),
        *(*inputs, *files),
    ]
    text = json.dumps({"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph}, indent=1)
    with replacing(out) as temporary:
        temporary.write_text(text + "\n")


def _of(entity: Entity) -> Entity:
    """A reference to an entity."""
    return {"@id": entity["@id"]}


def _file(path: Path, folder: Path) -> Entity:
    kind = mimetypes.guess_type(path.name)[0] or "text/plain"
    named = {"@id": str(path.relative_to(folder)), "@type": "File", "name": path.stem, "encodingFormat": kind}
    return named | {"contentSize": str(path.stat().st_size), "sha256": digests.of_file(path)}


def _inputs(sources: Mapping[str, Mapping[str, Any]], licences: str) -> Iterator[Entity]:
    """The pinned downloads; each has its licence in the row of docs/licences.md that names its package."""
    for name, source in sources.items():
        if package := source.get("package"):
            row = next(line for line in licences.splitlines() if line.startswith(f"| `{package}`"))
            entity = {"@id": f"#{name}", "@type": "Dataset", "name": f"{package} {source['version']}"}
            digest = {"sha256": source["sha256"], "contentSize": str(source["bytes"])}
            yield entity | digest | {"license": row.split("|")[3].strip()}
