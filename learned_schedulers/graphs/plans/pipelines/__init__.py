"""Pipelines: stages of a network on devices, through which micro-batches run one behind the other."""
