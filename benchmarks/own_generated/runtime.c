/* Calls the code of a generated program, does to it what other programs do to code, and prints what can be seen.

   Tables that the code brings along, each in a section of this name:
     entries      what to call                        exceptions, exceptions_rel   instructions that may fault, and where to go on
     patches      immediates to be written            alternatives                 instructions to be replaced
     jump_labels  nops that become jumps              kprobes                      instructions whose bytes are compared
     lengths      numbers that the assembler found    stack_maps                   registers that live across a call
     bugs         ud2 instructions, to be skipped     .note.stapsdt                probes, which stop at a nop
     ranges       code whose bytes are added up
*/
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

typedef uint64_t word;
/* faults: 0 none; 1: rsi is a pointer that some calls cannot read, and tables name the accesses; 2: no table does, and the
   memory is looked at when the handler has jumped out. */
struct entry { word code, name, mask, faults; };
struct exception { word at, fixup; };
struct relative { int32_t at, fixup; };
struct patch { word place; uint32_t value, size; };
struct alternative { int32_t original, replacement; uint16_t is_used; uint8_t original_bytes, replacement_bytes; };
struct jump_label { int32_t code, target; word is_on; };
struct kprobe { word address, bytes; };
struct stack_map { word address, mask, slot; };
struct bug { int32_t address; uint32_t line; };
struct state { word registers[16], vectors[16][2]; };

#define TABLE(type, name) \
    extern struct type __start_##name[] __attribute__((weak)), __stop_##name[] __attribute__((weak))
#define EACH(type, name, row) for (struct type *row = __start_##name; row < __stop_##name; row++)
TABLE(entry, entries);
TABLE(exception, exceptions);
TABLE(relative, exceptions_rel);
TABLE(patch, patches);
TABLE(alternative, alternatives);
TABLE(jump_label, jump_labels);
TABLE(kprobe, kprobes);
TABLE(kprobe, ranges);
TABLE(stack_map, stack_maps);
TABLE(bug, bugs);
extern word __start_lengths[] __attribute__((weak)), __stop_lengths[] __attribute__((weak));
extern char __executable_start[], etext[], __ehdr_start[];

