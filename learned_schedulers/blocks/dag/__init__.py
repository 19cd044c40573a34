"""Block -> dependency DAG, and its legal orders: checked, counted, drawn."""
