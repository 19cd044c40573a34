"""Pages from made-up evidence and from very little: complete, linked, with commands for missing numbers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import pandas as pd
import pytest

from learned_schedulers import LEVEL_3
from pipeline.lab import claims
from pipeline.lab.page import build, rendering
from pipeline.lab.page.anchors import claims_in
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.pages import pages
from pipeline.lab.wiring import ROOT
from tests.report import imitations, made, own_code, own_models, processors, scale
from tests.report.test_operator import decoded

NAMES = [page.name for page in pages()]
ORIGIN = SimpleNamespace(
    commit="0123456789abcdef", dirty=True, published="2026-11-22T00:36:28+00:00", seeds=["0", "1"],
    processor=SimpleNamespace(name="Zen 3"), baseline=LEVEL_3 | {"ONEDNN_MAX_CPU_ISA": "unset"},
)  # fmt: skip
UNKNOWN = SimpleNamespace(
    commit="unknown", dirty="unknown", published="2026-11-22", processor="unknown", baseline="unknown", seeds="unknown"
)


def verified() -> pd.DataFrame:
    places = [("full", "all", 0.0), ("full", "qt56", 0.0), ("paper", "all", 1234.0)]
    values = {"state_runs": 1_234_567, "runnable_share": 0.951, "sensitivity": 0.987, "blocks": 20_100}
    return made.results(
        [
            {"experiment": "dag_verification", "dependencies": mode, "set": name, "metric": metric, "value": value}
            for mode, name, different in places
            for metric, value in (values | {"different": different}).items()
        ]
    )


def ingested() -> pd.DataFrame:
    place = {"experiment": "ingest", "set": "all", "seed": "none"}
    same = {"metric": "blocks", "value": 1_600_000.0, "low": 1_600_000.0, "high": 1_600_000.0}
    program = place | {"set": "lib19.so", "metric": "program_over_allowed", "value": 0.9}
    return made.results([place | same, place | {"metric": "wall_over_objdump", "value": 1.21}, program])


VERIFICATION: dict[str, list] = {
    "strata": [("full", "class", "AVX", 900, 850, 8000, 60000, 0)],
    "reasons": [("full", "privileged instruction", 12, "in al,dx"), ("full", "not supported", 30, None)],
    "swap_outcomes": [
        ("full", "all", "changed", 900), ("full", "all", "value coincidence", 20), ("full", "all", "unexplained", 0)
    ],
    "explanations": [("full", "value coincidence", "both write the same value", 20, "xor eax,eax; and eax,0")],
    "growth": [(0.25, 4_000_000, 11.0, 0.7), (1.0, 16_000_000, 43.0, 0.8)],
}  # fmt: skip
_COLUMNS = {
    "strata": "dependencies by name blocks runnable orders state_runs different",
    "reasons": "dependencies reason blocks example",
    "swap_outcomes": "dependencies kind outcome swaps",
    "explanations": "dependencies outcome explanation swaps example",
    "growth": "share_of_corpus instructions seconds peak_memory_gb",
}
CLAIM = {"claim": "a_claim", "target": "yes", "value": 0.5, "low": 0.4, "high": 0.6, "holds": "no", "source": "quick"}


# Made when a test first asks: every process of pytest-xdist imports this file, and one runs it.
@cache
def every_row() -> pd.DataFrame:
    return pd.concat(
        [
            *(made.reproduction(*place) for place in (("quick",), ("paper", "paper"), ("operator_learning", "paper"))),
            *(imitations.results(), processors.results(), processors.fresh()),
            *(
                processors.agreement(),
                decoded(),
                verified(),
                ingested(),
                own_code.results(),
                own_models.results(),
                scale.of_blocks(),
            ),
        ]
    )


@cache
def evidence_of(name: str) -> Evidence:
    """`little`, or `full`."""
    if name == "little":
        return made.evidence(made.reproduction(latency=False), fresh=("quick",))
    return made.evidence(
        every_row(),
        **{name: pd.DataFrame(rows, columns=_COLUMNS[name].split()) for name, rows in VERIFICATION.items()},
        history=pd.concat([made.history(), made.history("imitation", ("attention_pointer",))]),
        sweep=made.sweep(),
        examples=made.examples(),
        refusals=own_models.refusals(),
        parts=pd.concat([imitations.parts(), processors.by_length()]),
        residuals=made.residuals(),
        scale_sizes=scale.sizes(),
        scale_rules=scale.rules(),
        peers=made.peers(),
        timelines=processors.examples(),
        deviations=processors.deviations(),
        fresh=("quick",),
        provenance={"operator_speed": UNKNOWN, "imitation": ORIGIN, "imitation_evidence": ORIGIN, "schedulers": ORIGIN},
        states={"imitation": "changed: dags/full of the tiny corpus differs", "schedulers": "current"},
        claims=pd.concat([pd.DataFrame([CLAIM]), claims.table(every_row(), claims.declared())]),
        fingerprints={"parameters": "f00"},
        skipped=pd.DataFrame([["qt56", "part|one", "r", "m"]], columns=["source", "program", "reason", "remedy"]),
    )


@cache
def texts_of(name: str) -> dict[str, str]:
    return build.markdown(evidence_of(name))


def shown(text: str) -> list[str]:
    """Figures in a page's Markdown, by name."""
    return re.findall(r"\(figures/(.*?)\.png\)", text)


