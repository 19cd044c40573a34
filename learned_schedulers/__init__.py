"""Learned schedulers: code and models are read, scheduled and written again.

Numbers are the same on every x86-64 processor of level 3 (AVX2 and FMA; 2013 and later). This module sets that level
for every library that compiles or selects code by processor, before any of them is imported.
"""

import os

LEVEL_3 = {
    "NUMBA_CPU_NAME": "x86-64-v3",
    "NUMBA_CPU_FEATURES": "",  # those of the name alone; without it numba adds those of the processor at hand
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "OPENBLAS_CORETYPE": "Haswell",  # of NumPy and SciPy
    "ATEN_CPU_CAPABILITY": "avx2",  # torch's own kernels
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_CBWR": "COMPATIBLE",  # torch's matrix products: no other mode is the same on processors of all makers
}
for name, value in LEVEL_3.items():
    os.environ.setdefault(name, value)  # a benchmark of the price sets other values
