"""A text to its ordered text: from the cache, by the resident process, or at once. It never fails: then the text stays.

It imports little: every call of a compiler goes through it.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from hashlib import blake2b
from typing import Any

from learned_schedulers.wrapper import settings as places
from learned_schedulers.wrapper.settings import Settings

WAIT = 60.0  # seconds until the resident process has begun to listen, at most
_AGAIN = 5.0  # seconds after which it is begun again: the one before may just have ended
_PATIENCE = 600.0  # seconds in which it has to answer
ONCE = "learned_schedulers.wrapper.job"  # orders one text and ends
RESIDENT = "learned_schedulers.wrapper.resident"
SIZE = 8  # bytes of a message's length
MOST = 1 << 30  # bytes of a message
RECORD = "LEARNED_SCHEDULERS_RECORD"  # environment: another file for what has become of each object

Facts = dict[str, Any]  # what became of a text: blocks, statuses, cycles, faults, functions


def order_file(path: str, settings: Settings) -> None:
    """Order a file of assembly that a compiler has written, in its place."""
    try:
        with open(path, "rb") as file:
            text = file.read()
        new = ordered(text, settings, path)
        if new != text:
            handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path) or ".")
            with open(handle, "wb") as part:
                part.write(new)
            os.chmod(temporary, os.stat(path).st_mode & 0o777)
            os.replace(temporary, path)
    except OSError as error:
        say(f"{path}: left alone: {error}")


def ordered(text: bytes, settings: Settings, output: str) -> bytes:
    """The text with its blocks in new orders; the text itself if anything goes wrong. output: its object's file."""
    facts: Facts = {}
    try:
        version = places.digest_of_library()
        key = blake2b(f"{settings.name} {version}\n".encode() + text, digest_size=20).hexdigest()
        folder = places.private(places.cache_folder())
        cached = _cached(folder, key)
        facts, new = cached or _answered(folder, text, settings, version)
        if not cached:
            _keep(folder, key, facts, new)
        _record(folder, output, facts | {"cached": bool(cached)})
    except Exception as error:  # a build never breaks by this
        say(f"{output}: left alone: {type(error).__name__}: {error}")
        return text
    if os.environ.get(places.VERBOSE):
        for fault in facts.get("faults", ()):
            say(f"{output}: {fault}")
    return new


def say(text: str) -> None:
    """A line for people who asked for it."""
    if os.environ.get(places.VERBOSE):
        print(f"learned-schedulers cc: {text}", file=sys.stderr)


def _cached(folder: str, key: str) -> tuple[Facts, bytes] | None:
    try:
        with open(os.path.join(folder, "texts", key[:2], key), "rb") as file:
            head, text = file.readline(), file.read()
    except FileNotFoundError:
        return None
    facts: Facts = json.loads(head)
    return (facts, text) if facts.pop("bytes") == len(text) else None


def _keep(folder: str, key: str, facts: Facts, text: bytes) -> None:
    """Write an answer whole, for other calls of the same text."""
    part = os.path.join(folder, "texts", key[:2])
    os.makedirs(part, mode=0o700, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=part, delete=False) as file:
        file.write(json.dumps(facts | {"bytes": len(text)}).encode() + b"\n" + text)
    os.replace(file.name, os.path.join(part, key))


def _record(folder: str, output: str, facts: Facts) -> None:
    """Add a line for the report. Lines of several processes do not mix: each is one write to the file's end."""
    place = os.path.abspath(output)
    if os.path.dirname(place) == tempfile.gettempdir() and facts.get("source"):  # the driver deletes it after linking
        place = os.path.abspath(facts["source"])
    line = json.dumps({"object": place, **facts}) + "\n"
    path = os.environ.get(RECORD) or os.path.join(folder, "record.jsonl")
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(handle, line.encode())
    finally:
        os.close(handle)


def _answered(folder: str, text: bytes, settings: Settings, version: str) -> tuple[Facts, bytes]:
    """The answer of the resident process, which is begun if there is none; without it, that of a process of its own."""
    address = os.path.join(places.private(_sockets()), f"{version}-{settings.name}")
    begun, started = time.monotonic(), -_AGAIN
    while time.monotonic() - begun < WAIT:
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(_PATIENCE)
                connection.connect(address)
                check_peer(connection)
                send(connection, text)
                return unpacked(receive(connection))
        except PermissionError:
            raise
        except OSError:  # it is not there, not yet there, or it ended while it worked
            if time.monotonic() - started > _AGAIN:
                started = time.monotonic()
                _start(address, settings)
            time.sleep(0.02)
    return _once(text, settings)


def _sockets() -> str:
    """A folder with a short name: addresses of sockets have at most 107 bytes."""
    return os.path.join(
        os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir(), f"learned_schedulers_{os.geteuid()}"
    )


_RUN = "import sys, runpy; sys.path.insert(0, sys.argv.pop(1)); runpy.run_module(sys.argv.pop(1), run_name='__main__')"


def _python(module: str) -> list[str]:
    """The begin of a command that runs a module of this library, with all that is installed."""
    return [sys.executable, "-c", _RUN, os.path.dirname(places.PACKAGE), module]


def _start(address: str, settings: Settings) -> None:
    """Begin the resident process; of several that begin at once, all but one end by themselves."""
    words = [*_python(RESIDENT), address, settings.name]
    null = subprocess.DEVNULL
    subprocess.Popen(words, stdin=null, stdout=null, stderr=null, start_new_session=True, cwd="/")


def _once(text: bytes, settings: Settings) -> tuple[Facts, bytes]:
    """Order a text by a process that ends with it."""
    words = [*_python(ONCE), settings.name]
    process = subprocess.run(words, input=text, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    return unpacked(process.stdout)


def packed(facts: Facts, text: bytes) -> bytes:
    """An answer as bytes: a line of JSON, then the text."""
    return json.dumps(facts).encode() + b"\n" + text


def unpacked(message: bytes) -> tuple[Facts, bytes]:
    """Raises ValueError for what is no answer."""
    head, _, text = message.partition(b"\n")
    facts = json.loads(head)
    if not isinstance(facts, dict) or "error" in facts:
        raise ValueError(facts["error"] if isinstance(facts, dict) else "this is no answer")
    return facts, text


def check_peer(connection: socket.socket) -> None:
    """Raise PermissionError if the process at the other end is another user's."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    if int.from_bytes(credentials[4:8], sys.byteorder) != os.geteuid():
        raise PermissionError("the socket belongs to another user")


def send(connection: socket.socket, message: bytes) -> None:
    """A message: its length, then its bytes."""
    connection.sendall(len(message).to_bytes(SIZE, "little"))
    connection.sendall(message)


def receive(connection: socket.socket) -> bytes:
    """Raises OSError for a message that breaks off or is too long."""
    size = int.from_bytes(_exactly(connection, SIZE), "little")
    if size > MOST:
        raise OSError(f"a message of {size} bytes")
    return _exactly(connection, size)


def _exactly(connection: socket.socket, size: int) -> bytes:
    parts, missing = [], size
    while missing:
        part = connection.recv(min(missing, 1 << 20))
        if not part:
            raise ConnectionError("the other end has closed")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)
