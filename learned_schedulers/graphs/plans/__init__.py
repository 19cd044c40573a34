"""From a user's model to the best schedule, and its summaries. The console command calls it."""
