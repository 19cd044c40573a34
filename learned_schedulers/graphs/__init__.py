"""The wing of computation graphs: networks become graphs of operations; graphs become placements and schedules."""

from typing import TYPE_CHECKING

from learned_schedulers.public import offer

if TYPE_CHECKING:
    from learned_schedulers.graphs.devices.evaluation import Evaluated, evaluated
    from learned_schedulers.graphs.devices.timeline import Timeline, timeline
    from learned_schedulers.graphs.environment.single import ScheduleEnv
    from learned_schedulers.graphs.plans.best import Trial, chosen, trials
    from learned_schedulers.graphs.plans.model_files import graph_from_pairs, read_graph
    from learned_schedulers.graphs.plans.module_export import export_module, read_module
    from learned_schedulers.graphs.plans.placed_module import PlacedModule
    from learned_schedulers.graphs.plans.schedule import Schedule, judge, schedule
    from learned_schedulers.graphs.plans.sources import Source, on_devices
    from learned_schedulers.graphs.plans.splits.judging_splits import broken, cost, loads
    from learned_schedulers.graphs.plans.splits.programme import least
    from learned_schedulers.graphs.problems.problem import Edges, Problem, Transfers
    from learned_schedulers.graphs.read.graph import Graph
    from learned_schedulers.graphs.read.onnx_files import read_onnx
    from learned_schedulers.graphs.read.workloads import Workload, read_workload

__all__ = [
    "Edges",
    "Evaluated",
    "Graph",
    "PlacedModule",
    "Problem",
    "Schedule",
    "ScheduleEnv",
    "Source",
    "Timeline",
    "Transfers",
    "Trial",
    "Workload",
    "broken",
    "chosen",
    "cost",
    "evaluated",
    "export_module",
    "graph_from_pairs",
    "judge",
    "least",
    "loads",
    "on_devices",
    "read_graph",
    "read_module",
    "read_onnx",
    "read_workload",
    "schedule",
    "timeline",
    "trials",
]
offer(
    __name__,
    {
        "devices.evaluation": "Evaluated evaluated",
        "devices.timeline": "Timeline timeline",
        "environment.single": "ScheduleEnv",
        "plans.best": "Trial chosen trials",
        "plans.placed_module": "PlacedModule",
        "plans.module_export": "export_module read_module",
        "plans.model_files": "graph_from_pairs read_graph",
        "plans.schedule": "Schedule judge schedule",
        "plans.sources": "Source on_devices",
        "plans.splits.judging_splits": "broken cost loads",
        "plans.splits.programme": "least",
        "problems.problem": "Edges Problem Transfers",
        "read.graph": "Graph",
        "read.onnx_files": "read_onnx",
        "read.workloads": "Workload read_workload",
    },
    check=True,
)
