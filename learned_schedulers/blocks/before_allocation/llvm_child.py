"""A process that lets LLVM read intermediate code, and compile it in the order in which its instructions stand.

LLVM's options are global for a process, and unfit input may end it. So `llvm` starts processes: `read` or `text`, with
the code on standard input, and `emit SCHEDULER PROCESSOR FORM`, which answers one piece of code after the other.
There each piece, and each answer, stands behind its length; an answer begins with + or, where LLVM refuses the code,
with -.
"""

from __future__ import annotations

import resource
import sys

import llvmlite.binding as llvm

MEMORY, SECONDS = 8 << 30, 3600  # bytes and processor seconds that a process may take
LENGTH = 8  # bytes of a length
ASSEMBLY, OBJECT, BITCODE = "assembly", "object", "bitcode"  # forms of what is emitted
_TRIPLE = "x86_64-pc-linux-gnu"
# Command lines of LLVM that schedule as named. On x86, the default begins with the order in which instructions stand,
# and its machine scheduler moves some. Nothing moves in the second, but for one pass that has no option: live range
# shrinking moves an instruction up to its operands if these are read by nothing else.
SCHEDULERS = {
    "default": (),
    "unscheduled": ("-pre-RA-sched=source", "-enable-misched=false", "-twoaddr-reschedule=false"),
    "source": ("-pre-RA-sched=source",),
    **{name: (f"-pre-RA-sched={name}", "-enable-misched=false") for name in ("list-burr", "list-hybrid", "list-ilp")},
    "no-machine": ("-enable-misched=false",),
    "no-pressure": ("-misched-regpressure=false",),
    "top-down": ("-misched-prera-direction=topdown",),
    "bottom-up": ("-misched-prera-direction=bottomup",),
    "aligned-loops": ("-align-loops=32",),
    **{f"{name}-machine": (f"-pre-RA-sched={name}",) for name in ("list-burr", "list-hybrid", "list-ilp")},
}


def read(content: bytes, aliases: bool) -> str:
    """Verified code as text in which every result has a name; with aliases, pairs of accesses go to standard error."""
    module = _parsed(content)
    module.verify()
    name_results(module)
    if not aliases:
        return str(module)
    for option in ("-print-all-alias-modref-info", "-evaluate-aa-metadata"):
        llvm.set_option("", option)
    builder = llvm.create_pass_builder(_machine(module.triple or _TRIPLE, ""), llvm.PipelineTuningOptions())
    manager = llvm.create_new_module_pass_manager()
    manager.add_aa_eval_pass()
    manager.run(module, builder)
    return str(module)


def name_results(module: llvm.ModuleRef) -> None:
    """Give each result without a name one."""
    for function in module.functions:
        for block in function.blocks:
            for instruction in block.instructions:
                if not instruction.name and str(instruction.type) != "void":
                    instruction.name = "v"  # LLVM adds a number


def emit(content: bytes, machine: llvm.TargetMachine, form: str) -> bytes:
    """The code compiled, as assembly with comments or as an object file; or as it is, as bitcode."""
    module = _parsed(content)
    if form == BITCODE:
        return bytes(module.as_bitcode())
    compiled: bytes = machine.emit_object(module) if form == OBJECT else machine.emit_assembly(module).encode()
    return compiled


def _emit_all(scheduler: str, processor: str, form: str) -> None:
    """Answer code after code, until there is no more."""
    for option in SCHEDULERS[scheduler]:
        llvm.set_option("", option)
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while size := requests.read(LENGTH):
        content = requests.read(int.from_bytes(size, "little"))
        machine = _machine(_TRIPLE, processor)  # emitting uses it up
        machine.set_asm_verbosity(True)
        try:
            answer = b"+" + emit(content, machine, form)
        except (RuntimeError, UnicodeDecodeError) as error:
            answer = f"-{error}".encode()
        answers.write(len(answer).to_bytes(LENGTH, "little") + answer)
        answers.flush()


def _parsed(content: bytes) -> llvm.ModuleRef:
    if content.startswith((b"BC\xc0\xde", b"\xde\xc0\x17\x0b")):
        return llvm.parse_bitcode(content)
    return llvm.parse_assembly(content.decode())


def _machine(triple: str, processor: str) -> llvm.TargetMachine:
    target = llvm.Target.from_triple(triple)
    if processor == "host":
        features = llvm.get_host_cpu_features().flatten()
        return target.create_target_machine(llvm.get_host_cpu_name(), features, opt=3, reloc="pic", codemodel="default")
    return target.create_target_machine(processor, "", opt=3, reloc="pic", codemodel="default")


def main() -> None:
    """Do the job that the command line names. The exit code is 1 for code that LLVM refuses, with its words."""
    for name, value in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CPU, SECONDS), (resource.RLIMIT_CORE, 0)):
        _, most = resource.getrlimit(name)  # nobody may raise it
        limit = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(name, (limit, limit))
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()  # for inline assembly
    job, *words = sys.argv[1:]
    try:
        if job in ("read", "text"):
            sys.stdout.write(read(sys.stdin.buffer.read(), aliases=job == "read"))
        else:
            _emit_all(*words)
    except (RuntimeError, UnicodeDecodeError) as error:
        sys.stderr.write(f"\nrefused: {error}")
        sys.exit(1)


if __name__ == "__main__":
    main()
