"""The page `placement`: its tables, figures and templates."""
