"""The leaderboard, from the results that were handed in."""


rule hand_ins:
    input:
        src=src("hand_ins"),
        handed=sorted(glob("reports/leaderboard/*.json")),
        frozen=sorted(glob("learned_schedulers/bench/frozen/*")),
    output:
        hand_ins=path("hand_ins"),
    log: "logs/hand_ins.log"
    benchmark: "benchmarks/rules/hand_ins.tsv"
    message: "Checking the results that were handed in"
    shell: stage("hand_ins")


COMPLETE["hand_ins"] = [path("hand_ins")]
