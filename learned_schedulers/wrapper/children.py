"""Programs that are run and waited for. It stands for `subprocess`, which is slow to import."""

from __future__ import annotations

import os


def run(path: str, words: list[str], source: int = 0, is_quiet: bool = False) -> int:
    """The exit code; negative for a signal, and 127 for a program that is not there.

    source: descriptor of its standard input. Quiet, nothing that it says on standard error is shown, and each word of
    it is an error.
    """
    with open(os.memfd_create("messages"), "w+b") as messages:
        actions = [(os.POSIX_SPAWN_DUP2, source, 0)] if source else []
        if is_quiet:
            actions.append((os.POSIX_SPAWN_DUP2, messages.fileno(), 2))
        code = _waited(path, words, actions)
        return code or int(os.fstat(messages.fileno()).st_size > 0)


def printed(path: str, words: list[str], stream: int = 1, without: str = "") -> tuple[int, str]:
    """The exit code, and what it writes: on its standard output, or on standard error (2). The rest goes nowhere.

    without: a variable that the program's environment does not have.
    """
    environment = {name: value for name, value in os.environ.items() if name != without}
    with open(os.memfd_create("printed"), "w+b") as file, open(os.devnull, "r+b") as null:
        actions = [(os.POSIX_SPAWN_DUP2, (file if k == stream else null).fileno(), k) for k in range(3)]
        code = _waited(path, words, actions, environment)
        file.seek(0)
        return code, file.read().decode(errors="surrogateescape")


def _waited(
    path: str, words: list[str], actions: list[tuple[int, int, int]], environment: dict[str, str] | None = None
) -> int:
    try:
        child = os.posix_spawnp(path, words, os.environ if environment is None else environment, file_actions=actions)
    except OSError:
        return 127
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
