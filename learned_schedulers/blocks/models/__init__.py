"""Networks with weights, and their trainings. Called by methods and by stages that train."""
