"""Users' blocks -> legal orders for a processor, proven. The console command calls it."""
