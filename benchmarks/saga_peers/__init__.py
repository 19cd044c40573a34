"""SAGA's schedulers beside ours: whether its HEFT is ours, ratios on unseen graphs, and the worst graphs for ours."""
