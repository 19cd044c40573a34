"""Whole projects ordered as they are built: `learned-schedulers cc -- gcc ...` stands for the compiler.

The compiler's driver does its work itself. GCC is only told of a folder (`-B`) in which it finds its assembler: there a
small program orders the text that the compiler has written, and gives it to the real assembler. Clang, which assembles
by itself, says its steps, and the orders come between two of them. So all options, messages, dependency files and exit
codes are the compiler's own.

- `settings.py`: what is asked for, the folders, and the programs that compilers find
- `command_line.py`: which calls of a compiler are understood
- `compiler.py`: how the compiler is called; `clang.py`: Clang's steps
- `assembler.py`: the program in the place of GCC's assembler; `script.py`: the script that goes before it
- `client.py`: a text to its ordered text: by the cache, the resident process, or at once
- `resident.py`: the process that keeps what is slow to import, and serves all jobs of a build
- `job.py`: orders one text
- `children.py`: programs that are run and waited for
- `record.py`: a line for each object; `build.py`: which of them count; `report.py`, `report_page.py`: what they became

Only `job.py` and the page import more than Python's own library: a compiler is called a thousand times in a build.
"""
