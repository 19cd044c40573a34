"""What the first guess of the package is worth: against time, and against calls of a dear judge."""
