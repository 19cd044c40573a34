"""Networks that order computation graphs, and how each is trained. Called by schedulers and by stages that train."""
