"""Code shared by schedulers that use the processor models of blocks/processors; no schedulers themselves."""
