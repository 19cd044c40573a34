"""A block of which nothing but its bytes is known: a line of hexadecimal."""

from __future__ import annotations

import numpy as np

from pipeline.blocks.corpus.forms import Forms
from pipeline.blocks.dag.memory_order import linked_by_form
from pipeline.blocks.formats.document import CodeBlock


def lone_block(place: str, code: bytes, forms: Forms) -> CodeBlock | None:
    """The block with the marks that its bytes suggest; None if it is not made of whole, straight instructions."""
    content, begin = np.frombuffer(code, np.uint8), np.zeros(1, np.int64)
    decoded = forms.decode(content, begin, np.array([len(code)]))
    facts = forms.facts[decoded.form]
    if not code or not decoded.whole[0] or not facts["valid"].all() or facts["control"].any():
        return None
    return CodeBlock(place, code, linked_by_form(content, begin, decoded, forms.facts).tobytes())
