"""Numbers -> pages: one folder a page, with the modules of its sections, their tables, figures and templates.

The stage `report` alone calls it (and `ship` for the model card, `track` for the list of files). A table is a
declaration (`tables.py`): what a line is of, and for each column a heading and a query of table `results`. A section is
a module with `section(evidence)`: what its template shows, by name, and under `figures` what is to be drawn; `build.py`
has the list of them. How figures are dressed stands in `plots.py`.
"""
