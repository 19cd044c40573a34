"""Imported once by the process that candidates are forks of: asking what vectors the processor has takes seconds.

Torch compiles and loads a small library for each kind of vector instructions, and keeps the answer in the process.
"""

from torch._inductor.cpu_vec_isa import valid_vec_isa_list

VECTOR_INSTRUCTIONS = valid_vec_isa_list()
