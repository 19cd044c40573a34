"""Orders of a block run on a processor, in confined processes: equal states, cycles. Called by stages and analysis."""
