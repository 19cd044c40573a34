"""Look the packages of constraints.txt up in the lists of known holes, and for releases that were withdrawn.

`make audit` runs it, with pip-audit in an environment of its own. It ends with 1 where something is found, and with 2
where no list answers: then nothing is known of holes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

CONSTRAINTS = Path(__file__).parents[1] / "constraints.txt"
SERVICES = ("pypi", "osv")


def withdrawn(report: dict[str, Any]) -> list[str]:
    """The packages of pip's report whose release was yanked, with the reason."""
    return [
        f"{item['metadata']['name']} {item['metadata']['version']}: {item.get('yanked_reason') or 'no reason given'}"
        for item in report["install"]
        if item.get("is_yanked")
    ]


def holes(answer: dict[str, Any]) -> tuple[int, list[str]]:
    """(packages that were looked up, known holes) of pip-audit's answer."""
    audited = [package for package in answer["dependencies"] if "skip_reason" not in package]
    return len(audited), [
        f"{package['name']} {package['version']}: {hole['id']}, mended in {', '.join(hole['fix_versions']) or 'none'}"
        for package in audited
        for hole in package["vulns"]
    ]


def _json_of(command: list[str]) -> dict[str, Any] | None:
    """What the command writes into the file that it is given last; None where it writes none."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out.json")
        subprocess.run([sys.executable, "-m", *command, str(out)], capture_output=True, check=False)
        return json.loads(out.read_text()) if out.exists() and out.stat().st_size else None


def main() -> int:
    pip = ["pip", "install", "--dry-run", "--ignore-installed", "--no-deps", "-q", "-r", str(CONSTRAINTS), "--report"]
    report = _json_of(pip)
    yanked = [] if report is None else withdrawn(report)
    print(
        "pip finds not all packages." if report is None else f"{len(report['install'])} packages, withdrawn: {yanked}"
    )
    for service in SERVICES:
        audit = ["pip_audit", "-s", service, "--no-deps", "--disable-pip", "-r", str(CONSTRAINTS), "-f", "json", "-o"]
        answer = _json_of(audit)
        audited, faults = (0, []) if answer is None else holes(answer)
        if audited:
            print(f"{service}: {audited} packages looked up, {len(faults)} known holes", *faults, sep="\n  ")
            return int(bool(faults or yanked))
        print(f"{service} does not answer: no package was looked up there")
    return 1 if yanked else 2


if __name__ == "__main__":
    sys.exit(main())
