"""Order -> cycles: llvm-mca, and fast models of its pipelines. Called by methods and by the laboratory."""
