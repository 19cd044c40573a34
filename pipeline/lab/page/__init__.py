"""Numbers -> pages: each chapter's page.md, in Markdown with calls of Jinja, rendered with the numbers that it names.

Only the stage `report` calls it (and the `ship` stages for the model cards, `track` for the list of files). `pages.py`
reads the head of a page, `calls.py` offers what its text may call: tables (`tables.py`: the subject of a line, and for
each column a heading and a query of table `results`), claims with their intervals, pictures. `build.py` joins pages,
`rendering.py` folds long tables and makes HTML, with `page.css` and `tables.js` in every page. `plots.py` has the style
of the figures.
"""
