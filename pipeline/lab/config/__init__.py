"""Settings: params.yaml checked, every key with its type. Called by everything; it imports nothing."""
