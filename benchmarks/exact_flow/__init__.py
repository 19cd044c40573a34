"""Does a GFlowNet sample what it promises? Exactly, on ten small graphs."""
