"""Order -> cycles: llvm-mca, and fast models of its pipelines. Called by schedulers, stages and analysis."""
