"""The program that GCC finds in the place of its assembler, as a script for `sh`.

If a text is in the cache, the script itself gives the ordered one to the assembler, in a few milliseconds; Python would
take ten times as long to begin. For all else, and if the assembler has anything to say, `assembler.py` is called.
"""

from __future__ import annotations

import os
import sys

_AS = """#!/bin/sh
[ -x {python} ] && [ -d {package}/wrapper ] || exec as "$@"  # the library has been removed
other() {{ exec {python} -I -S -c {code} {name} "$@"; }}
[ -z "${verbose}" ] || other "$@"
before= input= output=a.out
for word; do
  case $before in
    -o) output=$word ;;
    -I | -G | --defsym | -defsym | --debug-prefix-map) ;;
    *) case $word in
      - | -- | @* | --32 | --x32 | -32 | -x32 | --MD | -MD | --version | --help | --target-help) other "$@" ;;
      -*) ;;
      *) [ -z "$input" ] || other "$@"; input=$word ;;
    esac ;;
  esac
  before=$word
done
key=$(sha256sum "$input" 2>/dev/null) || other "$@"
text={texts}/${{key%% *}}.s
[ -f "$text" ] || other "$@"
case $PWD$output in *[\\"\\\\[:cntrl:]]*) other "$@" ;; esac
case $output in /*) ;; *) output=$PWD/$output ;; esac
real=as  # the compiler may have one of its own; while it links, COMPILER_PATH has its -B, and it would name this script
[ -z "$COLLECT_GCC" ] || real=$(unset COMPILER_PATH; "$COLLECT_GCC" -print-prog-name=as) || other "$@"
[ "$real" != "$0" ] || other "$@"
assemble() {{ for word; do shift; [ "$word" = "$input" ] && word=$text; set -- "$@" "$word"; done; "$real" "$@" 2>&1; }}
said=$(assemble "$@") || other "$@"
[ -z "$said" ] || other "$@"
line='{{"object": "%s", "folder": "%s", "text": "%s", "time": %s}}\\n'
printf "$line" "$output" "$PWD" "$text" "$(date +%s)" >> "${{{record}:-{records}}}"
"""
_COMPILER = """#!/bin/sh
[ -x {python} ] && [ -d {package}/wrapper ] || exec "$@"  # the library has been removed
exec {python} -I -S -c {code} {name} "$@"
"""
_MODULES = {"as": "assembler", "compiler": "compiler"}


def script(program: str, package: str, name: str, texts: str, records: str, variables: dict[str, str]) -> str:
    """The text of a program. name: of the settings; texts, records: folder and file; variables: of the environment."""
    code = f"import sys; sys.path.insert(0, {os.path.dirname(package)!r}); "
    code += f"from learned_schedulers.wrapper.{_MODULES[program]} import main; sys.exit(main(sys.argv[1:]))"
    template = _AS if program == "as" else _COMPILER
    return template.format(
        python=_quoted(sys.executable),
        package=_quoted(package),
        code=_quoted(code),
        name=name,
        texts=_quoted(texts),
        records=records.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$").replace("`", "\\`"),
        **variables,
    )


def _quoted(path: str) -> str:
    """A word of a shell's line."""
    return "'" + path.replace("'", "'\\''") + "'"
