"""Explained blocks -> one HTML page that needs no further file, no script and no network."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import jinja2

from learned_schedulers.blocks.order.gains import Gains
from learned_schedulers.blocks.order.lower_bounds import Bound
from learned_schedulers.blocks.order.targets import Target
from learned_schedulers.blocks.order.trace import Cause, Reason, Step, Trace
from learned_schedulers.blocks.order.unit_names import unit_names
from learned_schedulers.command.explanation.explained import Explained

_FOLDER = Path(__file__).parent
_TICKS = 8  # labels of an axis, about
_LONGEST_PATH = 12  # instructions of a path that are named
_WORDS = {
    Cause.RESULT: "latencies of results",
    Cause.UNIT: "busy units",
    Cause.WIDTH: "width of issue or dispatch",
    Cause.ROOM: "full buffers",
    Cause.WRITE_BACK: "write-back in order",
    Cause.RETIREMENT: "retirement",
    Cause.MEMORY: "order of memory",
    Cause.ORDER: "program order",
    Cause.PIPELINE: "entering and leaving the pipeline",
}


class _Bar(NamedTuple):
    """A piece of a timeline, in percent of its width."""

    kind: str
    left: float
    width: float


class _Row(NamedTuple):
    """An instruction of a timeline."""

    number: int
    text: str
    moved: int  # slots by which it stands lower than before; 0: it did not move
    wait: str
    bars: list[_Bar]
    on_chain: bool
    story: str


class _Share(NamedTuple):
    """A piece of the chain that decides the makespan."""

    cause: str
    words: str
    cycles: int
    percent: float


class _Panel(NamedTuple):
    """One order of a block."""

    title: str
    cycles: int
    rows: list[_Row]
    shares: list[_Share]
    past: float  # percent at which its makespan ends


class _Limit(NamedTuple):
    """A line of the table of bounds."""

    name: str
    need: str
    cycles: int
    is_binding: bool


class _Block(NamedTuple):
    """All that the page shows of one block."""

    title: str
    further: tuple[str, ...]
    note: str
    saved: int
    before: int
    after: int
    gain: float
    instructions: int
    sentences: list[str]
    ticks: list[tuple[int, float]]
    step: float  # percent between two ticks
    panels: list[_Panel]
    legend: list[tuple[str, str]]
    limits: list[_Limit]
    binding: _Limit


def page(file_name: str, target: Target, by: str, memory: str, gains: Gains, blocks: Sequence[Explained]) -> str:
    """The page of a file. Every text is escaped: names of files and places are not trusted."""
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            file_name=file_name,
            target=target,
            by=by,
            memory=memory,
            gains=gains,
            blocks=[_block(block, target) for block in blocks],
            in_order=all(block.before.in_order for block in blocks),
        )
    )


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _block(block: Explained, target: Target) -> _Block:
    before, after = block.before, block.after
    longest = max(before.makespan, after.makespan)
    step = next(size for size in _steps() if longest <= size * _TICKS)
    causes = [
        cause for cause in Cause if any(link.cause == cause and link.cycles for link in before.chain + after.chain)
    ]
    note = ""
    if block.is_part:
        last = block.first + len(block.texts) - 1
        note = f"Its instructions {block.first} to {last}, the part that gains most; long blocks are ordered in parts."
    return _Block(
        title=block.places[0],
        further=block.places[1:],
        note=note,
        saved=before.makespan - after.makespan,
        before=before.makespan,
        after=after.makespan,
        gain=1 - after.makespan / before.makespan,
        instructions=len(block.texts),
        sentences=[_saving(before, after), _verdict(block, target)],
        ticks=[(cycle, 100 * cycle / longest) for cycle in range(0, longest, step) if cycle <= 0.96 * longest],
        step=100 * step / longest,
        panels=[_panel("before", block, before, target), _panel("after", block, after, target)],
        legend=[(cause.name.lower(), _WORDS[cause]) for cause in causes],
        limits=[_limit(bound, block, target) for bound in block.bounds],
        binding=_limit(block.bounds.binding, block, target),
    )


def _steps() -> Sequence[int]:
    """Distances of ticks: 1, 2, 5, 10, 20, 50 ..."""
    return [digit * 10**power for power in range(7) for digit in (1, 2, 5)]


def _panel(title: str, block: Explained, trace: Trace, target: Target) -> _Panel:
    scale = 100 / max(block.before.makespan, block.after.makespan)
    chosen = {link.slot for link in trace.chain if link.cycles and link.cause != Cause.PIPELINE}
    stays = _staying([step.instruction for step in trace.steps])
    rows = []
    for slot, step in enumerate(trace.steps):
        spans: list[tuple[str, float, float]] = [("executes", step.issue, max(step.end, step.issue + 0.5))]
        if not trace.in_order:
            spans.insert(0, ("waits", step.dispatch, step.issue))
            spans.append(("finished", max(step.end, step.issue + 0.5), step.retire + 1))
        bars = [_Bar(kind, scale * begin, scale * (end - begin)) for kind, begin, end in spans if end > begin]
        number = block.first + step.instruction
        moved = 0 if step.instruction in stays else slot - step.instruction
        wait = _wait(step.reason, trace, block.first)
        story = _story(step, wait, unit_names(target, step.reason.units), trace.in_order)
        rows.append(_Row(number, block.texts[step.instruction], moved, wait, bars, slot in chosen, story))
    shares = [
        _Share(cause.name.lower(), _WORDS[cause], cycles, scale * cycles) for cause, cycles in trace.causes().items()
    ]
    return _Panel(title, trace.makespan, rows, shares, scale * trace.makespan)


def _staying(order: Sequence[int]) -> set[int]:
    """Instructions of a longest increasing subsequence: the others have moved past them."""
    ends: list[int] = []  # the last instruction of the best subsequence of each length
    before: dict[int, int | None] = {}
    for instruction in order:
        length = bisect_left(ends, instruction)
        before[instruction] = ends[length - 1] if length else None
        ends[length : length + 1] = [instruction]
    staying: set[int] = set()
    instruction_: int | None = ends[-1]
    while instruction_ is not None:
        staying.add(instruction_)
        instruction_ = before[instruction_]
    return staying


def _wait(reason: Reason, trace: Trace, first: int) -> str:
    """For what an instruction waited before it issued, in a few words; empty if for nothing."""
    if reason.earlier is None or reason.cause in (Cause.ORDER, Cause.PIPELINE):
        return ""
    number = first + trace.steps[reason.earlier.slot].instruction
    return {
        Cause.RESULT: f"result of {number}",
        Cause.UNIT: f"unit used by {number}",
        Cause.WIDTH: "next cycle",
        Cause.WRITE_BACK: f"write-back of {number}",
        Cause.MEMORY: f"access by {number}",
    }[reason.cause]


def _story(step: Step, wait: str, units: str, in_order: bool) -> str:
    """When an instruction did what, and why no sooner."""
    moments = [f"issues in {step.issue}", f"result in {step.end}"]
    if not in_order:
        moments = [f"dispatched in {step.dispatch}", *moments, f"retires in {step.retire}"]
    why = f"; waits for {'a ' if units else 'the '}{wait}" if wait else ""
    return f"cycles: {', '.join(moments)}{why}{f' ({units})' if units else ''}"


def _saving(before: Trace, after: Trace) -> str:
    """What the cycles were that the new order saves."""
    causes = (before.causes(), after.causes())
    differences = {cause: causes[1].get(cause, 0) - causes[0].get(cause, 0) for cause in Cause}
    parts = [
        f"{abs(cycles)} {'less' if cycles < 0 else 'more'} for {_WORDS[cause]}"
        for cause, cycles in sorted(differences.items(), key=lambda pair: pair[1])
        if cycles
    ]
    if not parts:
        return "Both orders spend as many cycles for each cause."
    saved = _cycles(before.makespan - after.makespan)
    return f"The new order saves {saved}: its deciding chain spends {_listed(parts)}."


def _verdict(block: Explained, target: Target) -> str:
    """How far the new order is from what no order can undercut."""
    binding, above = block.bounds.binding, block.after.makespan - block.bounds.binding.cycles
    needs = _needs(binding, block, target)[1]
    if above == 0:
        return f"No order is faster in this model: {needs}."
    return f"It is {_cycles(above)} above the highest lower bound ({_cycles(binding.cycles)}): {needs}."


def _limit(bound: Bound, block: Explained, target: Target) -> _Limit:
    name, need = _needs(bound, block, target)
    return _Limit(name, need[:1].upper() + need[1:], bound.cycles, bound is block.bounds.binding)


def _needs(bound: Bound, block: Explained, target: Target) -> tuple[str, str]:
    """The name of a bound, and what the block needs, as a part of a sentence."""
    if bound.kind == "path":
        numbers = [str(block.first + i) for i in bound.instructions]
        if len(numbers) > _LONGEST_PATH:
            numbers[_LONGEST_PATH // 2 : -_LONGEST_PATH // 2] = ["…"]
        if len(numbers) == 1:
            return "critical path", f"the result of {numbers[0]} alone takes {_cycles(bound.work)}"
        return "critical path", f"results along the path {' → '.join(numbers)} take {_cycles(bound.work)}"
    if bound.kind == "units":
        count, names = bound.units.bit_count(), unit_names(target, bound.units)
        if count == 0:
            return "units", "no unit is used"
        share = "" if count == 1 else f", {-(-bound.work // count)} for each of the {count} units"
        users = len(bound.instructions)
        return (
            "units",
            f"{names} {'is' if count == 1 else 'are'} needed for {_cycles(bound.work)}{share}, by {users} "
            + ("instruction" if users == 1 else "instructions"),
        )
    verb = "issue" if block.before.in_order else "are dispatched"
    return (
        f"{'issue' if block.before.in_order else 'dispatch'} width",
        f"{bound.work} micro-ops {verb}, at most {bound.width} a cycle",
    )


def _cycles(count: int) -> str:
    return f"{count} cycle" if count == 1 else f"{count} cycles"


def _listed(parts: Sequence[str]) -> str:
    """a, b and c."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
