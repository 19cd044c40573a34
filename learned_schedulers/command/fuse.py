"""`graph --fuse`: plans which operations become one kernel, and compiles and times a torch module by TorchInductor."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from learned_schedulers.files import replacing
from learned_schedulers.graphs.compilers.fusion_problem import fusion_problem
from learned_schedulers.graphs.compilers.inductor.available import missing
from learned_schedulers.graphs.compilers.rates import frozen_rates
from learned_schedulers.graphs.plans.fusion_summary import fusions_text, kernels_text, unknown_kinds_text
from learned_schedulers.graphs.plans.fusions import as_json, best_of, fusions, kernels_of
from learned_schedulers.graphs.plans.named_module import NamedModule
from learned_schedulers.graphs.plans.sources import Source

_MOST_OPERATIONS = 600  # of a module that is compiled: every pair of its nodes is a question to Inductor


def fuse(model: str, source: Source, module: NamedModule | None, seed: int, plan: Path | None) -> None:
    """Print fusion plans and write the best one; compile and time the module.

    Raises ValueError if the source does not give the FLOPs and bytes of its operations.
    """
    graph = source.graph
    if len(graph.seconds):
        raise ValueError(
            f"{model}: a profiled workload only has run times, but fusion needs the FLOPs and bytes of every "
            "operation; name an ONNX file or module:Class"
        )
    if not len(graph):
        raise ValueError(f"{model}: it has no operations; name a model with operations that can be fused")
    print(
        f"{model}: {len(graph)} operations, {len(graph.children.targets)} edges\n"
        "Times are predicted from launches, arithmetic and bytes, for one core of the processor that the cost model "
        "was fitted to.\n",
        flush=True,
    )
    problem = fusion_problem(graph, frozen_rates())
    results = fusions(problem, seed)
    best = best_of(results)
    kernels = kernels_of(problem, best.plan)
    print(fusions_text(results, len(graph)))
    print()
    print(kernels_text(kernels, source.names))
    if unknown := unknown_kinds_text(graph.kinds):
        print(unknown)
    if plan is not None:
        with replacing(plan, follow=True) as temporary:
            temporary.write_text(as_json(best, kernels, source.names))
        print(f"plan: {plan}")
    if module is not None:
        print(f"\n{_compiled(module, len(graph), seed)}")


def _compiled(module: NamedModule, operations: int, seed: int) -> str:
    """A text about the compiled module, or about the reason why it is not compiled."""
    if operations > _MOST_OPERATIONS:
        return f"The module is not compiled: it has more than {_MOST_OPERATIONS} operations, which would take too long"
    if reason := missing():
        return f"The module is not compiled: {reason}"
    from learned_schedulers.graphs.plans.compiled_module import Failed, compared  # slow to import: torch's compilers
    from learned_schedulers.graphs.plans.compiled_summary import comparison_text

    try:
        with TemporaryDirectory() as folder:
            return comparison_text(compared(module, Path(folder), seed, tell=_tell), module.training)
    except Failed as error:
        return str(error)


def _tell(activity: str) -> None:
    print(f"{activity} ...", file=sys.stderr, flush=True)
