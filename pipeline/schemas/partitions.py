"""Rows of table `blocks` of one partition, a range of block_id (blocks/corpus/partition.py)."""

from __future__ import annotations

from pipeline.schemas.blocks import SCHEMA as SCHEMA

PLACE = "data/corpus/partitions/{partition}.parquet"
