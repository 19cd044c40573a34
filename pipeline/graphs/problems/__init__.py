"""What a method sees of a computation graph: flat arrays, memory O(operations + edges)."""
