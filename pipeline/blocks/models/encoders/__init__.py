"""One file, one encoder: a block's instructions -> a vector for each. Found by the file's name."""
