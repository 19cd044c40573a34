"""The page `corpus`: its tables, figures and templates."""