@pytest.mark.slow
@pytest.mark.parametrize("which", ["full", "little"])
def test_every_figure_is_on_one_page(which: str) -> None:
    drawn = build.figures(evidence_of(which))
    assert sorted(name for text in texts_of(which).values() for name in shown(text)) == sorted(drawn)


@pytest.mark.parametrize("which", ["full", "little"])
def test_every_page_is_self_contained_and_every_link_leads_somewhere(which: str) -> None:
    texts = texts_of(which)
    pages = {name: rendering.html(text, dict.fromkeys(shown(text), b"png")) for name, text in texts.items()}
    assert list(pages) == NAMES and not any("| --" in page for page in pages.values()), "a table is no table"
    ids = {name: set(re.findall(r'id="(.*?)"', page)) for name, page in pages.items()}
    for name, page in pages.items():
        assert page.count("data:image/png;base64,") == len(shown(texts[name]))
        assert set(re.findall(r'(?:src|href)="(?!data:|#)([^"#]*)', page)) == {f"{o}.html" for o in NAMES if o != name}
        for link in re.findall(r"(?<!!)\[[^]]*\]\(([^)]*)\)", texts[name]):
            target, _, place = link.partition("#")
            page_name = target.removesuffix(".md") or name
            assert page_name in NAMES and (not place or place in ids[page_name]), f"{name}.md: {link}"


def test_every_claim_has_one_place_and_a_measured_one_is_answered_on_the_page_of_its_experiment() -> None:
    claimed = evidence_of("full").claims
    places = [(name, claim) for name, text in texts_of("full").items() for claim in claims_in(text)]
    page_of = {claim: name for name, claim in places}
    assert sorted(page_of) == sorted(claimed["claim"]) and len(page_of) == len(places)
    for row in claimed[claimed["value"].notna()].to_dict("records"):
        owners = {page.name for page in pages() if row["source"].split()[0] in page.experiments}
        assert not owners or page_of[row["claim"]] != "index" or row["claim"] == CLAIM["claim"], row["claim"]
    rests = [text.partition("\n\n## Also measured\n\n")[2] for text in texts_of("full").values()]
    assert any(rests) and all('| <a id="' in rest and "|\n\n## Provenance\n\n" in rest for rest in rests if rest)


@pytest.mark.parametrize("which", ["full", "little"])
def test_tables_have_as_many_cells_in_every_line(which: str) -> None:
    texts = texts_of(which)
    for name, text in texts.items():
        for table in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE):
            widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
            assert len(widths) == 1, f"{name}: {table[:200]}"


def test_a_section_of_another_page_is_named_by_its_link_alone() -> None:
    texts = texts_of("full")
    headings = {name: set(re.findall(r"^##+ (.*)$", text, re.MULTILINE)) for name, text in texts.items()}
    for name, text in texts.items():
        prose = re.sub(r"\[[^]]*\]\([^)]*\)", "", text)
        foreign = set().union(*headings.values()) - headings[name]
        assert not [text for text in foreign if f'"{text}"' in prose or (text.count(" ") > 2 and text in prose)]


