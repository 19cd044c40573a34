"""The page `devices`: its tables, figures and templates."""
