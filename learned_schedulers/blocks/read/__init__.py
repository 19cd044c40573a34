"""Machine code -> basic blocks: fetching, ELF, cutting, leak masks, sets. Called by stages and by the whole wing."""
