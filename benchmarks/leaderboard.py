"""Our own methods on the leaderboard: reports/leaderboard/<set>_<target>_<method>.json, as `compare --out` writes them.

python -m benchmarks.leaderboard                                         # what is missing, of all boards
python -m benchmarks.leaderboard unseen_real bandwidth --peers all       # of one board
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from learned_schedulers.bench.instances import SETS
from learned_schedulers.bench.peers import peers

FOLDER = Path("reports/leaderboard")
BOARDS = [
    *(("unseen_real", target) for target in ("bandwidth", "latency", "pcie", "nvlink")),
    *(("placement_unseen", target) for target in ("pcie", "nvlink")),
]


def main() -> None:
    """Write the files that are missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("board", nargs="*", help="a set and a target")
    parser.add_argument("--peers", default="default")
    arguments = parser.parse_args()
    for of_set, target in [tuple(arguments.board)] if arguments.board else BOARDS:
        if of_set not in SETS:
            parser.error(f"no set {of_set!r}")
        for peer in peers(arguments.peers, of_set):
            path = FOLDER / f"{of_set}_{target}_{peer.name}.json"
            if not path.is_file():
                options = [
                    "--method",
                    peer.name,
                    "--set",
                    of_set,
                    "--target",
                    target,
                    "--peers",
                    "",
                    "--out",
                    str(path),
                ]
                subprocess.run(
                    [sys.executable, "-m", "learned_schedulers.command.main", "compare", *options], check=True
                )


if __name__ == "__main__":
    main()
