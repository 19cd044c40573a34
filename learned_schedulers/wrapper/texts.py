"""A compiler's text to its ordered text. Where the cache has it, this takes milliseconds, and little is imported."""

from __future__ import annotations

from learned_schedulers.wrapper import cache, record
from learned_schedulers.wrapper.settings import cache_folder, private

_MOST_BYTES = 1 << 28


def ordered(text: bytes, name: str, version: str, output: str) -> bytes:
    """The text with its blocks in new orders; the text itself if people have written it, or if anything goes wrong.

    name: of the settings; version: the library's, as `programs.version` says it; output: the object, for the record.
    """
    if len(text) > _MOST_BYTES or not is_of_compiler(text):
        record.add(output, {"passed": "people have written this assembly"})
        return text
    if not record.is_verbose() and not record.is_temporary(output):
        try:
            cached = cache.answer(private(cache_folder()), cache.key(name, version, text))
        except OSError:  # the road below says why
            cached = None
        if cached:
            record.line(output, b'{"cached": true, ' + cached[0][1:])
            return cached[1]
    from learned_schedulers.wrapper import client
    from learned_schedulers.wrapper.settings import Settings

    return client.ordered(text, Settings.of_name(name), output)


def is_of_compiler(text: bytes) -> bool:
    """Whether GCC or Clang has written it: it names its source first, and its compiler or its stack last.

    Clang's table of symbols may stand last, or a line of GCC's for each function of another section.
    """
    return b"\t.file\t" in text[:400] and (b"\t.ident\t" in text[-(1 << 16) :] or b".note.GNU-stack" in text[-4000:])
