"""The page `fusion`: its tables, figures and template."""