enum { TRIALS = 6, CELLS = 64, PROBES = 256 };
static word memory[CELLS * 2];
static word hash;
static struct { word pc; char arguments[64]; } probes[PROBES];
static int n_probes;
/* Of the names rax, rcx, ..., r15 as x86 numbers them, the places in a signal's context. */
static const int places[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                               REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

sigjmp_buf *recovery;  /* where a fault that no table names goes on, if a function has said so */
extern void raise_fault(void) __attribute__((weak));  /* throws an exception */

static void mix(word value) { hash = (hash ^ value) * 0x100000001b3u; hash ^= hash >> 29; }
static void mix_bytes(const void *bytes, word count) { for (word k = 0; k < count; k++) mix(((const uint8_t *)bytes)[k]); }
static word drawn(word *seed) { *seed = *seed * 6364136223846793005u + 1442695040888963407u; return *seed ^ *seed >> 31; }
static void *relative(int32_t *place) { return (char *)place + *place; }

extern void invoke(struct state *, word);
asm(".text\n.globl invoke\n.type invoke, @function\ninvoke:\n.cfi_startproc\n"
    "push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n sub $8, %rsp\n .cfi_adjust_cfa_offset 56\n"
    "mov %rdi, invoked(%rip)\n mov %rsi, invoked+8(%rip)\n"
    ".irp k, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n movups 128+16*\\k(%rdi), %xmm\\k\n .endr\n"
    "mov (%rdi), %rax\n mov 8(%rdi), %rcx\n mov 16(%rdi), %rdx\n mov 24(%rdi), %rbx\n mov 40(%rdi), %rbp\n mov 48(%rdi), %rsi\n"
    ".irp k, 8,9,10,11,12,13,14,15\n mov 8*\\k(%rdi), %r\\k\n .endr\n"
    "mov 56(%rdi), %rdi\n cld\n call *invoked+8(%rip)\n"
    "push %rdi\n mov invoked(%rip), %rdi\n pop 56(%rdi)\n"
    "mov %rax, (%rdi)\n mov %rcx, 8(%rdi)\n mov %rdx, 16(%rdi)\n mov %rbx, 24(%rdi)\n mov %rbp, 40(%rdi)\n mov %rsi, 48(%rdi)\n"
    ".irp k, 8,9,10,11,12,13,14,15\n mov %r\\k, 8*\\k(%rdi)\n .endr\n"
    ".irp k, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n movups %xmm\\k, 128+16*\\k(%rdi)\n .endr\n"
    "cld\n add $8, %rsp\n pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n .cfi_adjust_cfa_offset -56\n ret\n"
    ".cfi_endproc\n.size invoke, .-invoke\n.local invoked\n.comm invoked, 16, 8\n");

/* A function that code calls where a collector of garbage may run: it looks up the return address, and the registers
   that the map names; rax stays, and nothing else changes. */
static void look_up(word *pushed, word *returns) {
    EACH(stack_map, stack_maps, row) if (row->address == *returns) {
        mix(row->mask + 1);
        for (int k = 0; k < 16; k++) if (row->mask >> k & 1) mix(pushed[k]);
        if (row->slot) mix(returns[row->slot]);
    }
}
void (*const looking)(word *, word *) __attribute__((used)) = look_up;
asm(".text\n.globl safepoint\n.type safepoint, @function\nsafepoint:\n.cfi_startproc\n"
    ".irp r, r15,r14,r13,r12,r11,r10,r9,r8,rdi,rsi,rbp,rsp,rbx,rdx,rcx,rax\n push %\\r\n .cfi_adjust_cfa_offset 8\n .endr\n"
    "mov %rsp, %rdi\n lea 128(%rsp), %rsi\n mov %rsp, %rbx\n .cfi_def_cfa_register %rbx\n and $-16, %rsp\n cld\n sub $256, %rsp\n"
    ".irp k, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n movups %xmm\\k, 16*\\k(%rsp)\n .endr\n call *looking(%rip)\n"
    ".irp k, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n movups 16*\\k(%rsp), %xmm\\k\n .endr\n"
    "mov %rbx, %rsp\n .cfi_def_cfa_register %rsp\n"
    ".irp r, rax,rcx,rdx,rbx\n pop %\\r\n .cfi_adjust_cfa_offset -8\n .endr\n lea 8(%rsp), %rsp\n .cfi_adjust_cfa_offset -8\n"
    ".irp r, rbp,rsi,rdi,r8,r9,r10,r11,r12,r13,r14,r15\n pop %\\r\n .cfi_adjust_cfa_offset -8\n .endr\n ret\n"
    ".cfi_endproc\n.size safepoint, .-safepoint\n");

static void stop(const char *reason) {
    if (write(1, reason, strlen(reason)) < 0) _exit(78);
    _exit(77);
}

static void mix_operand(const char *text, greg_t *registers) {
    static const char *const names[16] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                          "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
    long number = 0;
    int sign = 1;
    if (*text == '$') {
        if (*++text == '-') sign = -1, text++;
        while (*text >= '0' && *text <= '9') number = number * 10 + *text++ - '0';
        mix(sign * number);
        return;
    }
    if (*text == '-') sign = -1, text++;
    while (*text >= '0' && *text <= '9') number = number * 10 + *text++ - '0';
    int is_memory = *text == '(';
    text += is_memory + 1;
    for (int k = 0; k < 16; k++) {
        word bytes = strlen(names[k]);
        if (!strncmp(text, names[k], bytes) && (text[bytes] < '0' || text[bytes] > '9')) {
            word value = registers[places[k]];
            mix(is_memory ? *(word *)(value + sign * number) : value);
        }
    }
}

static void handle(int signal_number, siginfo_t *information, void *context) {
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    word at = registers[REG_RIP];
    (void)information;
    if (signal_number == SIGTRAP) {
        for (int k = 0; k < n_probes; k++) if (probes[k].pc == at - 1) {
            for (char *text = probes[k].arguments; *text;) {
                char *operand = strchr(text, '@');  /* size@operand, with spaces between the arguments */
                if (!operand) break;
                mix_operand(operand + 1, registers);
                text = operand;
                while (*text && *text != ' ') text++;
                while (*text == ' ') text++;
            }
            return;
        }
        stop("a trap at no probe\n");
    }
    if (signal_number == SIGILL) {
        EACH(bug, bugs, row) if ((word)relative(&row->address) == at) {
            mix(row->line);
            for (int k = 0; k < 16; k++) if (k != 4 && k != 6) mix(registers[places[k]] == (greg_t)memory ? 0 : registers[places[k]]);
            mix_bytes(memory, sizeof memory);
            registers[REG_RIP] += 2;
            return;
        }
        stop("an illegal instruction\n");
    }
    EACH(exception, exceptions, row) if (row->at == at) { registers[REG_RIP] = row->fixup; return; }
    EACH(relative, exceptions_rel, row) if ((word)relative(&row->at) == at) {
        registers[REG_RIP] = (word)relative(&row->fixup);
        return;
    }
    if (recovery) {
        mix_bytes(memory, sizeof memory);
        siglongjmp(*recovery, 1);
    }
    if (raise_fault) raise_fault();
    stop(signal_number == SIGFPE ? "an arithmetic fault that no table names\n" : "a fault that no table names\n");
}

/* The probes that the program's own file lists; each gets an int3 in place of its nop. */
static void install_probes(void) {
    int file = open("/proc/self/exe", O_RDONLY);
    struct stat status;
    if (file < 0 || fstat(file, &status)) stop("no program\n");
    char *image = mmap(0, status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    Elf64_Ehdr *header = (Elf64_Ehdr *)image;
    Elf64_Shdr *sections = (Elf64_Shdr *)(image + header->e_shoff);
    const char *names = image + sections[header->e_shstrndx].sh_offset;
    word load = header->e_type == ET_DYN ? (word)__ehdr_start : 0;
    for (int k = 0; k < header->e_shnum; k++) {
        if (strcmp(names + sections[k].sh_name, ".note.stapsdt")) continue;
        char *note = image + sections[k].sh_offset, *end = note + sections[k].sh_size;
        while (note < end && n_probes < PROBES) {
            Elf64_Nhdr *size = (Elf64_Nhdr *)note;
            char *description = note + sizeof *size + (size->n_namesz + 3) / 4 * 4;
            word pc;
            memcpy(&pc, description, 8);
            char *provider = description + 24, *probe = provider + strlen(provider) + 1;
            probes[n_probes].pc = pc + load;
            strncpy(probes[n_probes].arguments, probe + strlen(probe) + 1, 63);
            *(uint8_t *)(pc + load) = 0xcc;
            n_probes++;
            note = description + (size->n_descsz + 3) / 4 * 4;
        }
    }
}

static void change_code(void) {
    EACH(kprobe, kprobes, row) { hash = 1; mix_bytes((void *)row->address, row->bytes); printf("kprobe %016lx\n", hash); }
    EACH(kprobe, ranges, row) {
        word sum = 0, squares = 0;
        for (word k = 0; k < row->bytes; k++) {
            word byte = ((uint8_t *)row->address)[k];
            sum += byte, squares += byte * byte;
        }
        printf("range %lx %lx\n", sum, squares);
    }
    word page = (word)__executable_start & -4096ul, last = ((word)etext + 4095) & -4096ul;
    if (mprotect((void *)page, last - page, PROT_READ | PROT_WRITE | PROT_EXEC)) stop("no mprotect\n");
    EACH(patch, patches, row) memcpy((void *)row->place, &row->value, row->size);
    EACH(alternative, alternatives, row) if (row->is_used) {
        uint8_t *original = relative(&row->original);
        memcpy(original, relative(&row->replacement), row->replacement_bytes);
        memset(original + row->replacement_bytes, 0x90, row->original_bytes - row->replacement_bytes);
    }
    EACH(jump_label, jump_labels, row) if (row->is_on) {
        uint8_t *code = relative(&row->code);
        int32_t distance = (uint8_t *)relative(&row->target) - code - 5;
        *code = 0xe9;
        memcpy(code + 1, &distance, 4);
    }
    install_probes();
}

int main(void) {
    static char stack[1 << 16];
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    sigaltstack(&other, 0);
    int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    for (int k = 0; k < 5; k++) sigaction(signals[k], &action, 0);
    for (word *length = __start_lengths; length < __stop_lengths; length++) printf("length %ld\n", (long)*length);
    change_code();
    EACH(entry, entries, entry) {
        word number = entry - __start_entries;
        printf("%s", (char *)entry->name);
        fflush(stdout);
        for (volatile int trial = 0; trial < TRIALS; trial++) {
            static struct state state;
            word seed = number * 977 + trial;
            for (int k = 0; k < CELLS * 2; k++) memory[k] = trial & 1 ? drawn(&seed) >> 40 : drawn(&seed);
            for (int k = 0; k < 16; k++) state.registers[k] = trial & 1 ? drawn(&seed) >> 48 : drawn(&seed);
            for (int k = 0; k < 16; k++) for (int h = 0; h < 2; h++) {
                double value = (double)(int)drawn(&seed) / 1024;
                memcpy(&state.vectors[k][h], &value, 8);
            }
            state.registers[7] = (word)memory;  /* rdi */
            if (entry->faults) state.registers[6] = trial % 3 == 1 ? 8 : (word)(memory + CELLS);  /* rsi */
            hash = 1;
            sigjmp_buf jump;
            recovery = entry->faults == 2 ? &jump : 0;
            if (!sigsetjmp(jump, 0)) invoke(&state, entry->code);
            asm volatile("fninit\n ldmxcsr %0" : : "m"((int){0x1f80}));
            for (int k = 0; k < 16; k++) if (entry->mask >> k & 1) mix(state.registers[k]);
            if (entry->mask >> 16 & 1) mix_bytes(state.vectors, sizeof state.vectors);
            mix_bytes(memory, sizeof memory);
            printf(" %016lx", hash);
            fflush(stdout);
        }
        puts("");
    }
    return 0;
}
