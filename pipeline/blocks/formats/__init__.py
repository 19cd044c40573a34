"""Files that people of the field hold -> basic blocks, and the same files with every block in a new order."""
