"""Neural networks -> sets of computation graphs: what every experiment on graphs reads."""