@pytest.mark.parametrize("file", ["README.md", "learned_schedulers/operators/README.md"])
def test_pages_and_sections_named_in_documents_exist(file: str) -> None:
    text = (ROOT / file).read_text()
    assert set(re.findall(r"reports/(\w+)\.(?:md|html)", text)) <= set(NAMES)
    for name, heading in re.findall(r'reports/(\w+)\.md[`)]+,\s"(.*?)"', text):
        assert re.search(rf"^##+ {re.escape(heading)}$", texts_of("full")[name], re.MULTILINE), f"{file}: {heading}"


def test_the_first_page_lists_all_pages_and_unpublished_experiments() -> None:
    for text in (texts_of("full")["index"], texts_of("little")["index"]):
        for page in pages()[1:]:
            assert f"- **[{page.title}]({page.name}.md)**: {page.question}" in text
    for which in ("full", "little"):
        text, evidence = texts_of(which)["index"], evidence_of(which)
        missing = dict(re.findall(r"\((\w+)\.md\)\*\*: .*Not published yet: `(.*?)`\.\*", text))
        missed = {page.name: [name for name in page.experiments if not evidence.measured(name)] for page in pages()}
        assert len(missing) > 7 and missing == {page: "`, `".join(names) for page, names in missed.items() if names}


def test_experiments_are_on_their_pages() -> None:
    index, text = texts_of("full")["index"], texts_of("full")["reproduction"]
    for heading in ("Table 1: accuracy", "The paper's claims", "Table 2: latency", "Figure 3: ", "Training"):
        assert f"## {heading}" in text
    for experiment, mode in (("quick", "full"), ("paper", "paper")):
        assert f"### Table 1, `{experiment}`, dependencies `{mode}`" in text
    assert "Evaluated by this run; 8,579 test blocks" in text and "Published earlier" in text
    assert '| <a id="a_claim"></a>[a_claim](#a_claim) | yes | 0.5000 | 0.4000 | 0.6000 | no | quick |' in index
    assert index.index("## Pages") < index.index("| `quick` | ") < index.index("[a_claim]")
    assert "Latency was not measured" not in text


def test_missing_latency_is_reported_with_its_remedy() -> None:
    text = texts_of("little")["reproduction"]
    assert "Latency was not measured" in text and "apt-get install llvm-19" in text


@pytest.mark.slow
def test_every_page_says_where_its_numbers_come_from() -> None:
    texts = texts_of("full")
    assert "| `quick` | - | - | - | - | 0, 1 | made with this report |" in texts["index"]
    line = "published 2026-11-22, 1 **changed**, 5 of unknown state ([provenance](#provenance))."
    assert f"Numbers: 6 experiments, {line}" in texts["imitation"]
    origin = "| 2026-11-22 | 012345678, dirty | Zen 3 | x86-64-v3, MKL COMPATIBLE, ONEDNN_MAX_CPU_ISA=unset | 0, 1 |"
    assert f"| `imitation` {origin} changed: dags/full of the tiny corpus differs |" in texts["imitation"]
    assert f"| `imitation_evidence` {origin} unknown |" in texts["imitation"]
    assert f"| `schedulers` {origin} current |" in texts["processors"]
    assert "| `operator_speed` | 2026-11-22 | unknown | unknown | unknown | unknown | unknown |" in texts["operator"]
    evident = [page.name for page in pages() if {*every_row().experiment} & {*page.experiments}]
    assert len(evident) > 6 and all("## Provenance" in texts[name] for name in ("index", *evident))
    again = build.markdown(replace(evidence_of("full"), states={}))
    for name, text in again.items():  # nothing else depends on it but the line at the top
        before, after = (re.sub(r"^Numbers: .*$", "", page, flags=re.M) for page in (texts[name], text))
        assert before.partition("## Provenance")[0] == after.partition("## Provenance")[0]


