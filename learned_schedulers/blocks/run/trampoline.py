"""The machine code around a block: load a state, run, save the state; and the handler that creates touched pages.

`run` and `fill` are called as C functions. `handler` handles SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGTRAP on a separate
stack. After an access to an address without a page it creates the page, filled by `fill`, and the access is repeated.
Every other fault ends the block at `leave`, and the reason is noted. This code does not use thread-local storage,
because FS may belong to the block.
"""

from __future__ import annotations

from functools import cache

from learned_schedulers.blocks.run import layout
from learned_schedulers.blocks.run.machine_code import MachineCode, assemble

_REGISTERS = ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", *(f"r{i}" for i in range(8, 16)), "flags"]
_GENERAL = [name for name in _REGISTERS if name not in ("rsp", "flags")]
_CALLEE_SAVED = ["rbx", "rbp", "r12", "r13", "r14", "r15"]  # by the System V calling convention

_RUN = """
run:                                    # uint64 run(void): the signal that ended the block, or 0
    {push}
    mov %rsp, HOST_STACK(%rip)
    stmxcsr HOST_MXCSR(%rip)
    mov FS_BASE(%rip), %rdx
    mov GS_BASE(%rip), %r8
    call segments
    movq $0, SIGNAL(%rip)
    mov FEATURES(%rip), %eax
    xor %edx, %edx
    xrstor64 IN_STATE(%rip)
    movq $1, RUNNING(%rip)
    push IN_flags(%rip)
    popfq
    {load}
    mov IN_rsp(%rip), %rsp
    jmp *ENTRY(%rip)

leave:                                  # every block jumps here at its end
    mov %rsp, OUT_rsp(%rip)
    mov HOST_STACK(%rip), %rsp
    pushfq
    popq OUT_flags(%rip)
    {save}
    cld
    movq $0, RUNNING(%rip)
    lea OUT_STATE(%rip), %rdi           # XSAVE may omit parts in their initial state
    mov $STATE_BYTES / 8, %ecx
    xor %eax, %eax
    rep stosq
    mov FEATURES(%rip), %eax
    xor %edx, %edx
    xsave64 OUT_STATE(%rip)
    movw $0, OUT_STATE + 6(%rip)        # opcode and addresses of the last x87 instruction:
    movq $0, OUT_STATE + 8(%rip)        # they move with the code
    movq $0, OUT_STATE + 16(%rip)
    movq $0, OUT_STATE + 512(%rip)      # the parts that XSAVE considers in use depend on the implementation
    fninit
    ldmxcsr HOST_MXCSR(%rip)
    mov HOST_FS_BASE(%rip), %rdx
    mov HOST_GS_BASE(%rip), %r8
    call segments
    mov SIGNAL(%rip), %rax
    {pop}
    ret

identify:                               # void identify(uint32 leaf, uint32 subleaf, uint32 out[4]): cpuid; 0: xgetbv
    push %rbx
    mov %rdx, %r8
    mov %edi, %eax
    mov %esi, %ecx
    test %edi, %edi
    jz 1f
    cpuid
    jmp 2f
1:  xgetbv
2:  mov %eax, (%r8)
    mov %ebx, 4(%r8)
    mov %ecx, 8(%r8)
    mov %edx, 12(%r8)
    pop %rbx
    ret

segments:                               # FS base rdx, GS base r8, if the block uses them
    cmpq $0, SEGMENTS(%rip)
    je 1f
    mov $158, %eax                      # arch_prctl
    mov $0x1002, %edi                   # ARCH_SET_FS
    mov %rdx, %rsi
    syscall
    mov $158, %eax
    mov $0x1001, %edi                   # ARCH_SET_GS
    mov %r8, %rsi
    syscall
1:  ret
"""

