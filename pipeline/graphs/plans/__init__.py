"""From a model of one's own to the best classical schedule, and what is shown of it. Called by the console command."""
