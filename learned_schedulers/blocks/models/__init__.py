"""Networks with weights, and their trainings. Called by schedulers and by the stages that train."""
