"""Columns of what a processor does with each instruction: one row for each distinct instruction."""

from __future__ import annotations

import pyarrow as pa

MACHINE_INSTRUCTIONS = pa.schema(
    [
        ("code", pa.binary()),  # masked, as in table `encodings`
        ("machine", pa.string()),
        ("issue_width", pa.int16()),  # of the machine: micro-ops per cycle
        ("retire_width", pa.int16()),  # of the machine: instructions per cycle; 0: it issues in order
        ("pools", pa.list_(pa.int32())),  # of the machine: entries of the reorder buffer, registers of the files
        ("buffers", pa.list_(pa.int32())),  # of the machine: entries of the schedulers' buffers
        ("micro_ops", pa.int32()),
        ("latency", pa.int32()),  # cycles from issue to write-back
        ("units", pa.list_(pa.int16())),  # that it occupies, ascending
        ("unit_cycles", pa.list_(pa.int32())),  # for which it occupies each of them
        ("choices", pa.list_(pa.list_(pa.int16()))),  # groups of units: it also occupies any one of each group
        ("choice_cycles", pa.list_(pa.int32())),  # for which it occupies it
        ("reads", pa.list_(pa.uint64())),  # registers, three words of dag/resources.py
        ("late_reads", pa.list_(pa.uint64())),  # registers that it reads only after its load
        ("writes", pa.list_(pa.uint64())),
        ("double_reads", pa.list_(pa.uint64())),  # registers that two of its operands read
        ("read_advance", pa.int16()),  # cycles by which its late reads come later
        ("memory", pa.string()),  # none | load | store (which may load as well)
        ("kept", pa.list_(pa.int32())),  # entries of each pool, from dispatch to retirement
        ("queued", pa.list_(pa.int32())),  # entries of each buffer, from dispatch to issue
        ("status", pa.string()),  # ok | unsupported: all zeros
        ("message", pa.string()),
    ]
)
