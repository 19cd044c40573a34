"""One schema for every Parquet table."""

from __future__ import annotations

import pyarrow as pa

MOST_FOLLOWING = 4  # instructions behind a block, in table `following`
_indices = pa.list_(pa.int16())

SCHEMAS: dict[str, pa.Schema] = {
    # One row per file of a source that is eligible for ingestion, with the shard that reads it.
    "manifest": pa.schema(
        [
            ("source", pa.string()),
            ("program", pa.string()),  # path inside the artifact, or on disk for kind `files`
            ("artifact", pa.string()),  # file on disk, relative to the repository where inside it
            ("size_bytes", pa.int64()),
            ("shard", pa.int32()),
        ]
    ),
    # One row per basic block, unique in `block_id`.
    "blocks": pa.schema(
        [
            ("block_id", pa.string()),  # 32 hex digits: BLAKE2b of masked_code
            ("source", pa.string()),
            ("program", pa.string()),
            ("compiler", pa.string()),
            ("section", pa.string()),
            ("address", pa.uint64()),
            ("relocatable", pa.bool_()),  # from an object file: the addresses its code will have are not known
            ("n_instructions", pa.int16()),
            ("occurrences", pa.int32()),  # blocks equal after masking, this one included
            ("code", pa.binary()),  # as found; the only column that holds leaks
            ("masked_code", pa.binary()),  # rip displacements and absolute addresses zeroed
        ]
    ),
    # One row per block of compiled sources: the order in which GCC's last scheduling pass met it.
    "input_orders": pa.schema(
        [
            ("block_id", pa.string()),
            ("input_order", _indices),  # input_order[t]: index in GCC's final order of what stood in slot t before
        ]
    ),
    # One row per file that gave nothing, or not all it holds.
    "skipped": pa.schema(
        [
            ("source", pa.string()),
            ("program", pa.string()),
            ("reason", pa.string()),
            ("remedy", pa.string()),
        ]
    ),
    # One row per block. Instructions are numbered as GCC emitted them.
    "dags": pa.schema(
        [
            ("block_id", pa.string()),
            ("n_instructions", pa.int16()),
            ("before", pa.list_(pa.uint8())),  # edges of the transitive reduction: before[e] -> after[e]
            ("after", pa.list_(pa.uint8())),
            ("kinds", pa.list_(pa.uint16())),  # bit set of dependencies.Kind for each edge
            ("implied_before", pa.list_(pa.uint8())),  # the other direct conflicts: the reduction implies their order
            ("implied_after", pa.list_(pa.uint8())),
            ("implied_kinds", pa.list_(pa.uint16())),
            ("latencies", _indices),  # cycles, per instruction (dag/latencies.py)
            ("n_legal_orders", pa.float64()),  # a bound where not orders_exact
            ("orders_exact", pa.bool_()),  # the count is exact, up to rounding above 2**53
        ]
    ),
    # One row per block that takes part in an experiment.
    "splits": pa.schema(
        [
            ("block_id", pa.string()),
            ("split", pa.string()),  # training | development | test
            ("input_order", _indices),  # input_order[t]: GCC's index of the instruction shown in slot t
        ]
    ),
    # One row per block of a set of params.yaml's imitation.sets.
    "sets": pa.schema([("block_id", pa.string()), ("input_order", _indices)]),
    "vocabulary": pa.schema([("token", pa.string()), ("token_id", pa.int32()), ("count", pa.int64())]),
    # One row per block; token ids of its instructions in GCC's order, one after the other.
    "tokens": pa.schema(
        [
            ("block_id", pa.string()),
            ("token_ids", pa.list_(pa.int32())),
            ("tokens_per_instruction", _indices),
        ]
    ),
    # One row per distinct masked instruction, sorted by its bytes (models/instructions.py).
    "encodings": pa.schema(
        [
            ("code", pa.binary()),
            ("tokens", pa.list_(pa.string())),
            ("opcode", pa.int32()),  # iced_x86.Code
            ("address", pa.int64()),  # number of the registers of a memory operand; 0: none, 1: rip
            ("displacement", pa.int64()),  # bytes
            ("access_bytes", pa.int32()),
            ("immediate", pa.int64()),
            ("first_register", pa.int16()),  # iced_x86.Register, whole; 0: operand 0 is none
            ("second_register", pa.int16()),
        ]
    ),
    # One row per (instruction, processor model): what llvm-mca says of it (latency/machine.py).
    "machine_instructions": pa.schema(
        [
            ("code", pa.binary()),  # masked, as in table `encodings`
            ("machine", pa.string()),
            ("issue_width", pa.int16()),  # of the machine: micro-ops per cycle
            ("retire_width", pa.int16()),  # of the machine: instructions per cycle; 0: it issues in order
            ("pools", pa.list_(pa.int32())),  # of the machine: entries of the reorder buffer, registers of the files
            ("buffers", pa.list_(pa.int32())),  # of the machine: entries of the schedulers' buffers
            ("micro_ops", pa.int32()),
            ("latency", pa.int32()),  # cycles from issue to write-back
            ("units", _indices),  # that it holds, ascending
            ("unit_cycles", pa.list_(pa.int32())),  # for how long it holds each of them
            ("choices", pa.list_(_indices)),  # groups of units: of each it holds any one besides
            ("choice_cycles", pa.list_(pa.int32())),  # for how long
            ("reads", pa.list_(pa.uint64())),  # registers, three words of dag/resources.py
            ("late_reads", pa.list_(pa.uint64())),  # those wanted only when its load is back
            ("writes", pa.list_(pa.uint64())),
            ("double_reads", pa.list_(pa.uint64())),  # those that two of its operands read
            ("read_advance", pa.int16()),  # cycles by which its late reads come later
            ("memory", pa.string()),  # none | load | store (which may load as well)
            ("kept", pa.list_(pa.int32())),  # of each pool, from dispatch to retirement
            ("queued", pa.list_(pa.int32())),  # of each buffer, from dispatch to issue
            ("status", pa.string()),  # ok | unsupported: all zeros
            ("message", pa.string()),
        ]
    ),
    # One row per block, in the order of table blocks: rows of `encodings`.
    "instructions": pa.schema(
        [
            ("block_id", pa.string()),
            ("encodings", pa.list_(pa.int32())),  # as GCC emitted them
            ("following", pa.list_(pa.int32())),  # what stands behind the block, nearest first; empty where not known
        ]
    ),
    # One row per block, in the order of table blocks: what stands behind it in its program (corpus/following.py).
    "following": pa.schema(
        [
            ("block_id", pa.string()),
            ("code", pa.list_(pa.binary())),  # up to MOST_FOLLOWING masked instructions, without branches' distances
        ]
    ),
    # One row per (step, split) at which a training was measured.
    "history": pa.schema(
        [
            ("step", pa.int32()),
            ("split", pa.string()),
            ("loss", pa.float64()),  # mean cross-entropy per instruction, nats
            ("exact_match", pa.float64()),  # after Hungarian decoding
            ("valid_share", pa.float64()),
            ("learning_rate", pa.float64()),
        ]
    ),
    # One row per (block, decoder).
    "schedules": pa.schema(
        [
            ("block_id", pa.string()),
            ("decoder", pa.string()),  # hungarian | topological | expected_slots | best | none
            ("order", _indices),  # order[t]: GCC's index of the instruction in slot t; GCC's order is 0..n-1
            ("status", pa.string()),  # ok | violates | timed out | unsupported
            ("message", pa.string()),
        ]
    ),
    # One row per (block, valid order, machine model).
    "latency": pa.schema(
        [
            ("block_id", pa.string()),
            ("order", _indices),
            ("machine", pa.string()),
            ("cycles", pa.float64()),  # per iteration; NaN where the model does not know an instruction
            ("status", pa.string()),  # ok | unsupported
            ("message", pa.string()),
        ]
    ),
    # One row per block of a set: the best order known on a processor model.
    "optima": pa.schema(
        [
            ("block_id", pa.string()),
            ("order", _indices),  # order[t]: GCC's index of the instruction in slot t
            ("model_cycles", pa.int32()),  # of the order that was found, by this project's model of the processor
            ("bound", pa.int32()),  # no order takes fewer cycles on that model
            ("proven", pa.bool_()),  # the order is optimal on that model
            ("cycles", pa.float64()),  # by llvm-mca, as the next
            ("gcc_cycles", pa.float64()),  # of GCC's order
        ]
    ),
    # One row per slot of each order of a few blocks, on an in-order processor.
    "scheduling_examples": pa.schema(
        [
            ("rank", pa.int32()),  # of the block
            ("block_id", pa.string()),
            ("place", pa.int32()),  # of the order
            ("title", pa.string()),  # input | GCC | learned | best
            ("slot", pa.int32()),
            ("instruction", pa.string()),
            ("issue", pa.int32()),  # cycle, from 0
            ("latency", pa.int32()),  # cycles to write-back
            ("cycles", pa.int32()),  # of the whole pass
        ]
    ),
    # One row per (set, processor model, scheduler, decoder, range of lengths), of the first seed.
    "cycles_by_length": pa.schema(
        [
            ("split", pa.string()),
            ("machine", pa.string()),
            ("scheduler", pa.string()),
            ("decoder", pa.string()),
            ("seed", pa.string()),
            ("part", pa.string()),
            ("rank", pa.int32()),  # of the part
            ("ratio", pa.float64()),  # of cycles to those of GCC's order, geometric mean
            ("ci_low", pa.float64()),
            ("ci_high", pa.float64()),
            ("n_blocks", pa.int64()),
        ]
    ),
    # One row per (block, order) timed on hardware, GCC's order twice (execution/timing.py).
    "timings": pa.schema(
        [
            ("block_id", pa.string()),
            ("order", _indices),
            ("control", pa.bool_()),  # GCC's order for the second time
            ("random", pa.bool_()),  # drawn among the legal orders, whether or not a scheduler found it too
            ("cycles", pa.float64()),  # of an execution with the fence behind it: the fewest of all trials
            ("even_cycles", pa.float64()),  # the fewest of every other trial
            ("odd_cycles", pa.float64()),  # the fewest of the others
        ]
    ),
    # One row per block that was to be timed on hardware.
    "timed_blocks": pa.schema(
        [
            ("block_id", pa.string()),
            ("n_instructions", pa.int16()),
            ("reason", pa.string()),  # why it was not timed; empty where it was
            ("example", pa.string()),  # the instruction to blame
            ("pages", pa.int32()),  # of memory that it touches; what follows, too, is of timed blocks, else zero
            ("fence_cycles", pa.float64()),  # of an execution of nothing
            ("cycles_per_tick", pa.float64()),  # core cycles per tick of the time-stamp counter
            ("processor", pa.string()),  # of the machine
        ]
    ),
    # One row per (set, outcome): how many blocks were timed on hardware, and why the others were not.
    "hardware_outcomes": pa.schema(
        [
            ("split", pa.string()),
            ("outcome", pa.string()),  # timed, or the reason
            ("blocks", pa.int64()),
            ("example", pa.string()),  # the instruction to blame, of the first such block
            ("processor", pa.string()),
        ]
    ),
    # One row per number of test-time iterations of POPOCS (Figure 3), test split, Hungarian decoding.
    "sweep": pa.schema(
        [
            ("iterations", pa.int32()),
            ("seed", pa.string()),
            ("violations_per_block", pa.float64()),
            ("valid_share", pa.float64()),
            ("exact_match", pa.float64()),
            ("residual_median", pa.float64()),
        ]
    ),
    # One row per (example block, scheduler): the appendix's pictures.
    "examples": pa.schema(
        [
            ("block_id", pa.string()),
            ("scheduler", pa.string()),
            ("instructions", pa.list_(pa.string())),  # text, in input order
            ("proposal", pa.list_(pa.float64())),  # (n, n) row major; [i, j]: instruction i in slot j
            ("projected", pa.list_(pa.float64())),  # (n, n) row major
            ("order", _indices),  # Hungarian; order[t]: input index of the instruction in slot t
            ("gcc_order", _indices),  # the same for GCC
            ("before", _indices),  # edges, input indices
            ("after", _indices),
        ]
    ),
    # One row per (block, mode of dependencies): legal orders executed and compared with the original one.
    "verification": pa.schema(
        [
            ("block_id", pa.string()),
            ("source", pa.string()),
            ("instruction_class", pa.string()),  # execution/strata.py
            ("n_instructions", pa.int16()),
            ("dependencies", pa.string()),
            ("orders_tried", pa.int32()),  # without the original one
            ("states", pa.int32()),  # start states from which the original order ran
            ("aliased_states", pa.int32()),  # of them, those with pointers made to alias
            ("state_runs", pa.int64()),  # orders_tried * states
            ("outcome", pa.string()),  # equal | different | single order | not runnable
            ("different", pa.int64()),  # state-runs
            ("reason", pa.string()),  # why it is not runnable
            ("example", pa.string()),  # the instruction to blame
            ("undefined_flags_differ", pa.int64()),  # state-runs, equal but for flags that are undefined at the end
            ("different_order", _indices),  # the first one
            ("difference", pa.string()),  # what it changes
        ]
    ),
    # One row per (mode of dependencies, pair of neighbours with an edge): what swapping the two does.
    "sensitivity": pa.schema(
        [
            ("block_id", pa.string()),
            ("source", pa.string()),
            ("dependencies", pa.string()),
            ("position", pa.int16()),  # of the first of the two
            ("kinds", pa.uint16()),  # bit set of dependencies.Kind
            ("first", pa.string()),  # texts of the two
            ("second", pa.string()),
            ("outcome", pa.string()),  # changed | dead value | value coincidence | over-conservative edge | unexplained
            ("explanation", pa.string()),
        ]
    ),
    # One row per (length, kind of proposal, method, iterations): violations left by POPOCS (evidence/residuals.py).
    "residuals": pa.schema(
        [
            ("n_instructions", pa.int16()),
            ("proposal", pa.string()),  # softmax: rows of softmax(logits) | logits: as they are
            ("method", pa.string()),  # cyclic | extrapolated | extrapolated_alone | nearest
            ("iterations", pa.int32()),  # at most; 0 for nearest, which has none
            ("is_default", pa.bool_()),  # the operator's own number of iterations
            ("n_blocks", pa.int64()),
            ("edges_mean", pa.float64()),  # dependencies of a block
            ("residual_median", pa.float64()),  # over blocks: largest violation of any constraint, float32 results
            ("residual_p99", pa.float64()),
            ("residual_max", pa.float64()),
            ("within_share", pa.float64()),  # blocks whose residual is at or below the tolerance
            ("straggler_share", pa.float64()),  # blocks that the iterations leave above it, float64; else NaN
        ]
    ),
    # An imitator's confidence in its own orders: one row per block.
    "confidence": pa.schema(
        [
            ("block_id", pa.string()),
            ("confidence", pa.float64()),  # probability that the network gives to the order of its first decoder
            ("exact_match", pa.float64()),  # 1 where that order is GCC's
        ]
    ),
    # Exact match of parts of a set, tidy: one row per (scheduler, decoder, seed, part).
    "parts": pa.schema(
        [
            ("experiment", pa.string()),
            ("split", pa.string()),
            ("scheduler", pa.string()),
            ("decoder", pa.string()),
            ("seed", pa.string()),
            ("by", pa.string()),  # length | legal_orders | instruction_class | confidence
            ("part", pa.string()),
            ("rank", pa.int32()),  # of the part among its kind
            ("exact_match", pa.float64()),
            ("ci_low", pa.float64()),
            ("ci_high", pa.float64()),
            ("confidence", pa.float64()),  # mean; NaN where not known
            ("n_blocks", pa.int64()),
        ]
    ),
    # How well a single feature alone sorts independent instructions as GCC did: one row each (evidence/audit.py).
    "audit": pa.schema(
        [
            ("feature", pa.string()),
            ("group", pa.string()),  # token | node | pair | step | control | leak reference
            ("pairs", pa.int64()),  # of independent instructions that differ in it
            ("agreement", pa.float64()),  # share that GCC left in ascending order
            ("ci_low", pa.float64()),
            ("ci_high", pa.float64()),
            ("same_opcode_pairs", pa.int64()),
            ("same_opcode_agreement", pa.float64()),
        ]
    ),
    # Orders of blocks that are equal up to renaming: one row per notion of equal (evidence/ceiling.py).
    "ceiling": pa.schema(
        [
            ("notion", pa.string()),  # exact | registers | constants: what may be renamed
            ("lengths", pa.string()),  # instructions
            ("legal_orders", pa.string()),  # all | several: blocks with more than one
            ("members", pa.string()),  # blocks | occurrences: what is counted
            ("least", pa.int32()),  # members of a group that enters
            ("groups", pa.int64()),
            ("in_groups", pa.int64()),  # members
            ("total", pa.int64()),  # members of all groups, however small
            ("alone", pa.int64()),  # in no group but their own
            ("several_orders", pa.float64()),  # share of the groups that have more than one
            ("majority", pa.float64()),  # share of the members that have the commonest order of their group
            ("leave_one_out", pa.float64()),  # share that is guessed from the other members of the group
        ]
    ),
    # Blocks of a set that are equal up to renaming to one of the training set.
    "twins": pa.schema(
        [
            ("set", pa.string()),
            ("notion", pa.string()),
            ("legal_orders", pa.string()),
            ("n_blocks", pa.int64()),
            ("with_twin", pa.float64()),  # share of the blocks
            ("same_order", pa.float64()),  # with a twin of the same order
            ("different_order", pa.float64()),  # with a twin of another; a block may have both
            ("copied", pa.float64()),  # exact match of the twins' commonest order, of blocks with a twin
        ]
    ),
    # Wrong blocks of a scheduler, drawn at random: the first slot at which it leaves GCC's order (evidence/errors.py).
    "errors": pa.schema(
        [
            ("block_id", pa.string()),
            ("n_instructions", pa.int16()),
            ("category", pa.string()),  # the first of `holds`
            ("holds", pa.list_(pa.string())),  # all categories that are true of it
            ("detail", pa.string()),  # which way round GCC had it
            ("also_gcc", pa.string()),  # where GCC itself has the order predicted: the narrowest notion of equal blocks
            ("slot", pa.int16()),
            ("gcc_instruction", pa.string()),
            ("predicted_instruction", pa.string()),
            ("gcc_order", pa.string()),
            ("predicted_order", pa.string()),
            ("confidence", pa.float64()),  # NaN where not known
        ]
    ),
    # Their summary, tidy.
    "error_shares": pa.schema(
        [
            ("by", pa.string()),  # category | also_gcc
            ("name", pa.string()),
            ("n_blocks", pa.int64()),
            ("share", pa.float64()),
            ("ci_low", pa.float64()),
            ("ci_high", pa.float64()),
            ("n_holds", pa.int64()),  # of a category: blocks of which it is true, whatever comes first
        ]
    ),
    # Statistics of the corpus, tidy: one row per number (evidence/corpus.py).
    "corpus": pa.schema(
        [
            ("source", pa.string()),  # empty: all sources together
            ("program", pa.string()),  # empty: all programs of the source together
            ("statistic", pa.string()),
            ("bin", pa.string()),  # of a histogram: a length, a floor of log10, a kind; empty: a single number
            ("value", pa.float64()),
        ]
    ),
    # The published numbers, tidy (reports/results.csv has the same columns).
    "results": pa.schema(
        [
            ("experiment", pa.string()),
            ("dependencies", pa.string()),
            ("split", pa.string()),
            ("scheduler", pa.string()),
            ("decoder", pa.string()),
            ("seed", pa.string()),
            ("metric", pa.string()),
            ("value", pa.float64()),
            ("ci_low", pa.float64()),
            ("ci_high", pa.float64()),
            ("n_blocks", pa.int64()),
        ]
    ),
}
