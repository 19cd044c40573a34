"""The report's metadata for machines are an RO-Crate as its own library reads them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from rocrate.model.file import File
from rocrate.rocrate import ROCrate

from pipeline.lab.config.params import read
from pipeline.lab.stages import crate
from pipeline.lab.wiring import ROOT


def test_a_crate_names_files_inputs_code_and_authors(tmp_path: Path) -> None:
    (tmp_path / "figures").mkdir()
    names = ("index.html", "claims.csv", "figures/a.png")
    for name in names:
        (tmp_path / name).write_text(name)
    sources = read(ROOT / "params.yaml")["corpus"]["sources"]
    out = tmp_path / "ro-crate-metadata.json"
    crate.main(
        pages=[tmp_path / names[0]], tables=[tmp_path / names[1]], figures=tmp_path / "figures",
        citation=ROOT / "CITATION.cff", licences=ROOT / "docs/licences.md", sources=json.dumps(sources), out=out,
    )  # fmt: skip
    described = ROCrate(tmp_path)
    files = [entity for entity in described.data_entities if isinstance(entity, File)]
    assert {entity.id for entity in files} == {*names}
    assert [entity["sha256"] for entity in files] == [hashlib.sha256(name.encode()).hexdigest() for name in names]
    assert described.license.id.endswith("LICENSE-2.0") and "Report of" in described.name
    assert [author["name"] for author in described.root_dataset["author"]] == ["The learned-schedulers developers"]
    run, *inputs = described.root_dataset["mentions"]
    assert [(entity.id, entity["sha256"]) for entity in inputs] == [
        (f"#{name}", source["sha256"]) for name, source in sources.items()
    ]
    assert "LGPL-3.0" in inputs[0]["license"] and run["instrument"]["version"] == described.get("#code")["version"]
    again = ROCrate(tmp_path).metadata.generate()["@graph"]  # what the library itself would write
    assert {entity["@id"] for entity in again} == {each["@id"] for each in json.loads(out.read_text())["@graph"]}
