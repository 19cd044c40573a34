"""Are damaged files of instances read or refused, always? `python -m benchmarks.mutated_instances FOLDER...`.

FOLDER: files of instances that others published, in any folder below it; what no reader takes is named and left out.
Task graphs in the forms of STG, WfCommons and SAGA are drawn, and small workloads are those of the library, beside
those of the folders.

Each form has the same share of the files. A file is a sound one that is damaged one to three times (mutations.py), and
is read by the function that the console command calls, in a process of its own with limits of time and memory
(watched.py). It must be read as a problem, whose schedule is judged; or it must be refused by an error that names file,
place and remedy (outcomes.py). All else is wrong: it is printed, and the file is kept in `--work`.

It publishes the experiment `mutated_instances`, by form (`set`) and over all of them: files; read; refused_with_line;
refused_with_name, of a key, task or node; refused, as a whole, because nothing of it has the form; wrong, which has to
be 0.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer
from tqdm import tqdm

from benchmarks.mutated_instances import drawn
from benchmarks.mutated_instances.mutations import mutated
from benchmarks.mutated_instances.outcomes import FORMS, OUTCOMES, WRONG, Outcome, read_instance
from benchmarks.mutated_instances.watched import MORE_BYTES, SECONDS, Watched
from benchmarks.publishing import PUBLISHED, publish
from learned_schedulers.files import replacing
from pipeline.lab.rows import Quantity, Row, results, row

SEED = 0
_LARGEST = 500_000  # bytes of a sound file; larger ones are left out, because they take long
_HINT = "name folders that have files of it"


class Sound(NamedTuple):
    """A file that a reader takes."""

    form: str  # one of FORMS
    path: Path


def sound_files(paths: Iterable[Path]) -> Iterator[Sound]:
    """Those of the files that are instances; the others are named."""
    for path in paths:
        try:
            if path.stat().st_size > _LARGEST:
                raise ValueError(f"{path}: more than {_LARGEST} bytes")
            yield Sound(read_instance(path).form, path)
        except ValueError as error:
            tqdm.write(f"left out: {error}")


def by_form(every: Iterable[Sound]) -> dict[str, list[Path]]:
    """The files of each form. Raises ValueError for a form without files."""
    files: dict[str, list[Path]] = {form: [] for form in FORMS}
    for form, path in every:
        files[form].append(path)
    if missing := [form for form, paths in files.items() if not paths]:
        raise ValueError(f"there is no file of the form {missing[0]}; {_HINT}")
    return files


def outcomes(files: dict[str, list[Path]], count: int, work: Path) -> Iterator[tuple[str, Outcome]]:
    """Form and outcome of so many damaged files, the same in every run; those that are wrong stay in `work`."""
    with tempfile.TemporaryDirectory() as folder, Watched([paths[0] for paths in files.values()]) as watched:
        for number in tqdm(range(count), unit="file", disable=None):
            form = FORMS[number % len(FORMS)]
            rng = np.random.default_rng([SEED, number])
            sound = files[form][int(rng.integers(len(files[form])))]
            path = Path(folder) / f"instance{sound.suffix}"
            path.write_bytes(mutated(sound.read_bytes(), rng))
            answer = watched.outcome(path)
            if answer.kind == WRONG:
                with replacing(work / f"{number}_{form}{sound.suffix}") as temporary:
                    temporary.write_bytes(path.read_bytes())
                tqdm.write(f"wrong: {number}, from {sound.name}: {answer.message[:500]}")
            yield form, answer


def rows_of(counts: Counter[tuple[str, str]]) -> Iterator[Row]:
    """Table `results`; counts: by form and kind of outcome."""
    for form in (*FORMS, "all"):
        of_form = {
            kind: sum(n for key, n in counts.items() if key[1] == kind and form in (key[0], "all")) for kind in OUTCOMES
        }
        place = {"experiment": "mutated_instances", "set": form, "seed": "all"}
        files = sum(of_form.values())
        for metric, number in {"files": files, **of_form}.items():
            yield row(place, Quantity(metric, unit="count"), number, n=files)


def main(
    folders: Annotated[list[Path], typer.Argument(help="Folders of sound files of instances.")],
    files: Annotated[int, typer.Option(help="Number of damaged files.")] = 7000,
    work: Annotated[Path, typer.Option(help="Folder for files that are wrong.")] = Path("data/mutated_instances"),
    output: Annotated[Path, typer.Option(help="Folder to publish in.")] = PUBLISHED / "mutated_instances",
) -> None:
    """Damage, read, count, print and publish."""
    with tempfile.TemporaryDirectory() as folder:
        named = (path for given_folder in folders for path in sorted(given_folder.rglob("*")) if path.is_file())
        of_others = list(sound_files(named))
        drawn_files = drawn.write(Path(folder), np.random.default_rng(SEED))
        sound = by_form([*of_others, *sound_files(drawn_files)])
        counts = Counter((form, answer.kind) for form, answer in outcomes(sound, files, work))
    table = results(rows_of(counts))
    print(table.pivot(index="set", columns="metric", values="value").to_string())
    digests = sorted((form, path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for form, path in of_others)
    settings = {"files": files, "seed": SEED, "seconds": SECONDS, "more_bytes": MORE_BYTES}
    settings |= {
        "instances": len(of_others),
        "instances_sha256": hashlib.sha256(json.dumps(digests).encode()).hexdigest(),
    }
    publish(output, {"results": table}, settings)


if __name__ == "__main__":
    typer.run(main)
