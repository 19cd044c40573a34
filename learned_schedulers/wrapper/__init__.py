"""Whole projects ordered as they are built: `learned-schedulers cc -- gcc ...` stands for the compiler.

The compiler's driver does all its work itself. It is only told of a folder (`-B`) in which it finds its assembler:
there a small program orders the text that the compiler has written, and gives it to the real assembler. So all options,
messages, dependency files and exit codes are the compiler's own.

- `settings.py`: what is asked for, as the name of a folder
- `compiler.py`: the compiler's command line, and how it is called
- `assembler.py`: the program in the place of the assembler
- `client.py`: a text to its ordered text: by the cache, the resident process, or at once
- `resident.py`: the process that keeps what is slow to import, and serves all jobs of a build
- `job.py`: orders one text
- `report.py`: what has become of a project's files

Only `job.py` imports more than Python's own library: a compiler is called a thousand times in a build.
"""
