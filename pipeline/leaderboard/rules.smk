"""The leaderboard, from the results that were handed in."""


rule hand_ins:
    input:
        src=src("hand_ins"),
        handed=sorted(glob("reports/leaderboard/*.json")),
        frozen=sorted(glob("learned_schedulers/bench/frozen/*")),
    output:
        hand_ins=path("hand_ins"),
    message: "Checking the results that were handed in"
    shell: stage("hand_ins")


COMPLETE["hand_ins"] = [path("hand_ins")]
