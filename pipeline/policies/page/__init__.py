"""The page `policies`: its tables, figures and templates."""
