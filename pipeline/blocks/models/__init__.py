"""Networks with weights, and how each is trained. Called by schedulers and by the stages that train."""
