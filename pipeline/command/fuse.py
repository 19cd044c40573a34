"""`graph --fuse`: which operations become one kernel, and what TorchInductor makes of a torch module by that."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from pipeline import tables
from pipeline.graphs.compilers.fusion_problem import fusion_problem
from pipeline.graphs.compilers.inductor.available import missing
from pipeline.graphs.compilers.rates import frozen_rates
from pipeline.graphs.plans.fusion_summary import of_fusions, of_kernels, of_unknown
from pipeline.graphs.plans.fusions import as_json, best_of, fusions, kernels_of
from pipeline.graphs.plans.named_module import NamedModule
from pipeline.graphs.plans.sources import Source

_MOST_OPERATIONS = 600  # of a module that is compiled: Inductor is asked about every pair of its nodes


def fuse(model: str, source: Source, module: NamedModule | None, seed: int, plan: Path | None) -> None:
    """Print plans of fusion and write the best one; compile and time the module.

    Raises ValueError where the source does not say what its operations compute and move.
    """
    graph = source.graph
    if len(graph.seconds):
        raise ValueError(
            f"{model}: a profiled workload tells run times alone, and fusion needs the FLOPs and bytes of every "
            "operation: name an ONNX file or module:Class"
        )
    if not len(graph):
        raise ValueError(f"{model}: it has no operations that could be fused")
    print(
        f"{model}: {len(graph)} operations, {len(graph.children.targets)} edges\n"
        "Predicted for one core of the processor that the cost of fusion was fitted to: launches, arithmetic, bytes.\n",
        flush=True,
    )
    problem = fusion_problem(graph, frozen_rates())
    tried = fusions(problem, seed)
    best = best_of(tried)
    kernels = kernels_of(problem, best.plan)
    print(of_fusions(tried, len(graph)))
    print()
    print(of_kernels(kernels, source.names))
    if unknown := of_unknown(graph.kinds):
        print(unknown)
    if plan is not None:
        with tables.replacing(plan) as temporary:
            temporary.write_text(as_json(best, kernels, source.names))
        print(f"plan: {plan}")
    if module is not None:
        print(f"\n{_compiled(module, len(graph), seed)}")


def _compiled(module: NamedModule, operations: int, seed: int) -> str:
    """What TorchInductor makes of the module, or why it is not compiled."""
    if operations > _MOST_OPERATIONS:
        return f"The module is not compiled: it has more than {_MOST_OPERATIONS} operations, which takes too long"
    if lacking := missing():
        return f"The module is not compiled: {lacking}"
    from pipeline.graphs.plans.compiled_module import Failed, compared  # slow to import: torch's compilers
    from pipeline.graphs.plans.compiled_summary import of_comparison

    try:
        with TemporaryDirectory() as folder:
            return of_comparison(compared(module, Path(folder), seed, tell=_tell), module.training)
    except Failed as error:
        return str(error)


def _tell(what: str) -> None:
    print(f"{what} ...", file=sys.stderr, flush=True)
