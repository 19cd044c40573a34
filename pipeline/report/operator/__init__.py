"""The page `operator`: its tables, figures and templates."""
