"""Evidence -> figures, and pages as Markdown. It touches no file; the stage reads and writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from pipeline.collection.page import collection
from pipeline.corpus.page import composition, ingest, verification
from pipeline.devices.page import comparison as methods_on_devices
from pipeline.devices.page import simulator, speed
from pipeline.execution.page import machine
from pipeline.fusion.page import agreement as agreement_of_fusions
from pipeline.fusion.page import answers as answers_of_fusion
from pipeline.fusion.page import compiler, plans
from pipeline.fusion.page import costs as costs_of_fusion
from pipeline.fusion.page import learning as learning_of_fusion
from pipeline.fusion.page import pictures as pictures_of_fusion
from pipeline.hardware.page import hardware
from pipeline.imitation.page import comparison, ideas, input, limits
from pipeline.lab.page.evidence import Evidence
from pipeline.lab.page.index import front
from pipeline.lab.page.pages import EXPERIMENTS, PAGES, Page
from pipeline.lab.page.plots import Drawing
from pipeline.lab.page.provenance import numbers_line, provenance
from pipeline.lab.page.rendering import folded
from pipeline.lab.page.templates import template
from pipeline.operator.page import decoding, learning, price, projection
from pipeline.own_code.page import answers as answers_of_own_code
from pipeline.own_code.page import generated, pace, proof, worth
from pipeline.placement.page import answers as answers_of_placement
from pipeline.placement.page import costs, executed, scale, splits
from pipeline.placement.page import gains as gains_of_placement
from pipeline.placement.page import learning as learning_of_placement
from pipeline.placement.page import pictures as pictures_of_placement
from pipeline.policies.page import answers, exactness, gains, generalisation, temperature, training
from pipeline.policies.page import paper_tables as tables_of_policies
from pipeline.policies.page import speed as speed_of_policies
from pipeline.policies.page import trials as trials_of_policies
from pipeline.policies.page.shared import with_extensions
from pipeline.processors.page import agreement, cycles, fresh
from pipeline.reproduction.page import paper_tables
from pipeline.scale.page import cluster, curve, faults, plan

_FOLDER = Path(__file__).parent
Section = Callable[[Evidence], Mapping[str, Any]]
# Page -> the modules of its sections. A template reads the contents of a section under the module's name.
_MODULES: dict[str, tuple[ModuleType, ...]] = {
    "index": (front,),
    "reproduction": (paper_tables,),
    "operator": (learning, projection, decoding, price),
    "imitation": (comparison, ideas, limits, input),
    "processors": (cycles, fresh, agreement, hardware),
    "own_code": (answers_of_own_code, worth, proof, generated, pace),
    "devices": (methods_on_devices, machine, speed, simulator),
    "policies": (
        *(answers, tables_of_policies, gains, temperature, generalisation, training, exactness),
        *(speed_of_policies, trials_of_policies),
    ),
    "placement": (
        *(answers_of_placement, gains_of_placement, pictures_of_placement, learning_of_placement),
        *(scale, executed, splits, costs),
    ),
    "fusion": (
        *(pictures_of_fusion, answers_of_fusion, plans, learning_of_fusion, compiler, agreement_of_fusions),
        *(collection, costs_of_fusion),
    ),
    "corpus": (composition, verification, ingest),
    "scale": (curve, plan, cluster, faults),
}
SECTIONS: dict[str, dict[str, Section]] = {
    page: {
        module.__name__.rpartition(".")[2]: with_extensions(module.section) if page == "policies" else module.section
        for module in modules
    }
    for page, modules in _MODULES.items()
}


def figures(evidence: Evidence) -> dict[str, Drawing]:
    """Every figure of the report by its file name without ending; calling it draws it."""
    shown = [section(evidence) for sections in SECTIONS.values() for section in sections.values()]
    return {name: drawing for section in shown for name, drawing in section.get("figures", {}).items()}


def markdown(evidence: Evidence) -> dict[str, str]:
    """Every page as Markdown by its name; images are figures/<name>.png, links to pages are <name>.md."""
    return {page.name: page_text(page, evidence) for page in PAGES}


def page_text(page: Page, evidence: Evidence) -> str:
    """One page as Markdown: its template, or the templates of its sections one after the other."""
    experiments = page.experiments or EXPERIMENTS
    sections = {name: section(evidence) for name, section in SECTIONS[page.name].items()}
    parts = [name for name in sections if (_FOLDER / page.name / f"{name}.md.j2").exists()] or ["page"]
    layout = "layout.md.j2" if page.experiments else f"{page.name}/page.md.j2"
    text = template(layout).render(
        sections,
        page=page,
        pages=PAGES,
        parts=parts,
        params=evidence.params,
        provenance=provenance(experiments, evidence),
        numbers_line=numbers_line(experiments, evidence),
    )
    return folded(text)
