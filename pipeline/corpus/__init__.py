"""Machine code -> basic blocks, their dependencies, sets and vocabularies: what every experiment on blocks reads."""
