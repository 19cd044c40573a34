"""What a method sees of a computation graph: flat arrays in memory O(operations + edges)."""
