"""Soft assignments and what makes orders of them.

Convention: `X[..., i, j]` is instruction i in slot j, slots counted from 0 in code. The paper writes
the transpose, P[j, i], and counts slots from 1; only differences of slots enter its constraints.
"""
