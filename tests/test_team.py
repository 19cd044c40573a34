"""The server of docs/team.md: by SSH, for files alone."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from tests.trial.copies import ROOT, run

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


def listening(process: int) -> set[str]:
    """Addresses at which the process and its children listen."""
    family = [psutil.Process(process), *psutil.Process(process).children(recursive=True)]
    addresses = set()
    for member in family:
        with contextlib.suppress(psutil.NoSuchProcess):  # of a connection that has ended
            connections = member.net_connections("inet")
            addresses |= {connection.laddr.ip for connection in connections if connection.status == psutil.CONN_LISTEN}
    return addresses


def test_sshd_lets_in_its_key_alone_and_gives_files_alone() -> None:
    if not Path("/usr/sbin/sshd").exists():
        pytest.skip("sshd is not installed: apt-get install -y --no-install-recommends openssh-server")
    script = str(ROOT / "examples/team/sshd.sh")
    with tempfile.TemporaryDirectory(prefix="team-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        try:
            run(folder, script, "start", name)
            server = int((folder / "sshd/pid").read_text())
            assert psutil.Process(server).username() != "root" and listening(server) == {"127.0.0.1"}
            address = urlsplit((folder / "remote").read_text().strip())
            checked = [f"-oUserKnownHostsFile={folder}/known_hosts", "-oStrictHostKeyChecking=yes", "-oBatchMode=yes"]
            place = ["-p", str(address.port), f"{address.username}@127.0.0.1"]
            ours = [*checked, "-oIdentitiesOnly=yes", f"-i{folder}/key"]
            assert "This service allows sftp connections only" in run(folder, "ssh", *ours, *place, "id", fails=True)
            run(folder, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{name}/other")
            others = [*checked, "-oIdentitiesOnly=yes", f"-i{folder}/other"]
            assert "Permission denied" in run(folder, "ssh", *others, *place, "id", fails=True)
        finally:
            run(folder, script, "stop", name)
        assert not psutil.pid_exists(server)
