"""Claims about fusion."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.lab.claims import Claim, Row, row_of

_GO = "33 to 60%"  # of three tasks
_VARIANTS = {  # of GO's fusion -> questions about whole graphs and about small parts
    "": (
        "This CPU, one device: how much time is saved against the best of the compilers' rules?",
        "Small parts: what share of the head room over the rules is won?",
    ),
    "_zero_shot": (
        "The same, trained on other families of graphs, with no further learning?",
        "The same, trained on other families of graphs?",
    ),
    "_fine_tuned": ("The same, trained further on the graph?", "The same, trained further on the part?"),
}


def claims() -> Iterator[Claim]:
    """Operations fused by the cost of this machine (Zhou et al., 2020, the third task), on graphs of other families."""

    def ratio(baseline: str, method: str = "go_fusion", experiment: str = "fusion", target: str = "alone") -> Row:
        row = row_of(experiment, set="fusion_unseen", target=target, metric="run_time", judge="fusion_cost")
        return row | {"method": method, "comparison": "ratio", "baseline": baseline}

    def gain(name: str, row: Row, question: str, target: str = "> 0") -> Claim:
        return Claim(name, target, row, "gain").as_question(question, "hundredths")

    for variant, (whole, parts) in _VARIANTS.items():
        method = f"go_fusion{variant}"
        yield gain(f"go_gain_fusion{variant}", ratio("default", method), whole)  # the paper's 33% is not there
        share = {"set": "fusion_unseen_parts", "metric": "share_of_head_room", "comparison": "value"}
        yield Claim(f"go_share_of_fusion_head_room{variant}", ">= 0.8", ratio("default", method) | share).as_question(
            parts
        )
    question = "Are its plans faster than those of the same search without learning?"
    yield gain("go_gain_fusion_over_untaught", ratio("go_fusion_untaught"), question)
    question = "Are its plans faster than annealing's with equal evaluations?"
    yield gain("go_gain_fusion_over_annealing", ratio("fusion_annealing"), question)
    # By the rooflines of accelerators, on which GO's authors measured; no fusion is TensorFlow's default.
    v100 = {"experiment": "fusion_accelerators", "target": "v100"}
    question = "Fusion alone, 14 unseen graphs on a V100's roofline: does it save time over no fusion?"
    claim = Claim("go_gain_fusion_v100", ">= 0.33", ratio("separate", **v100), "gain")
    yield claim.as_question(question, "brief", _GO, "placement")
    for device in ("t4", "v100", "a100"):
        beside_best = ratio("best", "separate", **v100 | {"target": device})
        claim = Claim(f"fusion_head_room_{device}", ">= 0.49", beside_best, "gap")  # which saving 33% needs
        yield claim.as_question(
            f"{device.upper()}'s roofline: how far above the best known plans is no fusion?", "brief"
        )
    question = "The same, trained on other families of graphs, with no further learning?"
    zero_shot = Claim(
        "go_gain_fusion_v100_zero_shot", ">= 0.33", ratio("separate", "go_fusion_zero_shot", **v100), "gain"
    )
    yield zero_shot.as_question(question, "brief", _GO)
    question = "On a V100's roofline: are its plans faster than priority fusion's?"
    yield gain("go_gain_fusion_v100_over_priority", ratio("priority_fusion", **v100), question)
    agreement = row_of("fusion_on_gpu", set="all", method="fused", target="stream", metric="agreement")
    question = "On a GPU: does the cost rank networks by what XLA's fusion saves?"
    agreed = Claim("fusion_cost_agreement_on_gpu", "> 0.5", agreement | {"judge": "fusion_cost"})
    yield agreed.as_question(question, "two")
    for name, peer, question in (
        ("", "go_joint_separate", "Four devices: are all three tasks together faster than one after the other?"),
        ("_over_untaught", "go_joint_untaught", "Four devices: are they faster than by the search without learning?"),
    ):
        yield gain(f"go_gain_fusion_joint{name}", ratio(peer, "go_joint", "fusion_joint", "all"), question)
    question = "Placed, ordered and fused on 4 V100, 28 pairs: does it save time over HEFT without fusion?"
    claim = Claim("go_gain_all_tasks", ">= 0.33", ratio("separate", "go_joint", "fusion_joint", "all"), "gain")
    yield claim.as_question(question, "brief", _GO, "placement")
    # TorchInductor's fusion decided from outside, by run time; what XLA fuses on a CPU, by our rule.
    timed = row_of("inductor", set="all", metric="run_time", comparison="ratio", judge="hardware")
    question = "Inductor: how much faster is the best candidate than its default?"
    claim = Claim("inductor_head_room", "> 0", timed | {"method": "best", "baseline": "default"}, "gain")
    yield claim.as_question(question, paper="3.4%, at most 12.9%")
    share = {"metric": "share_of_head_room", "comparison": "value", "baseline": "default"}
    question = "Inductor: what share of this does the network win with 24 compilations?"
    yield Claim("inductor_share_of_head_room", ">= 0.8", timed | {"method": "learned"} | share).as_question(question)
    question = "Inductor: how much of the default's run time does it save?"
    claim = Claim("inductor_gain_learned", "> 0", timed | {"method": "learned", "baseline": "default"}, "gain")
    yield claim.as_question(question)
    ranked = row_of("inductor", set="all", method="fusion_cost", metric="rank_correlation", judge="hardware")
    question = "Does the cost rank Inductor's candidates as their run times do?"
    yield Claim("fusion_cost_rank_correlation", "> 0.5", ranked).as_question(question, "two")
    question = "XLA on a CPU: for what share of pairs does our rule decide as XLA does?"
    agreeing = Claim("xla_fusions_agreeing", ">= 0.95", row_of("xla_fusions", set="all", metric="agreeing_share"))
    yield agreeing.as_question(question)