def commands_for_what_is_missing(texts: Iterable[str]) -> list[str]:
    missing = r"(?:Not (?:measured|run) yet|Its numbers are missing).*?`((?:snakemake|python|git restore)[^`]*)`"
    return [command for text in texts for command in re.findall(missing, text)]


def test_each_missing_experiment_is_named_with_its_command() -> None:
    published = ["imitation", "schedulers"]
    published += ["dag_verification", "devices", "this_machine", "gflownet", "placement"]
    published += 4 * ["fusion"] + ["fusion_joint"]
    commands = [f"snakemake data/published/{name}.done" for name in ["operator_learning", *published]]
    benchmarks = ["operator", "ingest", "blocks_scale", "cluster", "speed placing", "data_collection"]
    frozen = ["operator_decoding", "exact_flow", "whole_graph_scale", "faults", "soak", "inductor"]
    frozen += ["imitation_ablation", "imitation_scaling", "imitation_transfer"]
    frozen += [
        "processors",
        "processor_agreement",
        "own_assembly",
        "own_mutations",
        "own_cycles",
        "own_gains",
        "own_speed",
    ]
    frozen += ["own_blocks", "own_generated", "own_projects", "own_wrapper", "own_run_times"]
    commands += [f"python -m benchmarks.{name}" for name in benchmarks]
    commands += [f"git restore reports/published/{name}" for name in frozen]
    named = commands_for_what_is_missing(texts_of("little").values())
    assert not Counter(commands) - Counter(named)  # sections that were added name further ones
    measured = {f"snakemake data/published/{name}.done" for name in {*every_row().experiment}}
    assert not measured & {*commands_for_what_is_missing(texts_of("full").values())}


def test_the_corpus_its_verification_and_its_ingestion() -> None:
    text = made.without_anchors(texts_of("full")["corpus"])
    assert "| **all** |  | 20 | 1,200 | 600 | 3,000 | 5.0 | 1.00 | 20.0% | 100.00% |" in text
    assert "| ffprobe | lib19.so | 60 | 30 | 150 | 5.0 |" in text and "|  | 5 more | 300 | 150 |" in text
    assert "| register RAW | 600 | 100.0% | 600 | 100.0% |" in text
    assert "| qt56 | r | 1 | part\\|one | m |" in text
    assert "| `full` | all | 20,100 | 95.1% | - | 1,234,567 | 0 | - | - | 98.70% |" in text
    assert "| `paper` (control) | all | 20,100 | 95.1% | - | 1,234,567 | 1,234 | - | - | 98.70% |" in text
    assert text.index("`paper` (control)") > text.index("| `full` | qt56 |")
    assert "| `full` | class | AVX | 900 | 94.4% | 8,000 | 60,000 | 0 |" in text
    assert "| `full` | privileged instruction | 12 | `in al,dx` |" in text
    assert "| Dependencies | Kind of edge | Swaps | Changed | Value coincidence | Unexplained |" in text
    assert "| `full` | all | 920 | 900 <small>[97.8%]</small> | 20 <small>[2.2%]</small> | 0" in text
    assert "| `full` | value coincidence | both write the same value | 20 | `xor eax,eax; and eax,0` |" in text
    assert "| wall over objdump | all | 1.21 <small>[1.20 to 1.22]</small> |" in text
    assert "| blocks | all | 1,600,000 |" in text
    assert "| program over allowed | lib19.so | 0.90 <small>[0.89 to 0.91]</small> |" in text
    assert "| 25% | 4,000,000 | 11.0 | 363,636 | 0.70 |" in text


@pytest.mark.parametrize("which", ["full", "little"])
def test_pictures_are_before_tables_and_have_a_description(which: str) -> None:
    texts = texts_of(which)
    for name, text in texts.items():
        for part in re.split(r"^(?=##+ )", text, flags=re.MULTILINE):
            pictures = [match.start() for match in re.finditer(r"^!\[", part, re.MULTILINE)]
            table = re.search(r"^\| ", part, re.MULTILINE)
            assert not pictures or not table or pictures[-1] < table.start(), f"{name}: {part.splitlines()[0]}"
        assert all(len(alt) > 20 for alt in re.findall(r"!\[(.*?)\]\(figures", text)), name
