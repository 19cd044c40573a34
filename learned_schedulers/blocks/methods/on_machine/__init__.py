"""Code shared by schedulers that use the processor models of latency/; no schedulers themselves."""
