"""Numbers -> pages: a folder for each page, with its tables, figures and template. Called by the stage `report`."""
