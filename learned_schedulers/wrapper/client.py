"""A text to its ordered text: from the cache, by the resident process, or at once. It never fails: then the text stays.

It imports little: every call of a compiler goes through it.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from contextlib import suppress
from hashlib import sha256

from learned_schedulers.wrapper import record
from learned_schedulers.wrapper import settings as places
from learned_schedulers.wrapper.settings import Settings, blake2b

TYPE_CHECKING = False  # typing is slow to import
if TYPE_CHECKING:
    import subprocess

    from learned_schedulers.wrapper.record import Facts

WAIT = 60.0  # seconds until the resident process has begun to listen, at most
_AGAIN = 5.0  # seconds after which it is begun again: the one before may just have ended
_PATIENCE = 600.0  # seconds in which a text has to be ordered
_BREAKS = 3  # how often the resident process may break off at one text
ONCE = "learned_schedulers.wrapper.job"  # orders one text and ends
RESIDENT = "learned_schedulers.wrapper.resident"
SIZE = 8  # bytes of a message's length
MOST = 1 << 30  # bytes of a message


def is_of_compiler(text: bytes) -> bool:
    """Whether GCC or Clang has written it: it names its source first, and its compiler or its stack last."""
    return b"\t.file\t" in text[:400] and (b"\t.ident\t" in text[-4000:] or b".note.GNU-stack" in text[-4000:])


def order_file(path: str, settings: Settings) -> None:
    """Order a file of assembly that a compiler has written, in its place."""
    path = os.path.realpath(path)
    try:
        with open(path, "rb") as file:
            text = file.read()
        new = ordered(text, settings, path) if is_of_compiler(text) else text
        if new != text:
            import tempfile

            handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path))
            with open(handle, "wb") as part:
                part.write(new)
            os.chmod(temporary, os.stat(path).st_mode & 0o777)
            os.replace(temporary, path)
    except OSError as error:
        record.say(f"{path}: left alone: {error}")


def ordered(text: bytes, settings: Settings, output: str) -> bytes:
    """The text with its blocks in new orders; the text itself if anything goes wrong. output: its object's file."""
    try:
        version = places.version()
        folder = places.texts_folder(places.private(places.cache_folder()), settings, version)
        key = sha256(text).hexdigest()
        cached = _cached(folder, key)
        facts, new = cached or _answered(text, settings, version)
        if not cached:
            _keep(folder, key, facts, new)
    except Exception as error:  # a build never breaks by this
        reason = reason_of(error)
        record.say(f"{output}: left alone: {reason}")
        record.add(output, {"failed": reason})
        return text
    record.add(output, facts | {"cached": bool(cached)})
    for fault in facts.get("faults", ()):
        record.say(f"{output}: {': '.join(fault)}")
    return new


def reason_of(error: Exception) -> str:
    """An error as a record names it: what we say ourselves is a ValueError, and needs no name."""
    return str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"


def _cached(folder: str, key: str) -> tuple[Facts, bytes] | None:
    path = os.path.join(folder, key)
    try:
        with open(f"{path}.json", "rb") as file:
            facts: Facts = json.loads(file.read())
        with open(f"{path}.s", "rb") as file:
            text = file.read()
        if facts.pop("bytes") != len(text):
            return None
        os.utime(f"{path}.s")  # the oldest are deleted first
    except (OSError, ValueError):
        return None
    return facts, text


def _keep(folder: str, key: str, facts: Facts, text: bytes) -> None:
    """Write an answer whole, for other calls of the same text: the text last, which `script.py` looks for."""
    import tempfile

    with suppress(OSError):  # the disk is full: the answer is as good
        os.makedirs(folder, mode=0o700, exist_ok=True)
        for ending, content in (("json", json.dumps(facts | {"bytes": len(text)}).encode()), ("s", text)):
            with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
                file.write(content)
            os.replace(file.name, os.path.join(folder, f"{key}.{ending}"))


def _answered(text: bytes, settings: Settings, version: str) -> tuple[Facts, bytes]:
    """The answer of the resident process, which is begun if there is none; without it, that of a process of its own."""
    try:
        name = blake2b(f"{version} {settings.name}".encode(), digest_size=8).hexdigest()
        address = os.path.join(places.private(_sockets()), name)
        message = _served(text, settings, address)
    except PermissionError as error:  # somebody else's folder or socket
        record.say(f"without a resident process: {error}")
        message = None
    return unpacked(_once(text, settings) if message is None else message)


def _served(text: bytes, settings: Settings, address: str) -> bytes | None:
    """The answer of the resident process; None if it cannot be begun. Raises OSError if it breaks off at this text."""
    begun, started, breaks = time.monotonic(), -_AGAIN, 0
    process: subprocess.Popen[bytes] | None = None
    while time.monotonic() - begun < WAIT:
        connection = _connected(address)
        if connection is not None:
            with connection:
                check_peer(connection)
                try:
                    send(connection, text)
                    return receive(connection)
                except (ConnectionError, BrokenPipeError):
                    breaks += 1
                    if breaks == _BREAKS:
                        raise
            continue
        if process is not None and process.poll():
            return None
        if time.monotonic() - started > _AGAIN:
            started, process = time.monotonic(), _start(address, settings)
        time.sleep(0.02)
    return None


def _connected(address: str) -> socket.socket | None:
    """A connection; None if nobody listens. Raises PermissionError if the address is not this user's."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(_PATIENCE)
    try:
        connection.connect(address)
    except PermissionError:
        connection.close()
        raise
    except OSError:
        connection.close()
        return None
    return connection


def _sockets() -> str:
    """A folder with a short name: addresses of sockets have at most 107 bytes."""
    folders = (os.environ.get("XDG_RUNTIME_DIR"), os.environ.get("TMPDIR"))
    base = next((folder for folder in folders if folder and len(os.fsencode(folder)) < 60), "/tmp")
    return os.path.join(base, f"learned_schedulers_{os.geteuid()}")


_RUN = "import sys, runpy; sys.path.insert(0, sys.argv.pop(1)); runpy.run_module(sys.argv.pop(1), run_name='__main__')"


def _python(module: str) -> list[str]:
    """The begin of a command that runs a module of this library, with all that is installed."""
    return [sys.executable, "-c", _RUN, os.path.dirname(places.PACKAGE), module]


def _start(address: str, settings: Settings) -> subprocess.Popen[bytes]:
    """Begin the resident process; of several that begin at once, all but one end by themselves."""
    import subprocess

    words = [*_python(RESIDENT), address, settings.name]
    null = subprocess.DEVNULL
    return subprocess.Popen(words, stdin=null, stdout=null, stderr=null, start_new_session=True, cwd="/")


def _once(text: bytes, settings: Settings) -> bytes:
    """The answer of a process that ends with it. Its folder is none of the build's, whose modules it would import."""
    import subprocess

    words = [*_python(ONCE), settings.name]
    null, pipe = subprocess.DEVNULL, subprocess.PIPE
    process = subprocess.run(words, input=text, stdout=pipe, stderr=null, check=True, timeout=_PATIENCE, cwd="/")
    return process.stdout


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
