"""A module that the parent process of all candidates imports: detecting the vector instructions takes seconds.

Torch compiles and loads a small library for each kind of vector instructions, and caches the answer in the process.
"""

from torch._inductor.cpu_vec_isa import valid_vec_isa_list

VECTOR_INSTRUCTIONS = valid_vec_isa_list()
