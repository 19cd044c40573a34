"""The wing of basic blocks: compiled programs -> blocks -> dependency DAGs -> orders. It does not import `graphs`."""

from typing import TYPE_CHECKING

from learned_schedulers.public import offer

if TYPE_CHECKING:
    from learned_schedulers.blocks.order.block import Block, block
    from learned_schedulers.blocks.order.file_orders import Change, Orders, joined, limited, propose
    from learned_schedulers.blocks.order.legality import Difference, compare
    from learned_schedulers.blocks.order.orderer import Ordered, Orderer, Status
    from learned_schedulers.blocks.order.targets import TARGETS, of_host
    from learned_schedulers.blocks.read.document import Blocks, CodeBlock, Document, Fault
    from learned_schedulers.blocks.read.reading import document, format_of, is_document
    from learned_schedulers.blocks.read.unreadable import Unreadable

__all__ = [
    "TARGETS",
    "Block",
    "Blocks",
    "Change",
    "CodeBlock",
    "Difference",
    "Document",
    "Fault",
    "Ordered",
    "Orderer",
    "Orders",
    "Status",
    "Unreadable",
    "block",
    "compare",
    "document",
    "format_of",
    "is_document",
    "joined",
    "limited",
    "of_host",
    "propose",
]
offer(
    __name__,
    {
        "order.block": "Block block",
        "order.file_orders": "Change Orders joined limited propose",
        "order.legality": "Difference compare",
        "order.orderer": "Ordered Orderer Status",
        "order.targets": "TARGETS of_host",
        "read.document": "Blocks CodeBlock Document Fault",
        "read.reading": "document format_of is_document",
        "read.unreadable": "Unreadable",
    },
    check=True,
)
