"""Orders of a block run on a processor, in confined processes: equal states, cycles. `order --verify` calls it."""
