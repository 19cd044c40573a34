"""What a method sees of blocks: arrays, batches, encodings of instructions. Called by models and methods."""
