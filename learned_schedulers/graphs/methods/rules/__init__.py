"""Code that several methods share, and the one rule that decides which proposals count."""
