"""The page `index`: its tables, figures and templates."""
