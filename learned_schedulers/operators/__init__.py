"""Projections of soft assignments onto constraints, and decoders that turn soft assignments into orders.

Convention: `X[..., i, j]` is instruction i in slot j, slots counted from 0 in code. The paper writes
the transpose, P[j, i], and counts slots from 1; only differences of slots enter its constraints.
"""
