"""What several methods share, and the one rule of which proposals count."""
