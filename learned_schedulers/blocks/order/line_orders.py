"""Lines of hexadecimal -> the same lines with their blocks in new orders, as a stream."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from learned_schedulers.blocks.dag.memory_order import linked_by_form
from learned_schedulers.blocks.order.file_orders import CycleSums
from learned_schedulers.blocks.order.orderer import UNKNOWN, Orderer, Status
from learned_schedulers.blocks.read.document import CodeBlock, Fault
from learned_schedulers.blocks.read.lines import code_of, with_code
from learned_schedulers.blocks.read.reorder import permuted, reordered

LINES = 5000  # in a piece
WARM_UP = (0, [b"4889d84889f1,1\n"])  # mov rax, rbx; mov rcx, rsi: both orders are legal


class LinesPiece(NamedTuple):
    """What became of some lines."""

    lines: list[bytes]  # as many as there were
    statuses: Counter[str]  # changed | best | single | unsupported | unconfirmed | bad | empty
    cycles: CycleSums
    faults: list[Fault]


class LineOrderer:
    """Orders the blocks of lines. The result for some lines depends on these lines and their number alone."""

    def __init__(self, orderer: Orderer) -> None:
        self._orderer = orderer

    def __call__(self, piece: tuple[int, list[bytes]]) -> LinesPiece:
        """The lines of a piece, in their order. piece: how many lines come before, and the lines with their ends."""
        before, lines = piece
        codes: list[bytes] = []
        places: list[int] = []
        faults: dict[int, Fault] = {}  # by the line's index in the piece
        statuses: Counter[str] = Counter()
        for k, line in enumerate(lines):
            code = code_of(line)
            if isinstance(code, Fault):
                faults[k] = code
            elif code:
                codes.append(code)
                places.append(k)
            else:
                statuses["empty"] += 1
        reasons = self._reasons(codes)
        faults |= {place: reason for place, reason in zip(places, reasons, strict=True) if reason is not None}
        good = [k for k, reason in enumerate(reasons) if reason is None]
        codes, places = [codes[k] for k in good], [places[k] for k in good]
        ordered = self._orderer.order(codes, None, before)
        status = ordered.status.copy()
        rewritten = list(lines)
        changed = np.flatnonzero(status == Status.CHANGED).tolist()
        new_codes = self._rewritten([codes[k] for k in changed], [ordered.of(k) for k in changed])
        for k, new_code in zip(changed, new_codes, strict=True):
            if new_code is None:
                faults[places[k]] = Fault("", "a rip-relative operand is too far away to be moved", "the line stays")
                status[k] = Status.BEST
            else:
                rewritten[places[k]] = with_code(lines[places[k]], new_code)
        statuses["bad"] = len(faults)
        for k, instruction in ordered.unsupported.items():
            faults[places[k]] = self._orderer.unknown("", instruction)
        counts = np.bincount(status, minlength=len(Status)).tolist()
        statuses.update({Status(number).name.lower(): count for number, count in enumerate(counts)})
        compared = (status == Status.CHANGED) & (ordered.before != UNKNOWN)
        confirmed = compared & (ordered.loop_before != UNKNOWN)
        cycles = CycleSums(
            int(ordered.before[compared].sum()),
            int(ordered.after[compared].sum()),
            float(ordered.loop_before[confirmed].sum()),
            float(ordered.loop_after[confirmed].sum()),
        )
        named = [
            fault if fault.place else fault._replace(place=f"line {before + k + 1}")
            for k, fault in sorted(faults.items())
        ]
        return LinesPiece(rewritten, +statuses, cycles, named)

    def _reasons(self, codes: list[bytes]) -> list[Fault | None]:
        """Why each code is no basic block; None if it is one."""
        read = self._orderer.forms.read(codes)
        reasons: list[Fault | None] = [None] * len(codes)
        for k in np.flatnonzero(~(read.whole & read.straight)).tolist():
            if not read.whole[k]:
                reasons[k] = Fault("", "not made of whole x86-64 instructions", "correct or delete the line")
            else:
                reasons[k] = Fault("", "a control transfer inside or at the end", "cut the block before the transfer")
        return reasons

    def _rewritten(self, codes: list[bytes], orders: list[np.ndarray]) -> list[bytes | None]:
        """Codes in new orders, rip-relative operands with the same targets; None where a displacement does not fit."""
        code, bounds, decoded, *_ = self._orderer.forms.read(codes)
        facts = self._orderer.forms.facts
        order = np.concatenate(orders) if orders else np.zeros(0, np.int64)
        moved, fits = reordered(code, bounds[:-1], decoded, facts, order)
        content, ends = moved.tobytes(), bounds.tolist()
        new_codes = [content[ends[k] : ends[k + 1]] if fits[k] else None for k in range(len(codes))]
        # A rip-relative displacement of zero is not linked yet, so it stays.
        marks = linked_by_form(code, bounds[:-1], decoded, facts)
        unlinked = np.flatnonzero(facts["rip_relative"][decoded.form] & (marks > 0))
        for k in np.unique(np.searchsorted(decoded.first, unlinked, "right") - 1).tolist():
            block = CodeBlock("", codes[k], marks[decoded.first[k] : decoded.first[k + 1]].tobytes())
            new_codes[k] = permuted(block, orders[k], self._orderer.forms)
        return new_codes
