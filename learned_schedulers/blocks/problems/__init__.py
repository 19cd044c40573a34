"""What a scheduler sees of blocks: arrays, batches, encodings of instructions. Called by models and schedulers."""
