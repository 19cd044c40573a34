"""The benchmark that others use: frozen instances, one judge, a method beside its peers, and results to hand in."""
