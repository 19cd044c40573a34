"""Areas of an assembly file that control may enter at places that nobody can list: they are left alone as a whole.

A compiler's code jumps to labels, and to what it loads from tables of labels. Where it takes the address of a label in
an instruction (C's `&&label`), it may add to it and jump elsewhere.
"""

from __future__ import annotations

import numpy as np
from iced_x86 import Decoder, FlowControl, Mnemonic

from learned_schedulers.blocks.read.assembly_functions import functions
from learned_schedulers.blocks.read.assembly_keys import Addresses, Finder
from learned_schedulers.blocks.read.listing import Listing
from learned_schedulers.blocks.read.statements import Kind, Source

# Code that jumps to an address in a register, as `jmp reg` does (for processors with weak branch prediction).
_THUNKS = ("indirect_thunk", "retpoline", "lvi_thunk")


class Areas:
    """The parts of a file that are left alone as a whole: functions, and what lies between them."""

    def __init__(self, source: Source, part: Listing) -> None:
        bounds = {0}
        for function in functions(source):
            bounds |= {function.first, function.last}
        lines = np.array(sorted(bounds), np.int64)
        number = np.searchsorted(lines, part.line, "right") - 1
        _, self.of = np.unique(part.section * len(lines) + number, return_inverse=True)  # (C,) number of the area
        self.count = int(self.of.max(initial=-1)) + 1
        self.opaque = np.zeros(self.count, bool)  # it has a statement that is not understood in it, or beside it
        opaque = [k for k, s in enumerate(source.statements) if s.kind == Kind.OPAQUE and s.text]
        if self.count:
            nearest = np.searchsorted(part.line, opaque).clip(max=len(part.line) - 1)
            self.opaque[self.of[nearest]] = True
            self.opaque[self.of[(nearest - 1).clip(min=0)]] = True


def components(part: Listing, finder: Finder, areas: Areas, transfers: Addresses, begins: np.ndarray) -> np.ndarray:
    """Number of the set of areas that jump to each other's inside, for each area."""
    is_call = np.array([part.code(k)[:1] == b"\xe8" for k in transfers.holder.tolist()], bool)
    into = finder.at(transfers.key)
    inner = ~is_call & (into >= 0) & ~np.isin(transfers.key, begins)
    return _connected(areas.of[transfers.holder[inner]], areas.of[into[inner]], areas.count)


def _connected(source: np.ndarray, into: np.ndarray, count: int) -> np.ndarray:
    """Number of the component of each of `count` nodes, (count,) int64; by their first nodes; without SciPy.

    source, into: (E,) ends of the edges, whose directions do not count.
    """
    least = np.arange(count)  # a node of the same component, in the end its first one
    while True:
        lower = np.minimum(least[source], least[into])
        following = least.copy()
        for ends in (source, into, least[source], least[into]):
            np.minimum.at(following, ends, lower)
        following = following[following]
        if np.array_equal(following, least):
            return np.unique(least, return_inverse=True)[1].astype(np.int64)
        least = following


def entered_anywhere(
    source: Source, part: Listing, areas: Areas, component: np.ndarray, inner: Addresses
) -> np.ndarray:
    """Instructions of areas where control may arrive at a place that cannot be listed, (C,) bool.

    inner: instructions, -1 for none, whose address is held somewhere, begins of functions apart.
    """
    wild = np.zeros(len(part.line), bool)
    if not len(wild):
        return wild
    forms, number = np.unique(part.form, return_inverse=True)
    examples = [Decoder(64, part.forms.examples[form]).decode() for form in forms.tolist()]
    indirect = np.array([e.flow_control == FlowControl.INDIRECT_BRANCH for e in examples], bool)[number]
    takes = [e.mnemonic == Mnemonic.LEA or not e.is_ip_rel_memory_operand for e in examples]  # it accesses no memory
    jumping = areas.opaque.copy()
    jumping[areas.of[indirect]] = True
    jumps = np.flatnonzero(part.forms.facts["branch_bytes"][part.form] > 0).tolist()
    jumping[[areas.of[k] for k in jumps if _is_thunk(source.statements[int(part.line[k])].operands)]] = True
    jumping = np.isin(component, component[jumping])
    by_address = (inner.key >= 0) & (inner.holder >= 0) & np.array(takes, bool)[number][inner.holder]
    wild[inner.key[by_address]] = True  # other code may add to the address and jump there
    by_address[by_address] = jumping[areas.of[inner.holder[by_address]]]
    wild[inner.holder[by_address]] = True
    return wild


def _is_thunk(name: str) -> bool:
    """Whether a jump to the symbol is a jump to an address in a register."""
    return any(word in name for word in _THUNKS)
