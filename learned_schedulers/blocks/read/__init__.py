"""Files of machine code, assembly and data sets -> basic blocks, and the same files with every block in a new order."""
