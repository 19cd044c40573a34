"""TorchInductor driven from outside: which of its scheduler nodes it may fuse, and what comes of it."""
