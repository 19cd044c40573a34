"""The wing of computation graphs: networks become graphs of operations; graphs become placements and schedules."""
