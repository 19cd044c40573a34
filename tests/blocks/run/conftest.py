from learned_schedulers.blocks.run.machine_code import assemble
from learned_schedulers.blocks.run.verification import Block
from learned_schedulers.blocks.run.verification_settings import Verification

SETTINGS = Verification(
    seed=5,
    blocks=100,
    control_blocks=20,
    sensitivity_blocks=50,
    orders=12,
    states=6,
    aliased_states=2,
    search_states=16,
)
MIXED = """mov 8(%rsi), %rax
    add $3, %rax
    cmp %rax, %rdx
    mov %rax, 16(%rdi)
    cmovg %rcx, %r8
    movsd (%r9), %xmm1
    mulsd %xmm1, %xmm2
    movsd %xmm2, 0x1000(%rip)
    lea (%rax, %r10, 4), %r11"""


def block(text: str, source: str = "made", address: int = 0x401230) -> Block:
    """A block from GAS text."""
    from learned_schedulers.blocks.dag.effects import decode_block

    code = assemble(text).code
    # A distinct id for distinct code, like the hash in the corpus.
    block_id = code.hex().ljust(32, "0")[-32:]
    return Block(block_id, source, "integer", len(decode_block(code)), code, address, True)
