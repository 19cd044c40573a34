"""The wing of basic blocks: compiled programs -> blocks -> dependency DAGs -> orders. It knows nothing of `graphs`."""
