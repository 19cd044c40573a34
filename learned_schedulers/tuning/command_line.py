"""What a compiler is asked for: the sources, the output, the options; and why a call makes no code of its own.

GCC's and Clang's options are read as far as that needs; the compiler itself reads them again.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

_COMPILER = re.compile(r"(?:x86_64-[\w-]*linux-gnu-)?(?:(gcc|g\+\+|cc|c\+\+)|(clang|clang\+\+))(?:-[\d.]+)?")
_CPP_SOURCE = (".cc", ".cp", ".cxx", ".cpp", ".c++", ".C", ".CPP", ".ii")
_SOURCE = (".c", ".i", *_CPP_SOURCE)
_HEADER = (".h", ".hh", ".hp", ".hpp", ".hxx", ".h++", ".H", ".HPP", ".tcc")
_ASSEMBLY = (".s", ".S", ".sx", ".asm")
_LANGUAGES = ("c", "c++", "cpp-output", "c++-cpp-output")
# Options whose value is the next word, of both compilers.
_WITH_VALUE = re.compile(
    r"-(o|x|I|D|U|L|l|T|u|z|e|B|A|F|G|Xlinker|Xassembler|Xpreprocessor|Xclang|include|imacros|isystem|iquote|idirafter"
    r"|iprefix|iwithprefix|iwithprefixbefore|isysroot|imultilib|iframework|cxx-isystem|MF|MT|MQ|MJ|aux-info|-param"
    r"|dumpbase|dumpbase-ext|dumpdir|specs|wrapper|target|mllvm|rpath|arch|framework|-sysroot|working-directory"
    r"|ivfsoverlay|resource-dir)"
)
_NOTHING_ASSEMBLED = {"-E", "-M", "-MM", "-fsyntax-only", "-###", "-emit-llvm", "-emit-ast", "--analyze", "-cc1", "-v"}
_QUESTIONS = (
    *("-print-", "--print-", "--version", "--help", "--target-help"),
    *("-dumpversion", "-dumpmachine", "-dumpspecs", "-dumpfullversion"),
)
_LONG = ("--assemble", "--compile", "--preprocess", "--language", "--output", "--dependencies", "--user-dependencies")
_OTHER_PROCESSORS = {"-m32", "-mx32", "-m16", "-miamcu"}
_LINK_TIME = re.compile(r"-f(no-)?lto(=.*)?")
# With these, Clang writes files that it names by its inner steps.
_OF_CLANG = (
    *("-save-temps", "--save-temps", "-ftime-trace", "-fproc-stat-report", "-save-stats", "-fembed-bitcode"),
    *("-gsplit-dwarf", "-MJ", "-fthinlto", "-fmodules", "-fno-integrated-as", "-via-file-asm"),
)
_OF_LINKING = ("-l", "-L", "-Wl,", "-o", "-static", "-shared", "-pie", "-rdynamic")
_WRITES_NEXT = ("-o", "-MF", "-MT", "-MQ", "-MJ")
_WRITES = re.compile(r"-o.|-M(?:D|MD|P|G|F.+|T.+|Q.+)$|-Wp,-M")
_FILES, _DEEPEST = 1 << 20, 8  # bytes and nesting of a file of options


class Understood(NamedTuple):
    """What a call asks for."""

    reason: str  # why it compiles no C or C++ to code for x86-64 that is its own; empty if it does
    compiler: str = ""  # gcc or clang
    cached: bool = False  # by ccache, which calls the compiler
    sources: tuple[str, ...] = ()  # of C and C++
    output: str = ""  # as -o names it
    flags: tuple[str, ...] = ()  # options of one word, as -O2
    language: str = "c"  # of all sources: c or c++


def is_compiler(name: str) -> bool:
    """Whether a command of this name is GCC or Clang for x86-64."""
    return bool(_COMPILER.fullmatch(name))


def understood(command: Sequence[str]) -> Understood:
    """A compiler's command line, beginning with the compiler or with ccache."""
    names = [os.path.basename(word) for word in command[:2]]
    cached = names[0] == "ccache" and len(names) > 1
    match = _COMPILER.fullmatch(names[1] if cached else names[0])
    if not match:
        return Understood("it is neither GCC nor Clang for x86-64")
    call = _Words(list(_expanded(command[2 if cached else 1 :], _DEEPEST)))
    reason = call.reason() or (call.reason_of_clang() if match[2] else "")
    compiler = "gcc" if match[1] else "clang"
    language = "c++" if (match[1] or match[2]).endswith("++") or call.is_cpp() else "c"
    return Understood(reason, compiler, cached, tuple(call.sources), call.output, tuple(call.flags), language)


