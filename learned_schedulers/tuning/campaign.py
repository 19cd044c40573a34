"""The tuning of a project: build, hot functions, versions judged in the program, and what helps in the final one."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from learned_schedulers.blocks.before_allocation import learned_search
from learned_schedulers.blocks.before_allocation.emitters import Emitters
from learned_schedulers.blocks.before_allocation.llvm import LlvmError
from learned_schedulers.blocks.read.unreadable import Unreadable
from learned_schedulers.tuning import hot_functions, tuned_orders
from learned_schedulers.tuning.benchmark import SHORTEST, Benchmark, BenchmarkError, Run
from learned_schedulers.tuning.build import Build, BuildError, Object
from learned_schedulers.tuning.confirm import ROUNDS, Confirmation
from learned_schedulers.tuning.dispatcher import NotDispatchable
from learned_schedulers.tuning.hot_file import DEFAULT, Choice, HotFile
from learned_schedulers.tuning.images import NotPlaceable
from learned_schedulers.tuning.judging import SOURCE, Judge, Site
from learned_schedulers.tuning.objects import NotSeparable, joined, symbols
from learned_schedulers.tuning.outcome import Chosen, Hot, Outcome, Settings
from learned_schedulers.tuning.search import EQUAL, Found, Search, versions
from learned_schedulers.tuning.variants import apart, delete

SHARE = 0.02  # of the benchmark's time, from which a function is hot
_UNFIT = (LlvmError, NotSeparable, NotDispatchable, NotPlaceable, Unreadable)
_STEADY = 0.01  # of the time: what ten pairs of runs should tell
_FOR_SEARCH = 1 / 3  # of the time that the user gives, at least; the rest is for building and confirming
_WAYS, _BUILDS = 6, 14  # that are compared, and that are made, about
_MARGIN = 1.2  # of the time of runs and builds: what lies between them, and the user's tests
_PROBES = 5  # runs before the search, which tell how steady the benchmark is


class Campaign:
    """The steps of a project's tuning, in their sequence."""

    def __init__(self, build: Build, work: Path, state: Path, settings: Settings) -> None:
        self._build, self._work, self._state, self._settings = build, work, state, settings
        self._files: dict[Path, HotFile] = {}  # by output
        self._searched: dict[Path, dict[str, Found]] = {}  # by outputs and symbols
        self._began = time.monotonic()
        self._seconds = self._seconds_of_build = 0.0  # of a run, and of a build
        self.outcome = Outcome()
        self.say: Callable[[str], None] = print
        self.progress: Callable[[str, int, float], None] = lambda symbol, judged, best: None

    def run(self, path: Path) -> Outcome:
        """All of it. path: of tuned.orders, which is written as soon as something is confirmed.

        Raises BuildError, BenchmarkError or NotSampled. Whatever ends it, the tree has the build of its own compilers.
        """
        try:
            with Emitters(self._settings.cores) as emitters:
                self._run(emitters)
            self._keep(path)
        except BaseException:
            with suppress(BuildError):  # it may be the build that has failed
                self._build.put({})
            raise
        return self.outcome

    def _run(self, emitters: Emitters) -> None:
        sites = self.sites(emitters)
        if sites:
            self._search(sites, emitters)
        if chosen := self._chosen():
            confirmation = Confirmation(self._build, self._files, self._settings, emitters)
            confirmation.progress = self.progress
            confirmation.run(chosen, self._chosen("gcc"), self.outcome, self._state / "variants")

    def sites(self, emitters: Emitters) -> dict[Site, tuple[HotFile, float, dict[Choice, bytes]]]:
        """Build the program with dispatchers. Hot functions, each with its share of the time and its first versions."""
        default = self._default()
        plain = self._with_llvm(self._hot_outputs(default), emitters)
        return self._sites(plain, emitters)

    def _keep(self, path: Path) -> None:
        middle, low, high = self.outcome.ratio
        result = (
            f"{middle:.3f} [{low:.3f}, {high:.3f}] of the default build's time, {self._settings.pairs} pairs of runs"
        )
        if not self.outcome.tuned:
            self._build.put({})
            reason = result if low < high else "no function could be searched"
            if self.outcome.tests:
                reason = f"{result}, but {self.outcome.tests}"
            self.say(f"nothing is kept: {reason}; the build is as it was")
            return
        tuned_orders.write(path, self.outcome.tuned, {"benchmark": self._settings.bench.command, "result": result})
        self.say(f"1.00 -> {result}{'; ' * bool(self.outcome.tests)}{self.outcome.tests}")

    def _default(self) -> dict[str, float]:
        """Build as usual, see that the benchmark can be used, and sample it."""
        self.say(f"build: {self._settings.build}")
        self._build.run()
        self._build.put({})
        bench = self._settings.bench
        runs = [bench.run() for _ in range(_PROBES)]
        if bench.rate is None and runs[0].rates and len({run.rates for run in runs}) == 1:  # bit rates of a codec
            bench = bench._replace(by_time=True)
            self._settings = self._settings._replace(bench=bench)
            runs = [bench.run() for _ in range(_PROBES)]
        if min(run.seconds for run in runs) < SHORTEST:
            raise BenchmarkError(
                f"--bench {bench.command!r} ends after {runs[0].seconds:.3f} s, which tells nothing: let it work for a "
                "second or more"
            )
        self.outcome.measure = "its time on processors (if it runs for a fixed time, name what counts by --rate)"
        if runs[0].rates:
            self.outcome.measure = f"the rates that it prints ({len(runs[0].rates)})"
        spread = 2**0.5 * float(np.log([run.time for run in runs]).std(ddof=1))
        at_once = self._at_once(bench)
        by_pair = np.log([second.time / first.time for first, second in at_once])
        bench = bench._replace(at_once=bool(len(by_pair)) and float(by_pair.std(ddof=1)) < spread)
        self._settings = self._settings._replace(bench=bench)
        self._seconds = float(np.mean([run.seconds for run in runs]))
        if bench.at_once:
            spread = float(by_pair.std(ddof=1))
            self._seconds = float(np.mean([max(first.seconds, second.seconds) for first, second in at_once])) / 2
        difference = 2 * spread / self._settings.pairs**0.5
        self.say(
            f"benchmark: {runs[0].seconds:.1f} s a run; measured by {self.outcome.measure}; {self._settings.pairs} "
            f"pairs of runs{' at the same time on one processor' * bench.at_once} tell differences of {difference:.1%}"
        )
        if difference > _STEADY:
            self.say(
                "  it is unsteady: gains below this will not be seen; leave the computer alone, or let the benchmark "
                "do more"
            )
        if (needed := 2 * self._settings.pairs * self._seconds) > 60 * self._settings.minutes / 2:
            self.say(f"  its runs are long: comparing whole programs takes more than {needed / 60:.0f} minutes")
        return self._sampled()

    def _at_once(self, bench: Benchmark) -> list[list[Run]]:
        """Pairs of runs of the usual build at the same time; none where that is not allowed."""
        places = [self._state / "pairs" / name for name in ("first", "second")]
        try:
            return [bench.together([apart(self._work, place) for place in places]) for _ in range(_PROBES)]
        except BenchmarkError:
            return []
        finally:
            delete(self._state / "pairs")

    def _sampled(self) -> dict[str, float]:
        """Shares of functions in the time that the benchmark spends in the project's own code.

        Others keep their shares of all its time: some benchmarks wait for long, or look at the clock.
        """
        if names := self._settings.functions:
            return dict.fromkeys(names, 1 / len(names))
        shares = hot_functions.shares(self._settings.bench.command, self._work, self._state)
        of_project = {symbol for symbol in shares if symbol.split(".")[0] in self._places}
        of_project |= {symbol for file in self._files.values() for symbol in file.functions}
        total = sum(share for symbol, share in shares.items() if symbol in of_project)
        return {symbol: share / total if symbol in of_project else share for symbol, share in shares.items()}

    @cached_property
    def _places(self) -> dict[str, list[Object]]:
        """The objects of the usual build that define a symbol."""
        places: dict[str, list[Object]] = {}
        for each in self._build.objects().values():
            if each.output.exists():
                for symbol in symbols(each.output)["defined"]:
                    places.setdefault(symbol.split(".")[0], []).append(each)
        return places

    def _relative(self, source: Path) -> str:
        return str(source.relative_to(self._work)) if source.is_relative_to(self._work) else str(source)

    def _hot_outputs(self, shares: Mapping[str, float]) -> list[Object]:
        """The objects with hot functions; others are noted with the reason."""
        outputs: dict[Path, Object] = {}
        for symbol, share in shares.items():
            if share < SHARE:
                continue
            defining = self._places.get(symbol.split(".")[0], [])
            if not defining:
                self.outcome.hot.append(Hot(symbol, share, "", "its source is not part of this build"))
            # Local functions of several files may have one name; what is not called drops out.
            for each in defining:
                if each.reason:
                    reason = f"clang does not compile its file: {each.reason}"
                    self.outcome.hot.append(Hot(symbol, share, self._relative(each.source), reason))
                else:
                    outputs[each.output] = each
        return list(outputs.values())

    def _with_llvm(self, outputs: Sequence[Object], emitters: Emitters) -> dict[str, float]:
        """Compile hot files by LLVM; those with which the program cannot be linked are left out. Then sample it."""
        contents: dict[Path, bytes] = {}
        for each in outputs:
            name = self._relative(each.source)
            try:
                file = HotFile(each.code.read_bytes(), name, each.call)
                contents[each.output] = file.with_versions({}, emitters)
                self._files[each.output] = file
            except (*_UNFIT, OSError) as error:
                self.outcome.reasons.append(f"{name}: {error}")
        try:
            self._build.put(contents)
        except BuildError:
            for output in list(contents):
                try:
                    self._build.put({output: contents[output]})
                except BuildError as error:
                    self.outcome.reasons.append(f"{self._files.pop(output).name}: by LLVM it cannot be linked: {error}")
                    del contents[output]
            self._build.put(contents)
        if not contents:
            return {}
        return self._sampled()

    def _sites(
        self, shares: Mapping[str, float], emitters: Emitters
    ) -> dict[Site, tuple[HotFile, float, dict[Choice, bytes]]]:
        """Hot functions with dispatchers, in the built program; each with its share and its first versions."""
        sites: dict[Site, tuple[HotFile, float, dict[Choice, bytes]]] = {}
        contents: dict[Path, bytes] = {}
        judge = self._compiled_judge()
        for output, file in self._files.items():
            dispatchers: dict[str, bytes] = {}
            for symbol in [each for each, share in shares.items() if share >= SHARE and each in file.functions]:
                try:
                    ready, reasons = versions(file, symbol, emitters, self._earlier(file, symbol))
                    names = file.externals(symbol, list(ready.values()))
                    site = Site(f"site{len(sites)}", len(sites), symbol, tuple(names))
                    dispatchers[symbol] = file.dispatched(symbol, names, site.name, emitters)
                    file.with_versions({symbol: dispatchers[symbol]}, emitters)
                except (*_UNFIT, ValueError) as error:
                    dispatchers.pop(symbol, None)
                    self.outcome.hot.append(Hot(symbol, shares[symbol], file.name, str(error)))
                    continue
                sites[site] = (file, shares[symbol], ready)
                self.outcome.hot.append(Hot(symbol, shares[symbol], file.name, ""))
                self.outcome.reasons += [f"{symbol}: {reason}" for reason in reasons]
            content = file.with_versions(dispatchers, emitters)
            contents[output] = joined(content, [judge], []) if dispatchers else content
        for hot in sorted(self.outcome.hot, key=lambda each: -each.share):
            self.say(
                f"  {hot.share:6.1%}  {hot.symbol}  {hot.file}{'  left alone: ' + hot.reason if hot.reason else ''}"
            )
        if sites:
            began = time.monotonic()
            self._build.put(contents)
            self._seconds_of_build = time.monotonic() - began
        return sites

    def _compiled_judge(self) -> bytes:
        target = self._state / "judge.o"
        subprocess.run(["gcc", "-O2", "-fPIC", "-c", str(SOURCE), "-o", str(target)], check=True)
        return target.read_bytes()

    def _search(self, sites: Mapping[Site, tuple[HotFile, float, dict[Choice, bytes]]], emitters: Emitters) -> None:
        """Search groups of functions, those of one in the same runs; the hotter one is, the longer."""
        sites = self._called(sites)
        ends = self._began + 60 * self._settings.minutes - self._confirming()
        seconds = max(ends - time.monotonic(), _FOR_SEARCH * 60 * self._settings.minutes)
        ends = time.monotonic() + seconds
        # A symbol may be of several files, which each have one: what any of them mentions counts.
        mentioned: dict[str, set[str]] = {}
        for file in self._files.values():
            for symbol, symbols_of_it in file.mentioned.items():
                mentioned.setdefault(symbol, set()).update(symbols_of_it)
        shares = {site.function: share for site, (_, share, _) in sites.items()}
        groups = hot_functions.groups(shares, mentioned)
        for number, group in enumerate(groups):
            of_group = {site: each for site, each in sites.items() if site.function in group}
            rest = sum(shares[hottest] for hottest, *_ in groups[number:])
            self._search_beside(of_group, (ends - time.monotonic()) * shares[group[0]] / rest, emitters)

    def _called(
        self, sites: Mapping[Site, tuple[HotFile, float, dict[Choice, bytes]]]
    ) -> dict[Site, tuple[HotFile, float, dict[Choice, bytes]]]:
        """The functions that can be judged; the outcome says why others cannot."""
        defaults: dict[Site, bytes] = {}
        for site, (_, _, ready) in sites.items():
            try:
                Judge.check(site, ready[Choice(DEFAULT)])
                defaults[site] = ready[Choice(DEFAULT)]
            except NotPlaceable as error:
                self.outcome.reasons.append(f"{site.function}: {error}")
        called = Judge(self._settings.bench, self._state / "judge").called(defaults)
        seldom = "it is called too seldom to be judged"
        self.outcome.reasons += [f"{site.function}: {seldom}" for site in defaults if site not in called]
        return {site: each for site, each in sites.items() if site in called}

    def _search_beside(
        self, sites: Mapping[Site, tuple[HotFile, float, dict[Choice, bytes]]], seconds: float, emitters: Emitters
    ) -> None:
        judge = Judge(self._settings.bench, self._state / "judge", len(sites))
        learned = partial(learned_search.search, weights=learned_search.read())
        hottest = max(share for _, share, _ in sites.values())

        def outcome_of(site: Site) -> Found | Exception:
            file, share, ready = sites[site]
            search = Search(file, site, judge, emitters, np.random.default_rng([self._settings.seed, site.number]))
            search.tell = partial(self.progress, site.function)
            try:
                return search.run(ready, learned, seconds * share / hottest)
            except (*_UNFIT, BenchmarkError) as error:
                return error
            finally:
                judge.leave()

        with ThreadPoolExecutor(len(sites)) as threads:
            try:
                results = list(threads.map(outcome_of, sites))
            except BaseException:
                judge.stop()
                raise
        for (site, (file, _, _)), result in zip(sites.items(), results, strict=True):
            if isinstance(result, Exception):
                self.outcome.reasons.append(f"{site.function}: {result}")
                continue
            self.outcome.searches[file.name, site.function] = result
            output = next(path for path, each in self._files.items() if each is file)  # two may be of one source
            self._searched.setdefault(output, {})[site.function] = result
            self.outcome.reasons += [f"{site.function}: {reason}" for reason in result.reasons]
            self._remember(file, site.function, result)
            best = result.best[0]
            self.say(
                f"  {site.function}: 1.00 -> {best.ratio:.3f} of LLVM's time by {best.choice} "
                f"({result.judged:,} versions; equal code differs by {result.control:.3f})"
            )

    def _confirming(self) -> float:
        """About the seconds that confirming will take."""
        runs = 2 * (self._settings.pairs + ROUNDS * (_WAYS + len(self._files)))
        return _MARGIN * (runs * self._seconds + (_BUILDS + len(self._files)) * self._seconds_of_build)

    def _earlier_path(self, file: HotFile, symbol: str) -> Path:
        return self._state / "found" / f"{file.fingerprint(symbol)}.json"

    def _earlier(self, file: HotFile, symbol: str) -> list[Choice]:
        """The best versions of an earlier search."""
        path = self._earlier_path(file, symbol)
        if not path.exists():
            return []
        return [
            Choice(how, tuple((index, tuple(order)) for index, order in orders))
            for how, orders in json.loads(path.read_text())
        ]

    def _remember(self, file: HotFile, symbol: str, search_outcome: Found) -> None:
        path = self._earlier_path(file, symbol)
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps([each.choice for each in search_outcome.best]))

    def _chosen(self, rest: str = "") -> Chosen:
        """For each file, the versions that are faster than the rest's compiler's, by more than equal code differs.

        rest: gcc; empty: LLVM.
        """
        chosen: Chosen = {}
        for output, by_symbol in self._searched.items():
            chosen[output] = {"": (Choice(rest), 1.0)} if rest else {}
            for symbol, search_outcome in by_symbol.items():
                best = search_outcome.best[0]
                usual = search_outcome.by_gcc if rest and search_outcome.by_gcc > 0 else 1.0
                if best.ratio < usual * (1 - max(EQUAL, search_outcome.control)):
                    chosen[output][symbol] = best.choice, best.ratio
                elif not rest:
                    chosen[output][symbol] = Choice(DEFAULT), 1.0
        return chosen
