"""Tables, figures and templates of the page `scale`."""
