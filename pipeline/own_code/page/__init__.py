"""Tables, figures and templates of the page `own_code`."""
