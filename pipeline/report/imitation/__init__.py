"""The page `imitation`: its tables, figures and templates."""
