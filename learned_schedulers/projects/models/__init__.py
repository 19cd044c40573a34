"""Networks that schedule job-shops, and how they are trained. Called by methods and by stages that train."""
