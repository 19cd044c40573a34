"""Neural networks, files and generators become computation graphs: tables of operations, their costs and edges."""
