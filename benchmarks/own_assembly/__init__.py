"""Random legal orders in real assembly files, checked by tools that know nothing of the orders.

readelf's and gdb's source line of every instruction, sections byte for byte, location lists of variables; and programs
of our own that run, throw, and are stepped through by gdb.
"""
