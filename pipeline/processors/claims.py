"""Claims about orders that need fewer cycles."""

from __future__ import annotations

from collections.abc import Iterator

from learned_schedulers.blocks.order.targets import TARGETS
from pipeline.lab.claims import Claim, Row, row_of
from pipeline.lab.page.names import label

_FRESH = "fresh_guess_10_40"
_PAIRS = ("atom_haswell", "silvermont_skylake", "btver2_znver4")  # processors that a network did not see


def claims() -> Iterator[Claim]:
    """The first guess, and orders that need fewer cycles than GCC's; blocks of 10 to 40 instructions."""
    yield from _first_guess()

    def cycles(target: str, method: str, decoder: str, baseline: str) -> Row:
        row = row_of("processors", set="test_10_40", target=target, method=method, decoder=decoder, metric="cycles")
        return row | {"judge": target, "comparison": "ratio", "baseline": baseline}

    def speed(experiment: str, method: str, decoder: str) -> Row:
        row = row_of(experiment, set="test_10_40", target="atom", method=method, decoder=decoder)
        return row | {"metric": "microseconds_per_block"}

    for method, target, gain in (
        ("learned_atom", "atom", "0.06"),
        ("learned_machines", "atom", "0.06"),
        ("learned_machines", "silvermont", "0.03"),
        ("learned_machines", "btver2", "0.03"),
        ("learned_machines", "haswell", "0.01"),
    ):
        for decoder in ("timed", "greedy"):
            row = cycles(target, method, decoder, "gcc")
            question = f"How many cycles does {label(method)} ({decoder}) save over GCC on {target}?"
            yield Claim(f"processors_{method}_{decoder}_gain_{target}", f">= {gain}", row, "gain").asked(question)
            if target == "atom":
                row = cycles(target, method, decoder, "best")
                question = "How far are its cycles above the best order's?"
                claim = Claim(f"processors_{method}_{decoder}_gap_{target}", "<= 0.01", row, "gap")
                yield claim.asked(question, "hundredths")
    # The network's weights were not kept: its one run, on another processor, stands by itself.
    for method, decoder, timed in (
        ("learned_atom", "timed", "processors_speed_zen4"),
        ("policy_refined", "none", "processors_speed"),
    ):
        for peer in ("cp_sat", "cp_sat_alone", "search"):
            name = f"processors_{method}_{decoder}"
            speed_of_method, speed_of_peer = speed(timed, method, decoder), speed(timed, peer, "none")
            question = f"How many times as fast is {label(method)} as {label(peer)}, on Atom?"
            claim = Claim(f"{name}_times_as_fast_as_{peer}", ">= 100", speed_of_method, "times", speed_of_peer)
            yield claim.asked(question, "times")
            cycles_of_method, cycles_of_peer = (
                cycles("atom", method, decoder, "gcc"),
                cycles("atom", peer, "none", "gcc"),
            )
            claim = Claim(f"{name}_cycles_over_{peer}", "<= 0", cycles_of_method, "excess", cycles_of_peer)
            yield claim.asked("How far are its cycles above that scheduler's?", "hundredths")
    proven = row_of("processors", method="cp_sat", metric="proven_optimal_share") | {
        "judge": "atom",
        "lengths": "2-20",
    }
    question = "What share of blocks of up to 20 instructions does CP-SAT prove optimal, on Atom?"
    yield Claim("processors_cp_sat_proven_optimal_share", ">= 0.95", proven).asked(question)
    yield from _timed()


def _timed() -> Iterator[Claim]:
    """Orders that need less time than GCC's by the hardware's clock (frozen)."""
    ratio = {"set": "test_10_40", "metric": "cycles", "comparison": "ratio", "baseline": "gcc", "judge": "hardware"}
    for experiment, method, decoder, target in (
        ("hardware_zen4", "learned_machines", "timed", "atom"),
        ("hardware", "search", "none", "atom"),
        ("hardware", "search", "none", "skylake"),
        ("hardware", "policy_refined", "none", "atom"),
        ("hardware_znver4", "search", "none", "znver4"),
        ("hardware", "best_of_random_orders", "none", "none"),
    ):
        row = row_of(experiment) | ratio | {"method": method, "decoder": decoder, "target": target}
        claim = Claim(f"hardware_{method}_{target}_gain", "> 0", row, "gain")
        yield claim.asked(f"Timed by the hardware: does {method} for {target} save cycles over GCC?", "hundredths")
    yield Claim("hardware_series", ">= 3", row_of("hardware", method="none", judge="hardware", metric="series"))


def _first_guess() -> Iterator[Claim]:
    """One order at once: near the best known, quick, on processors that were not seen, and ahead at equal calls."""
    ratio = {"metric": "cycles", "comparison": "ratio"}
    unseen = {target: f"unseen_{pair}" for pair in _PAIRS for target in pair.split("_")}
    for target in TARGETS:
        of_target = row_of("first_guess", set=_FRESH, target=target, judge=target, **ratio)
        row = of_target | {"method": "first_guess", "baseline": "best"}
        question = f"How far is the first guess above the best known order on {target}?"
        yield Claim(f"first_guess_gap_{target}", "<= 0.005", row, "gap").asked(question, "hundredths")
        over_seen = of_target | {"method": unseen[target], "baseline": "first_guess"}
        question = f"How far is a network that has not seen {target} above the one that has?"
        yield Claim(f"zero_shot_gap_{target}", "<= 0.005", over_seen, "gap").asked(question, "hundredths")
    slowest = row_of("time_against_quality", set=_FRESH, target="slowest", method="first_guess")
    at_once = {"decoder": "evaluations_1", "metric": "microseconds_per_block"}
    question = "How many microseconds does a first guess take, on the slowest processor?"
    yield Claim("first_guess_microseconds", "<= 100", slowest | at_once).asked(question, "digits")
    for calls in (1, 10, 100):
        row = row_of("equal_calls", set=_FRESH, target="all", method="learned", decoder=f"calls_{calls}", **ratio)
        against = row | {"baseline": "search", "judge": "llvm_mca"}
        question = f"What does learning save over a search that calls llvm-mca as often: {calls}?"
        claim = Claim(f"learned_over_search_at_equal_calls_{calls}", "> 0", against, "gain")
        yield claim.asked(question, "hundredths")
