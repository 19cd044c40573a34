"""A process that lets LLVM read intermediate code, and compile it in the order in which its instructions stand.

LLVM's options are global for a process, and unfit input may end it. So `llvm` starts one for each job:
`python -m ...llvm_child read` or `... emit SCHEDULER PROCESSOR`, with the code on standard input.
"""

from __future__ import annotations

import resource
import sys

import llvmlite.binding as llvm

MEMORY, SECONDS = 8 << 30, 600  # bytes and processor seconds that a job may take
# Command lines of LLVM that schedule as named. The first keeps the order, but for one pass that has no option: on x86,
# live range shrinking moves an instruction up to its operands if these are read by nothing else.
SCHEDULERS = {
    "kept": ("-pre-RA-sched=source", "-enable-misched=false", "-twoaddr-reschedule=false"),
    "default": (),
    "source": ("-pre-RA-sched=source",),
    **{name: (f"-pre-RA-sched={name}", "-enable-misched=false") for name in ("list-burr", "list-hybrid", "list-ilp")},
    **{f"{name}-machine": (f"-pre-RA-sched={name}",) for name in ("list-burr", "list-hybrid", "list-ilp")},
}


def read(content: bytes) -> str:
    """Verified code as text in which every result has a name. What LLVM knows about memory goes to standard error."""
    for option in ("-print-all-alias-modref-info", "-evaluate-aa-metadata"):
        llvm.set_option("", option)
    module = _parsed(content)
    module.verify()
    for function in module.functions:
        for block in function.blocks:
            for instruction in block.instructions:
                if not instruction.name and str(instruction.type) != "void":
                    instruction.name = "v"  # LLVM adds a number
    builder = llvm.create_pass_builder(_machine(module.triple, ""), llvm.PipelineTuningOptions())
    manager = llvm.create_new_module_pass_manager()
    manager.add_aa_eval_pass()
    manager.run(module, builder)
    return str(module)


def emit(content: bytes, scheduler: str, processor: str) -> str:
    """Assembly of the code. scheduler: of SCHEDULERS; processor: a name of LLVM's, or host."""
    for option in SCHEDULERS[scheduler]:
        llvm.set_option("", option)
    module = _parsed(content)
    machine = _machine(module.triple, processor)
    machine.set_asm_verbosity(True)
    assembly: str = machine.emit_assembly(module)
    return assembly


def _parsed(content: bytes) -> llvm.ModuleRef:
    if content.startswith((b"BC\xc0\xde", b"\xde\xc0\x17\x0b")):
        return llvm.parse_bitcode(content)
    return llvm.parse_assembly(content.decode())


def _machine(triple: str, processor: str) -> llvm.TargetMachine:
    target = llvm.Target.from_triple(triple or llvm.get_default_triple())
    if processor == "host":
        features = llvm.get_host_cpu_features().flatten()
        return target.create_target_machine(llvm.get_host_cpu_name(), features, opt=3, reloc="pic", codemodel="default")
    return target.create_target_machine(processor, "", opt=3, reloc="pic", codemodel="default")


def main() -> None:
    """Do the job that the command line names. The exit code is 1 for code that LLVM refuses, with its words."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    job, *words = sys.argv[1:]
    try:
        content = sys.stdin.buffer.read()
        sys.stdout.write(read(content) if job == "read" else emit(content, *words))
    except (RuntimeError, UnicodeDecodeError) as error:
        sys.stderr.write(f"\nrefused: {error}")
        sys.exit(1)


if __name__ == "__main__":
    main()