_HANDLER = """
handler:                                # void handler(int signal, siginfo_t *, ucontext_t *)
    cmpq $0, RUNNING(%rip)
    jne 1f
    mov $231, %eax                      # exit_group: a fault of the host itself
    mov $99, %edi
    syscall
1:  push %rdi
    push %rsi
    push %rdx
    cmp $11, %edi                       # SIGSEGV
    jne 2f
    cmpl $1, 8(%rsi)                    # SEGV_MAPERR: no page there
    jne 2f
    mov 16(%rsi), %rdi
    and $-4096, %rdi
    cmp $LOWEST, %rdi
    jb 2f
    mov $HIGHEST, %rax
    cmp %rax, %rdi
    jae 2f
    mov N_PAGES(%rip), %rax
    cmp $MAX_PAGES, %rax
    jae 2f
    lea PAGES(%rip), %rcx
    mov %rdi, (%rcx, %rax, 8)
    mov $9, %eax                        # mmap
    mov $4096, %esi
    mov $3, %edx                        # PROT_READ | PROT_WRITE
    mov $0x100022, %r10d                # MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE
    mov $-1, %r8
    xor %r9d, %r9d
    syscall
    cmp %rdi, %rax
    jne 2f
    incq N_PAGES(%rip)
    mov %rdi, %rsi
    call fill
    add $24, %rsp
    ret
2:  pop %rdx
    pop %rsi
    pop %rdi
    mov %edi, %edi
    mov %rdi, SIGNAL(%rip)
    movslq 8(%rsi), %rax
    mov %rax, SIGNAL_CODE(%rip)
    mov 16(%rsi), %rax
    mov %rax, FAULT_ADDRESS(%rip)
    mov 168(%rdx), %rax                 # the context's rip
    mov %rax, FAULT_RIP(%rip)
    lea leave(%rip), %rax
    mov %rax, 168(%rdx)
    ret

restorer:
    mov $15, %eax                       # rt_sigreturn
    syscall

fill:                                   # void fill(void *page, uint64 address): states.content
    mov $512, %ecx
    movabs $0x9E3779B97F4A7C15, %r9
    movabs $0xBF58476D1CE4E5B9, %r10
    movabs $0x94D049BB133111EB, %r11
1:  mov %rsi, %rax
    imul %r9, %rax
    add SEED(%rip), %rax
    mov %rax, %rdx
    shr $30, %rdx
    xor %rdx, %rax
    imul %r10, %rax
    mov %rax, %rdx
    shr $27, %rdx
    xor %rdx, %rax
    imul %r11, %rax
    mov %rax, %rdx
    shr $31, %rdx
    xor %rdx, %rax
    bt $62, %rax
    jc 2f
    and MASKS(%rip), %rax
    or MASKS + 8(%rip), %rax
    jmp 3f
2:  and MASKS + 16(%rip), %rax
    or MASKS + 24(%rip), %rax
3:  mov %rax, (%rdi)
    add $8, %rdi
    add $8, %rsi
    dec %ecx
    jnz 1b
    ret
"""


def _symbols() -> str:
    """Every constant of the layout as a symbol: offsets in the region relative to its start, others as numbers."""
    numbers = {"LOWEST", "HIGHEST", "MAX_PAGES", "STATE_BYTES"}
    sets = [
        f".set {name}, {'' if name in numbers else 'start + '}{value:#x}"
        for name, value in vars(layout).items()
        if name.isupper() and isinstance(value, int)
    ]
    for i, name in enumerate(_REGISTERS):
        sets.append(f".set IN_{name}, start + {layout.IN_REGISTERS + 8 * i:#x}")
        sets.append(f".set OUT_{name}, start + {layout.OUT_REGISTERS + 8 * i:#x}")
    return "\n".join(sets)


@cache
def trampoline() -> MachineCode:
    """Labels `run`, `leave`, `handler`, `restorer`, `fill`, `identify`; its data are at the offsets of `layout`."""
    run = _RUN.format(
        push="\n    ".join(f"push %{name}" for name in _CALLEE_SAVED),
        pop="\n    ".join(f"pop %{name}" for name in reversed(_CALLEE_SAVED)),
        load="\n    ".join(f"mov IN_{name}(%rip), %{name}" for name in _GENERAL),
        save="\n    ".join(f"mov %{name}, OUT_{name}(%rip)" for name in _GENERAL),
    )
    machine_code = assemble(f"start:\n{_symbols()}\n{run}{_HANDLER}")
    assert len(machine_code.code) <= layout.CODE_BYTES
    return machine_code
