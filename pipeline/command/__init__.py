"""What people type for code of their own: the console command `learned-schedulers`, one file a verb."""
