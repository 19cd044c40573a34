"""Our own methods on the leaderboard: reports/leaderboard/<set>_<target>_<method>.json, as `compare --out` writes them.

python -m benchmarks.leaderboard                                    # the files that are missing, of all boards
python -m benchmarks.leaderboard unseen_real bandwidth --peers all  # of one board, all methods
"""

from __future__ import annotations

import argparse
from pathlib import Path

from learned_schedulers.bench.budgets import Limit
from learned_schedulers.bench.instances import SETS, check_target
from learned_schedulers.bench.peers import peers
from learned_schedulers.bench.results import hand_in, of_entrant, write

FOLDER = Path("reports/leaderboard")
BOARDS = [
    *(("unseen_real", target) for target in ("bandwidth", "latency", "pcie", "nvlink")),
    *(("placement_unseen", target) for target in ("pcie", "nvlink")),
    *(("blocks_unseen", target) for target in ("haswell", "atom")),
    *(("fused_unseen", target) for target in ("v100", "t4", "a100")),
]
SEEDS = [0, 1, 2, 3, 4]


def main() -> None:
    """Write the files that are missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("board", nargs="*", help="a set and a target")
    parser.add_argument("--peers", default="default")
    arguments = parser.parse_args()
    for of_set, target in [tuple(arguments.board)] if arguments.board else BOARDS:
        check_target(of_set, target)
        limit = Limit("evaluations", SETS[of_set].evaluations)
        for peer in peers(arguments.peers, of_set):
            path = FOLDER / f"{of_set}_{target}_{peer.name}.json"
            if not path.is_file():
                contestant = of_entrant(peer, of_set, target, limit, SEEDS, None)
                write(hand_in(of_set, target, contestant, contestant.run()), path)
                print(path, flush=True)


if __name__ == "__main__":
    main()
