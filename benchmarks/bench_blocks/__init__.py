"""The frozen blocks of the library's benchmark: C text of nine families, compiled by GCC, cut into blocks."""
