"""Every training resumes at any measurement and ends with the same bytes; what the loop itself does."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
import torch

from learned_schedulers.learning import loop
from tests.learning.small_trainings import ALONE, STEPS, TRAININGS

pytestmark = pytest.mark.slow


class Killed(Exception):
    """Stands for the end of the process."""


def bits(network: torch.nn.Module) -> dict[str, bytes]:
    return {name: weight.numpy().tobytes() for name, weight in network.state_dict().items()}


@pytest.mark.parametrize("name", TRAININGS | ALONE)
def test_a_killed_training_ends_at_the_same_bytes(name: str) -> None:
    train = (TRAININGS | ALONE)[name]
    saved: list[bytes] = []

    def keep(state: loop.State) -> None:
        file = io.BytesIO()
        torch.save(state, file)
        saved.append(file.getvalue())

    def kill_in_the_middle(state: loop.State) -> None:
        keep(state)
        if (state.get("step") or state["update"]) == STEPS // 2:
            raise Killed

    whole, history = train({"seed": 3, "save": keep})
    assert not whole.training and len(history) == 2 * len(saved)
    assert [row["split"] for row in history] == ["training", "development"] * len(saved)
    saved.clear()
    with pytest.raises(Killed):
        train({"seed": 3, "save": kill_in_the_middle})
    state = torch.load(io.BytesIO(saved[-1]), weights_only=True)  # as the checkpoints do
    saved.clear()
    resumed, again = train({"seed": 3, "resume": state, "save": keep})
    assert len(saved) == len(history) // 2 - len(state["history"]) // 2 > 0
    assert str(again) == str(history) and bits(resumed) == bits(whole)


@pytest.mark.parametrize("name", ["pocsnet", "ordering", "policy", "whole_graph", "published", "fusing"])
def test_seeds_differ_and_repeat(name: str) -> None:
    first, second, third = (bits(TRAININGS[name]({"seed": seed})[0]) for seed in (0, 0, 1))
    assert first == second != third


class Line:
    """y = 2 x, learned by a line through the origin; the loss on the development set is what a test says."""

    def __init__(self, measured: list[float], **changes: Any) -> None:
        self.network, self._measured = torch.nn.Linear(1, 1, bias=False), iter(measured)
        torch.nn.init.zeros_(self.network.weight)
        optimiser = torch.optim.SGD(self.network.parameters(), 0.1)
        parts: dict[str, Any] = {"steps": len(measured), "measurements": len(measured)} | changes
        self.plan = loop.Training(self.network, optimiser, self._step, self._summary, self._measure, **parts)
        self.weights: list[float] = []

    def _step(self, number: int) -> float:
        self.plan.optimiser.zero_grad()
        loss = (self.network(torch.ones(1)) - 2).square().sum()
        loss.backward()
        loop.descend(self.network, self.plan.optimiser)
        self.weights.append(float(self.network.weight.detach()))
        return float(loss.detach())

    def _summary(self, losses: list[float]) -> loop.Row:
        return {"loss": float(np.mean(losses)), "steps": len(losses)}

    def _measure(self) -> loop.Row:
        return {"loss": next(self._measured), "best": 1.0}

    def run(self) -> list[loop.Row]:
        return loop.run(self.plan, None, lambda state: None)


def test_it_is_measured_at_equal_distances_and_at_the_end() -> None:
    history = Line([0.0] * 7, measurements=3, unit="update", rate=lambda step: 0.1 / (step + 1)).run()
    development = [row for row in history if row["split"] == "development"]
    assert [row["update"] for row in development] == [2, 4, 6, 7]
    assert [row["learning_rate"] for row in development] == [0.1 / step for step in (2, 4, 6, 7)]
    training = [row for row in history if row["split"] == "training"]
    assert [row["steps"] for row in training] == [2, 2, 2, 1] and np.isnan([row["best"] for row in training]).all()


def test_the_last_weights_or_the_best_ones_remain() -> None:
    last, best = Line([3.0, 1.0, 2.0, 1.5, 1.0]), Line([3.0, 1.0, 2.0, 1.5, 1.0, 0.0], patience=3)
    last.run()
    history = best.run()
    assert len(last.weights) == 5 and float(last.network.weight.detach()) == last.weights[-1]
    assert history[-1]["step"] == 5  # three measurements after the best one; an equal one is not better
    assert float(best.network.weight.detach()) == best.weights[1] != best.weights[-1]


@pytest.mark.parametrize("broken", ["loss", "weight"])
def test_what_is_not_finite_is_an_error_and_is_not_saved(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    line, saved = Line([0.0] * 3), list[loop.State]()

    def broken_at_the_second(*arguments: Any) -> torch.Tensor:
        if len(line.weights) == 1 and broken == "weight":
            torch.nn.init.constant_(line.network.weight, np.inf)
        return torch.zeros(())

    monkeypatch.setattr(loop, "descend", broken_at_the_second)
    if broken == "loss":
        summary = iter([0.5, np.nan])
        object.__setattr__(line.plan, "summary", lambda losses: {"loss": next(summary)})
    with pytest.raises(loop.Diverged, match="the loss is not finite at step 2; lower learning_rate"):
        loop.run(line.plan, None, saved.append)
    assert [state["step"] for state in saved] == [1]


def test_the_first_steps_are_slower_and_the_last_ones_slowest() -> None:
    rates = [loop.warmed_cosine(0.01, step, 4, 12, 0.05) for step in range(12)]
    assert rates[0] == pytest.approx(0.01 / 4) and max(rates) <= 0.01 and rates[-1] == min(rates) >= 0.0005


def test_a_longer_training_has_the_same_rates_before_they_fall() -> None:
    shorter, longer = (
        [loop.warmed_constant(0.01, step, 4, steps, 0.05, 0.25) for step in range(steps)] for steps in (40, 80)
    )
    assert shorter[:31] == longer[:31] and shorter[0] == pytest.approx(0.01 / 4) and longer[4:61] == [0.01] * 57
    assert (np.diff(shorter[30:]) < 0).all() and shorter[35] == pytest.approx(0.005) and shorter[-1] >= 0.0005
