"""Block -> dependency DAG, and its legal orders: checked, counted, drawn. Called by every room of the wing above it."""
