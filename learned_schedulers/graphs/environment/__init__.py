"""Environments in which agents build schedules operation by operation: many at once in torch, or one in gymnasium."""

import gymnasium

# gymnasium.make("learned_schedulers.graphs.environment:Schedule-v0", problem=problem) imports this module by itself.
gymnasium.register("Schedule-v0", "learned_schedulers.graphs.environment.single:ScheduleEnv")
