"""A block of which nothing but its bytes is known: a line of hexadecimal."""

from __future__ import annotations

from learned_schedulers.blocks.dag.memory_order import linked_by_form
from learned_schedulers.blocks.read.document import CodeBlock
from learned_schedulers.blocks.read.forms import Forms


def lone_block(place: str, code: bytes, forms: Forms) -> CodeBlock | None:
    """The block with the marks that its bytes suggest; None if it is not made of whole, straight instructions."""
    read = forms.read([code])
    if not code or not read.whole[0] or not read.straight[0]:
        return None
    return CodeBlock(place, code, linked_by_form(read.code, read.begin, read.decoded, forms.facts).tobytes())
