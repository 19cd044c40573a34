"""Changed blocks side by side, with predicted cycles, on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from learned_schedulers.blocks.order.file_orders import Change, Orders
from learned_schedulers.blocks.read.assembly import intel
from learned_schedulers.blocks.read.document import Document

_MOVED = "bold"


def show(document: Document, orders: Orders) -> None:
    """Print every changed block: as it was on the left, its new order on the right; moved instructions are bold."""
    console = Console(highlight=False)
    for change in orders.changes:
        console.print(_table(document.blocks[change.block].code, change))


def _table(code: bytes, change: Change) -> Table:
    cycles = f"{change.before} -> {change.after} cycles" if change.before >= 0 else "cycles unknown"
    table = Table(title=f"{change.place}: {cycles}", title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("#", justify="right")
    table.add_column("before", no_wrap=True)
    table.add_column("#", justify="right")
    table.add_column("after", no_wrap=True)
    texts = intel(code)
    for slot, instruction in enumerate(change.order):
        style = _MOVED if instruction != slot else ""
        table.add_row(str(slot), Text(texts[slot]), str(instruction), Text(texts[instruction], style))
    return table
