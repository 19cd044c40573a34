"""Orders of a block run on a processor, in confined processes: equal states, cycles. Called by the laboratory and by `order --verify`."""
