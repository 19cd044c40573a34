"""The confined process that runs code, for the verb that measures."""

from tests.blocks.conftest import native

__all__ = ["native"]
