"""Run by gdb: the file and line that it shows at addresses of an object. Input and output: JSON files."""

import json
import os
import re

import gdb  # only inside of gdb

with open(os.environ["OWN_INPUT"]) as file:
    sections = json.load(file)  # [index, name, offsets] of the sections that are loaded, in their sequence

listing = re.findall(r"(0x[0-9a-f]+) - 0x[0-9a-f]+ is (\S+)", gdb.execute("info files", to_string=True))
if [name for _, name in listing] != [name for _, name, _ in sections]:
    raise SystemExit("gdb lists other sections")
answers = {}
for (base, _), (index, _, offsets) in zip(listing, sections, strict=False):
    rows = []
    for offset in offsets:
        place = gdb.find_pc_line(int(base, 16) + offset)
        rows.append([place.symtab.filename if place.symtab else "", place.line])
    answers[index] = rows
with open(os.environ["OWN_OUTPUT"], "w") as file:
    json.dump(answers, file)
