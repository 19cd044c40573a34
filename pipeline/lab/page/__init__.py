"""Numbers -> pages: the `page.md` of each chapter, Markdown with calls that bring claims, tables and pictures.

Only the stage `report` calls it (and the `ship` stages for the model cards, `track` for the list of files). `calls.py`
has the calls, `tables.py` what a table is, `claim_tables.py` how claims are told, and `anchors.py` marks the cells to
which links to claims lead. `build.py` joins the pages; `rendering.py` folds long tables and makes HTML, with `page.css`
and `tables.js` in every page. `plots.py` has the parts of the figures, `colours.py` their colours.
"""
