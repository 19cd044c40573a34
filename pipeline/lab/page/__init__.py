"""Numbers -> pages: a folder for each page, with the modules of its sections and their templates.

Only the stage `report` calls it (and the `ship` stages for the model cards, `track` for the list of files). A table is
a declaration (`tables.py`): the subject of a line, and for each column a heading and a query of table `results`. A
section is a module with `section(evidence)`. It returns the values that its template shows, and under `figures` what is
to be drawn. `build.py` lists the sections; before them, `opening.py` answers the page's question by the values of
claims, and `anchors.py` marks the cells to which links to claims lead. `rendering.py` folds long tables and makes HTML,
with `page.css` and `tables.js` in every page. `plots.py` has the parts of the figures, `colours.py` their colours.
"""
