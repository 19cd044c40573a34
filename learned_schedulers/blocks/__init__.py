"""The wing of basic blocks: compiled programs -> blocks -> dependency DAGs -> orders. It does not import `graphs`."""
