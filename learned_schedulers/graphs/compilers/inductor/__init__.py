"""TorchInductor under external control: which of its scheduler nodes it may fuse, and how fast the result runs."""
