"""The verb `compare`: a user's method beside the methods of the benchmark."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from learned_schedulers.bench import comparison, results
from learned_schedulers.bench.apart import Allowance
from learned_schedulers.bench.budgets import Limit
from learned_schedulers.bench.elsewhere import of_schedules, read_schedules, write_instances
from learned_schedulers.bench.instances import SETS, check_target, instances
from learned_schedulers.bench.peers import LIMITS, baseline, peers
from learned_schedulers.bench.running import run
from learned_schedulers.bench.stored import Stored
from learned_schedulers.bench.tasks import Introduction
from learned_schedulers.command.explained import explained
from learned_schedulers.command.settings import settings_of
from learned_schedulers.files import check_writable, replacing
from learned_schedulers.outside_methods import is_outside

_TARGET = "pcie"  # where none is named
_PEERS = "All: " + "; of placement sets ".join(dict.fromkeys(", ".join(each.peers["all"]) for each in SETS.values()))


def main(
    method: Annotated[
        str | None,
        typer.Option(
            metavar="PACKAGE:CLASS",
            help="Your method, whose code is RUN: a class by its reference, a name that an installed package offers, "
            "or a method of ours. Imports search the current folder, too.",
        ),
    ] = None,
    schedules: Annotated[
        Path | None, typer.Option(help="Instead of a method: JSON file of schedules that were computed elsewhere.")
    ] = None,
    of_set: Annotated[
        str, typer.Option("--set", help=f"Frozen set of instances: {', '.join(SETS)}.")
    ] = "development_real",
    target: Annotated[
        str | None,
        typer.Option(
            help="What answers are judged on: proxy, noisy, bandwidth, latency, pcie (default) or nvlink; "
            "placement sets: pcie or nvlink; bandwidth_0.3 has another strength than the frozen one."
        ),
    ] = None,
    setting: Annotated[
        list[str] | None, typer.Option(help='Setting of your method, like width=2 or kind="wide". Repeatable.')
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            help="What every method may spend on each instance: evaluations=1000 of the judge's model, or seconds=2.5 "
            "on this machine. Default: the rule of the set, 1,000 evaluations, 2,000 of placement sets."
        ),
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, max=100, help="Number of seeds of methods that draw at random; the rule is five.")
    ] = results.SEEDS,
    beside: Annotated[
        str,
        typer.Option(
            "--peers",
            help="Methods beside yours: default, all (slower: with searches and networks), or names with commas; the "
            f"baseline of the set is always there. {_PEERS}.",
        ),
    ] = "default",
    out: Annotated[
        Path | None, typer.Option(help="JSON file to write: your method's result with its provenance, to hand in.")
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="PNG file to write: all methods with their intervals.")] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            help="Folder that keeps the results of our methods. Default: learned-schedulers in $XDG_CACHE_HOME, or in "
            "~/.cache."
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, max=256, help="Processes of a method that work at the same time.")] = 1,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds after which a call of a method is ended, and its process with it.")
    ] = 600.0,
    memory: Annotated[float, typer.Option(min=0.1, help="GB that a process of a method may take.")] = 8.0,
    instances_out: Annotated[
        Path | None, typer.Option(help="Folder to write: the set's graphs as JSON, for programs in any language.")
    ] = None,
) -> None:
    """Compare your method for computation graphs with the methods of the benchmark.

    Your method runs on the frozen instances of a set with the same budget as its peers, in processes of its own without
    the network. It proposes at most 1,000 schedules of each; the best 100 on the target that it sees are judged, and
    the best of them counts (on placement sets the best on the target). The table has the geometric mean of its costs
    over those of list scheduling, and over those of each peer, with 95% intervals over families, their instances, and
    seeds; an instance without an answer counts as all its operations on one device. The last seed runs twice, to see
    whether it decides the answers. A comparison that was stopped goes on where it was; the peers' results are kept, so
    that a second call takes seconds.

    A method is a class with the function propose; BENCHMARK.md, "Enter a method", and examples/own_method show all of
    it. `learned-schedulers conform` checks it first.

    Example, in any folder, of a method of ours; yours is named by package:Class:

    \b
    learned-schedulers compare --method heft --set adversarial_small

    Other calls:

    \b
    learned-schedulers compare --method mypackage:Method --set unseen_real --target bandwidth
    learned-schedulers compare --method mypackage:Method --setting width=2 --set development_real --target pcie
    learned-schedulers compare --method mypackage:Method --budget seconds=1 --peers all --out mine.json
    learned-schedulers compare --set placement_unseen --target nvlink --instances-out graphs
    learned-schedulers compare --set placement_unseen --target nvlink --schedules schedules.json

    Choose settings on the sets whose names have `development`; the other sets are for results. Exit code 1: an option
    or a file is wrong, your method is none for graphs, or it has no answer to any instance.
    """
    with explained():
        every = instances(of_set)
        target = target or _TARGET
        check_target(of_set, target)
        if instances_out is not None:
            write_instances(every, target, instances_out)
            print(f"{len(every)} graphs: {instances_out}")
        if method is None and schedules is None:
            if instances_out is None:
                raise ValueError("name your method by --method, or a file of schedules by --schedules")
            return
        if method is not None and schedules is not None:
            raise ValueError("--method and --schedules: compare one of them at a time")
        for path in filter(None, (out, picture)):
            check_writable(path)
        limit = Limit.read(budget or f"evaluations={SETS[of_set].evaluations}")
        allowance = Allowance(timeout, int(memory * 1e9))
        numbers, folder = list(range(seeds)), cache or _cache_folder()
        if schedules is not None:
            name, proposals = read_schedules(schedules, every)
            entered, entered_limit = Introduction(name=name, needs=frozenset({"target"}), package="elsewhere"), None
        else:
            entered, entered_limit = results.introduced(str(method), settings_of(setting or []), allowance), limit
            if entered.kind == "project":
                raise ValueError(f"{method} is for projects: learned-schedulers project FILE... --method {method}")
        if entered.unconfined:
            print(f"the method's process may start others and use the network: {entered.unconfined}", file=sys.stderr)
        print(_head(of_set, target, len(every), limit), flush=True)
        lines = []
        for peer in peers(beside, of_set):
            if peer.name != entered.name:
                of_peer = LIMITS.get(peer.name, limit)
                store = Stored(folder, peer, every, target, of_peer)
                result = results.run_of(peer, of_set, target, of_peer, numbers, allowance, jobs, store)
                line = comparison.line(peer.name, of_set, target, of_peer, result, peer.sees)
                lines.append(line._replace(earlier=store.earlier))
                print(f"{peer.name}: {line.stands.value:.3f} of {baseline(of_set)}", file=sys.stderr, flush=True)
        if entered_limit is None:
            result, differing = run([of_schedules(proposals)], every, target, [0]), list[str]()
        else:
            store = Stored(folder, entered, every, target, limit)
            result = results.run_of(entered, of_set, target, limit, numbers, allowance, jobs, store)
            differing = results.differing(entered, of_set, target, limit, result, allowance, jobs)
            if is_outside(entered.name):
                store.path.unlink(missing_ok=True)  # its other files may change until it is compared again
        line = comparison.line(entered.name, of_set, target, entered_limit, result, entered.sees)
        lines = comparison.beside(lines, line, of_set, target)
        print(comparison.table(lines))
        for text in (comparison.notes(lines, SETS[of_set].peers["all"]), comparison.failures_text(line)):
            if text:
                print(f"\n{text}")
        if picture is not None:
            content = comparison.picture(lines, f"{of_set}, {target}")
            with replacing(picture, follow=True) as temporary:
                temporary.write_bytes(content)
            print(f"picture: {picture}")
        hand_in = results.hand_in(of_set, target, entered, entered_limit, result, differing)
        reasons = results.not_for_leaderboard(hand_in)
        for reason in reasons:
            print(f"not for the leaderboard: {reason}")
        if out is not None:
            results.write(hand_in, out)
            print(f"result: {out}" if reasons else f"result to hand in: {out}; learned-schedulers leaderboard {out}")


def _head(of_set: str, target: str, count: int, limit: Limit) -> str:
    contents = SETS[of_set].contents
    return f"{of_set}: {count} {contents}, judged on {target}; baseline {baseline(of_set)}; {limit} of each\n"


def _cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "learned-schedulers"
