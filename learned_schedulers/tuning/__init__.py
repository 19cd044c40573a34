"""A project's hot functions, judged inside its own program, and what its build asks of a compiler."""
