"""Run by gdb: steps through a program, instruction by instruction, and checks each backtrace.

The truth is kept beside it: each call pushes its return address, the stack pointer of the caller and the registers that
a function must preserve; a return or an exception pops what lies below the stack pointer. Input and output: JSON files.
"""

import json
import os
import re

import gdb  # only inside of gdb

PRESERVED = ("rbx", "rbp", "r12", "r13", "r14", "r15")
with open(os.environ["OWN_INPUT"]) as file:
    settings = json.load(file)  # steps; functions: names of functions at which stepping begins anew


def register(name, frame=None):
    frame = frame or gdb.newest_frame()
    return int(frame.read_register(name).cast(gdb.lookup_type("unsigned long")))


def word(address):
    return int.from_bytes(bytes(gdb.selected_inferior().read_memory(address, 8)), "little")


def entry():
    """What is true at the first instruction of a function: return address, caller's stack pointer and registers."""
    stack = register("rsp")
    return (word(stack), stack + 8, [register(name) for name in PRESERVED])


def backtrace(count):
    """The callers' frames; the first frame that is not of an inlined function is that of the function itself."""
    frames = []
    frame = gdb.newest_frame()
    while frame is not None and len(frames) <= count:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            frames.append((frame.pc(), register("rsp", frame), [register(name, frame) for name in PRESERVED]))
        frame = frame.older()
    return frames[1:]


def run_until_return():
    """Leave foreign code: to the return address, or to where an exception is caught or cleaned up."""
    stack = register("rsp")
    place = word(stack)
    stop = gdb.Breakpoint(f"*{place}", internal=True, temporary=True)
    stop.condition = f"$rsp > {stack}"
    gdb.execute("continue", to_string=True)
    if stop.is_valid():
        stop.delete()


for command in (
    "set pagination off",
    "set confirm off",
    "set backtrace past-main on",
    "set breakpoint pending on",
    "handle SIGSEGV stop print",
    "set disable-randomization on",
):
    gdb.execute(command, to_string=True)
gdb.execute("tbreak *main", to_string=True)
gdb.execute("run", to_string=True)
text = [
    (int(a, 16), int(b, 16))
    for a, b in re.findall(r"(0x[0-9a-f]+) - (0x[0-9a-f]+) is \.text\n", gdb.execute("info files", to_string=True))
]
low, high = text[0]
for name in ("__cxa_begin_catch", "_Unwind_Resume", "__cxa_end_catch"):
    try:
        gdb.Breakpoint(f"*(char *) &{name}", internal=True)  # the first instruction, not after the prologue
    except gdb.error:
        continue  # a program of C


def is_ours(pc):
    return low <= pc < high


shadow = [entry()]
checked, wrong, visited = 0, [], set()
distinct_only = settings.get("distinct", False)
try:
    while checked < settings["steps"] and gdb.selected_inferior().pid:
        pc, stack = gdb.newest_frame().pc(), register("rsp")
        while shadow and stack >= shadow[-1][1]:
            shadow.pop()
        if not shadow:
            break
        if not is_ours(pc):
            run_until_return()
            continue
        if not distinct_only or pc not in visited:
            visited.add(pc)
            frames = backtrace(len(shadow))
            truth = [tuple(row) for row in reversed(shadow)]
            checked += 1
            # The oldest frames are those of the C library; the program's own frames are what is compared.
            if frames != truth:
                wrong.append([pc, repr(frames[:2]), repr(truth[:2])])
        gdb.execute("stepi", to_string=True)
        if not gdb.selected_inferior().pid:
            break
        new, new_stack = gdb.newest_frame().pc(), register("rsp")
        called = is_ours(new) and new_stack == stack - 8 and 0 < word(new_stack) - pc <= 15
        if called and "call" in gdb.execute(f"x/i {pc}", to_string=True):
            shadow.append(entry())
except gdb.error as error:
    if gdb.selected_inferior().pid:
        wrong.append([0, "gdb stopped", str(error)])
with open(os.environ["OWN_OUTPUT"], "w") as file:
    json.dump({"checked": checked, "distinct": len(visited), "wrong": wrong}, file)