def without_outputs(words: Sequence[str]) -> list[str]:
    """The words of a call without those that name files to write: the object, and what make should know."""
    rest: list[str] = []
    waiting = iter(words)
    for word in waiting:
        if word in _WRITES_NEXT:
            next(waiting, "")
        elif _WRITES.match(word):
            continue
        else:
            rest.append(word)
            if _WITH_VALUE.fullmatch(word) and (value := next(waiting, None)) is not None:
                rest.append(value)
    return rest


def apart(command: Sequence[str], objects: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Of a command that compiles and links: what compiles one of its sources, and what links their `objects`."""
    compiling, linking = [command[0]], [command[0]]
    waiting = iter(command[1:])
    for word in waiting:
        values = [next(waiting, "")] if _WITH_VALUE.fullmatch(word) else []
        if values or word.startswith("-"):
            linking += [word, *values]
            compiling += [word, *values] if not word.startswith(_OF_LINKING) else []
        else:
            linking.append(objects.get(word, word))
    return compiling, linking


class _Words:
    """The parts of a compiler's words that matter here."""

    def __init__(self, words: Sequence[str]) -> None:
        self.flags: list[str] = []
        self.sources: list[str] = []  # of C and C++
        self.others: set[str] = set()  # kinds of the other inputs
        self.output = ""
        self.language = ""
        waiting = iter(words)
        for word in waiting:
            if _WITH_VALUE.fullmatch(word):
                self._value(word, next(waiting, ""))
            elif word.startswith("-o"):
                self.output = word[2:]
            elif word.startswith("-x"):
                self._value("-x", word[2:])
            elif word.startswith("-") and word != "-":
                self.flags.append(word)
            else:
                self._input(word)
        self.writes_text = "-S" in self.flags

    def is_cpp(self) -> bool:
        """Whether the sources are C++ for a compiler of C, by -x or by their names."""
        if self.language:
            return self.language.startswith("c++")
        return any(source.endswith(_CPP_SOURCE) for source in self.sources)

    def _value(self, option: str, value: str) -> None:
        if option == "-o":
            self.output = value
        elif option == "-x":
            self.language = "" if value == "none" else value
        elif option in ("-MJ", "-wrapper", "-specs"):
            self.flags.append(option)

    def _input(self, word: str) -> None:
        if self.language in _LANGUAGES or (not self.language and word.endswith(_SOURCE)):
            self.sources.append(word)
        elif self.language.endswith("-header") or (not self.language and word.endswith(_HEADER)):
            self.others.add("a header is compiled in advance")
        elif self.language.startswith("assembler") or (not self.language and word.endswith(_ASSEMBLY)):
            self.others.add("people have written this assembly")
        elif self.language or word == "-":
            self.others.add("it is neither C nor C++")

    def reason(self) -> str:
        """Why the call is left alone, or nothing."""
        flags = set(self.flags)
        if flags & _NOTHING_ASSEMBLED or any(flag.startswith(_QUESTIONS) for flag in flags):
            return "it asks for no object, or for all words that are said"
        links = [match for match in map(_LINK_TIME.fullmatch, self.flags) if match]
        if links and not links[-1][1]:
            return "code is made when all is linked (-flto)"
        if flags & _OTHER_PROCESSORS:
            return "it is not for x86-64"
        if any(flag.startswith((*_LONG, "-wrapper", "-specs", "--specs")) for flag in flags):
            return "an option is not understood"
        if self.others:
            return min(self.others)
        if not self.sources:
            return "it compiles nothing: it links, or has no input"
        return "" if not self.writes_text or len(self.sources) == 1 or not self.output else "two texts, one name"

    def reason_of_clang(self) -> str:
        """Why a call of Clang is left alone, or nothing."""
        word = next((flag for flag in self.flags if flag.startswith(_OF_CLANG)), "")
        return word and f"Clang names files by its steps, or leaves the common road ({word})"


def _expanded(words: Iterable[str], depth: int) -> Iterator[str]:
    """Words with those of the files that `@file` names; a file that cannot be read is a word, as for the compilers."""
    for word in words:
        if not word.startswith("@") or depth == 0:
            yield word
            continue
        try:
            with open(word[1:], encoding="utf-8") as file:
                text = file.read(_FILES)
            yield from _expanded(shlex.split(text), depth - 1)
        except (OSError, ValueError):
            yield word
