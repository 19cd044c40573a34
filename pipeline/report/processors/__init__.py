"""The page `processors`: its tables, figures and templates."""
