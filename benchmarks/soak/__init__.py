"""The console command under random work of all verbs, for hours: every answer is checked by independent means."""
