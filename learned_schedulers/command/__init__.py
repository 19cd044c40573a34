"""The console command `learned-schedulers` for users' own code and models: one file per verb."""
