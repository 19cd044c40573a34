"""Environments in which agents build schedules operation by operation: many at once in torch, or one in gymnasium."""

import gymnasium

gymnasium.register("learned_schedulers/Schedule-v0", "learned_schedulers.graphs.environment.single:ScheduleEnv")
