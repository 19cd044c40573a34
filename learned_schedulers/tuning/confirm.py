"""What helps in the final program: whole builds beside each other, and then the user's tests."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from learned_schedulers.blocks.before_allocation.emitters import Emitters
from learned_schedulers.tuning.benchmark import BenchmarkError, ratio
from learned_schedulers.tuning.build import Build
from learned_schedulers.tuning.hot_file import Choice, HotFile
from learned_schedulers.tuning.objects import NotSeparable
from learned_schedulers.tuning.outcome import Chosen, Outcome, Settings
from learned_schedulers.tuning.tuned_orders import Tuned
from learned_schedulers.tuning.variants import Variants

_OFFSETS = (0, 16, 32, 48)  # bytes: places at which the final program is confirmed
ROUNDS = 4  # runs of each way by which one of them is chosen; its figure comes from runs of their own


class Confirmation:
    """The last steps of a project's tuning."""

    def __init__(self, build: Build, files: Mapping[Path, HotFile], settings: Settings, emitters: Emitters) -> None:
        """files: by their outputs."""
        self._build, self._files, self._settings, self._emitters = build, files, settings, emitters
        self._work = settings.bench.work
        self.progress: Callable[[str, int, float], None] = lambda step, count, ratio: None

    def run(self, chosen: Chosen, upon_gcc: Chosen, outcome: Outcome, store: Path) -> None:
        """Find what helps in the final program, and leave that in the tree; the outcome says what it is.

        chosen, upon_gcc: with the rest of files by LLVM, and by GCC; store: a folder for copies of builds. Raises
        BuildError or BenchmarkError.
        """
        variants = Variants(self._work, store)
        try:
            ways = {"tuned": chosen, **self._upon_gcc(upon_gcc, outcome), **self._whole_files()}
            best, names = self._best_way(ways, variants, outcome)
            chosen = self._helping(best, variants, outcome)
            if chosen != best:
                names = self._built("helping", chosen, _OFFSETS, variants)
            self._build.put({})
            variants.add("default")
            compared = self._compared({"default": ["default"], "tuned": names}, variants, self._settings.pairs)
        finally:
            variants.clear()
        outcome.ratio = compared["tuned"]
        if outcome.ratio[2] >= 1:
            return
        tested = self._tested(chosen, outcome)
        outcome.tuned = [
            Tuned(file.name, symbol, file.fingerprint(symbol) if symbol else "", choice, value)
            for file, by_symbol in ((self._files[output], each) for output, each in tested.items())
            for symbol, (choice, value) in by_symbol.items()
        ]

    def _contents(self, chosen: Chosen, offset: int = 0) -> dict[Path, bytes]:
        return {
            output: self._files[output].built(
                {symbol: choice for symbol, (choice, _) in by_symbol.items()}, self._emitters, offset
            )
            for output, by_symbol in chosen.items()
        }

    def _built(self, name: str, chosen: Chosen, offsets: Sequence[int], variants: Variants) -> list[str]:
        """Build a way at some places in memory. Returns the variants' names."""
        names = [f"{name} {offset}" for offset in offsets]
        for each, offset in zip(names, offsets, strict=True):
            self._build.put(self._contents(chosen, offset))
            variants.add(each)
        return names

    def _upon_gcc(self, upon_gcc: Chosen, outcome: Outcome) -> dict[str, Chosen]:
        """The way in which GCC compiles the rest of files, with all versions for which that is possible."""
        way: Chosen = {}
        for output, by_symbol in upon_gcc.items():
            for symbol, each in by_symbol.items():
                try:
                    self._contents({output: {"": by_symbol[""], symbol: each}})
                    way.setdefault(output, {})[symbol] = each
                except ValueError as error:
                    outcome.reasons.append(f"{symbol or self._files[output].name}: the rest by GCC: {error}")
        way = {output: by_symbol for output, by_symbol in way.items() if len(by_symbol) > 1}
        return {"tuned (the rest by gcc)": way} if way else {}

    def _best_way(self, ways: dict[str, Chosen], variants: Variants, outcome: Outcome) -> tuple[Chosen, list[str]]:
        """The fastest way in the final program, and its builds."""
        builds = {"default": ["default"]}
        for way, of_files in ways.items():
            builds[way] = self._built(way, of_files, _OFFSETS if "tuned" in way else _OFFSETS[:1], variants)
        self._build.put({})
        variants.add("default")
        outcome.ways = self._compared(builds, variants, ROUNDS)
        best = min(outcome.ways, key=lambda way: outcome.ways[way][0])
        return ways[best], builds[best]

    def _whole_files(self) -> dict[str, Chosen]:
        """All hot files as compilers make them, by the user's options and at -O3, if that is not the usual build."""
        ways: dict[str, Chosen] = {}
        for how in ("gcc", "clang", "gcc -O3", "clang -O3"):
            of_files: Chosen = {}
            for output, file in self._files.items():
                with suppress(NotSeparable):
                    if file.whole(how) != file.whole(file.call.kind):
                        of_files[output] = {"": (Choice(how), 1.0)}
            if of_files and of_files not in ways.values():
                ways[f"all by {how}"] = of_files
        return ways

    def _compared(
        self, builds: dict[str, list[str]], variants: Variants, rounds: int
    ) -> dict[str, tuple[float, float, float]]:
        """Time of each way over that of the first, with interval; a sequence that turns."""
        _, *others = builds
        ratios: dict[str, list[float]] = {way: [] for way in others}
        try:
            for number in range(rounds):
                names = {way: build[number % len(build)] for way, build in builds.items()}
                for way, value in self._round(names, variants, 1 if number % 2 else -1).items():
                    ratios[way].append(value)
                if number:
                    self.progress("confirm", number + 1, _over_equal(ratios[others[0]])[0])
        finally:
            variants.turn_back()
        return {way: _over_equal(of_way) for way, of_way in ratios.items()}

    def _round(self, names: Mapping[str, str], variants: Variants, step: int) -> dict[str, float]:
        """The time of each way over the first's, of a run each. names: of builds, by ways; step: 1 or -1, the sequence.

        Two builds that run at the same time on one processor are slowed alike by whatever else the computer does.
        """
        bench, (first, *others) = self._settings.bench, names
        if bench.at_once:
            ratios = {}
            for way in others:
                runs = bench.together([variants.apart(names[each]) for each in (first, way)[::step]])[::step]
                ratios[way] = runs[1].time / runs[0].time
            return ratios
        times = {}
        for way in [*names][::step]:
            variants.turn_to(names[way])
            times[way] = bench.run().time
        return {way: times[way] / times[first] for way in others}

    def _helping(self, chosen: Chosen, variants: Variants, outcome: Outcome) -> Chosen:
        """The files that help: without each of the others, the program is not faster."""
        if len(chosen) == 1:
            return chosen
        builds = {"all": self._built("all", chosen, _OFFSETS[:1], variants)}
        for number, output in enumerate(chosen):
            rest = {other: each for other, each in chosen.items() if other != output}
            builds[str(output)] = self._built(f"without {number}", rest, _OFFSETS[:1], variants)
        without = self._compared(builds, variants, ROUNDS)
        hindering = {output for output in chosen if without[str(output)][2] < 1}
        for output in hindering:
            outcome.reasons.append(f"{self._files[output].name}: the program is faster without its versions")
        return {output: each for output, each in chosen.items() if output not in hindering}

    def _tested(self, chosen: Chosen, outcome: Outcome) -> Chosen:
        """What passes the user's tests; what does not is named."""
        self._build.put(self._contents(chosen))
        if self._settings.test is None:
            return chosen
        if self._passes():
            outcome.tests = "tests pass"
            return chosen
        self._build.put({})
        if not self._passes():
            outcome.tests = "the tests fail, and without tuning, too"
            self._build.put(self._contents(chosen))
            return chosen
        rest = {(output, symbol) for output, by_symbol in chosen.items() for symbol in by_symbol}
        culprits: set[tuple[Path, str]] = set()

        def among(names: Iterable[tuple[Path, str]]) -> Chosen:
            included = {*names}
            some = {
                output: {symbol: each for symbol, each in by_symbol.items() if (output, symbol) in included}
                for output, by_symbol in chosen.items()
            }
            return {output: by_symbol for output, by_symbol in some.items() if by_symbol}

        def fails(names: Sequence[tuple[Path, str]]) -> bool:
            self._build.put(self._contents(among(names)))
            return not self._passes()

        while rest - culprits and fails(sorted(rest - culprits)):
            suspects = sorted(rest - culprits)
            while len(suspects) > 1:
                half = suspects[: len(suspects) // 2]
                suspects = half if fails(half) else suspects[len(suspects) // 2 :]
            culprits |= {*suspects}
        names = ", ".join(symbol for _, symbol in sorted(culprits))
        outcome.tests = f"tests pass without {names}, which made them fail and is left out"
        return among(rest - culprits)

    def _passes(self) -> bool:
        """Whether the user's tests pass after a run of the benchmark, whose output they may look at."""
        assert self._settings.test is not None
        try:
            self._settings.bench.run()
        except BenchmarkError:
            return False
        ended = subprocess.run(
            ["sh", "-c", self._settings.test], cwd=self._work, stdin=subprocess.DEVNULL, check=False,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return ended.returncode == 0


def _over_equal(ratios: Sequence[float]) -> tuple[float, float, float]:
    return ratio([1.0] * len(ratios), ratios)
