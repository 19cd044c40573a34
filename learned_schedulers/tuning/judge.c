/* The judge in a program that is tuned: a dispatcher calls `learned_schedulers_next` whenever a burst of calls is over.
 *
 * Each site, a function with a dispatcher, has candidates in an image, a file of the folder that the environment names.
 * The image is mapped near the program, and its addresses are filled in from the site's table. A burst is a number of
 * calls of one candidate: some to warm up, then those that count. The clock is read at the two ends of what counts, so
 * that a candidate's time is that of the program from call to call. After each round of all candidates their sequence
 * is drawn anew. What was measured is appended to a file that is mapped, too, and stays whatever becomes of the process.
 *
 * Without the variable, or if anything is not as it should be, the program runs its own function for ever.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <x86intrin.h>

#define FOR_EVER (UINT64_C(1) << 62)
#define NEAR (UINT64_C(1) << 30)
#define STEP (UINT64_C(1) << 24)
#define MOST_CALLS 4096 /* of a burst */
#define LONG 16         /* bursts' ticks: a call that takes so many needs no other one to warm up */

struct fixup { /* an address that the program decides */
    uint64_t place;    /* in the content */
    uint32_t bits;     /* 64: an address; 32: a distance from the place */
    uint32_t external; /* of the site's table; its number of entries: the content itself */
    int64_t addend;
};

struct image { /* the head of a file; then the entries of the candidates, the fixups, and the content at a new page */
    uint64_t magic, content, bytes, candidates, fixups;
    uint64_t frames; /* place of the unwinding rows in the content; 0 without */
    uint64_t ticks;  /* of a burst, at least */
    uint64_t seed, site;
};

struct burst {
    uint16_t site, position; /* in its round */
    uint32_t candidate, calls, thread;
    uint64_t ticks;
};

struct results {
    atomic_uint_fast64_t count;
    uint64_t capacity;
    struct burst bursts[];
};

struct site {
    const char *name; /* of its image */
    void *standing;   /* the program's own function */
    void *const *externals;
    uint64_t number_of_externals;
    _Atomic(struct loaded *) loaded;
};

struct loaded { /* of a site, for all threads */
    const struct image *image; /* none: the program's own function runs for ever */
    char *content;
    const uint64_t *entries;
    struct results *results;
};

/* Of the unwinder, where the program has one. */
extern void __register_frame(void *) __attribute__((weak));

enum phase { SIZING, WARMING, COUNTING };

struct state { /* of a site, in a thread */
    struct loaded *loaded;
    enum phase phase, first; /* first: of each burst */
    uint32_t calls, position, thread;
    uint64_t began, random;
    uint32_t sequence[];
};

static struct loaded nothing;

static uint64_t now(void) {
    unsigned processor;
    uint64_t ticks = __rdtscp(&processor);
    _mm_lfence();
    return ticks;
}

static void *mapped(const char *folder, const char *name, int write, uint64_t *bytes) {
    char path[4096];
    struct stat status;
    if (strlen(folder) + strlen(name) + 2 > sizeof path) return NULL;
    strcat(strcat(strcpy(path, folder), "/"), name);
    int file = open(path, (write ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (file < 0) return NULL;
    void *memory = MAP_FAILED;
    if (fstat(file, &status) == 0 && status.st_size > 0) {
        *bytes = (uint64_t)status.st_size;
        memory = mmap(NULL, *bytes, write ? PROT_READ | PROT_WRITE : PROT_READ, write ? MAP_SHARED : MAP_PRIVATE, file, 0);
    }
    close(file);
    return memory == MAP_FAILED ? NULL : memory;
}

static char *near(const void *place, uint64_t bytes) {
    uint64_t middle = (uint64_t)place & ~(STEP - 1);
    for (uint64_t away = STEP; away < NEAR; away += STEP)
        for (int below = 0; below < 2; below++) {
            if (below && away >= middle) continue;
            char *wanted = (char *)(below ? middle - away : middle + away);
            char *memory = mmap(wanted, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
            if (memory == wanted) return memory;
            if (memory != MAP_FAILED) munmap(memory, bytes); /* a kernel that does not know the flag */
        }
    return NULL;
}

static int filled(char *content, const struct image *image, const struct fixup *fixups, const struct site *site) {
    for (uint64_t i = 0; i < image->fixups; i++) {
        const struct fixup *fixup = &fixups[i];
        if (fixup->external > site->number_of_externals || fixup->place + 8 > image->bytes) return 0;
        int own = fixup->external == site->number_of_externals;
        int64_t target = (int64_t)(own ? content : (char *)site->externals[fixup->external]) + fixup->addend;
        if (fixup->bits == 64)
            memcpy(content + fixup->place, &target, 8);
        else {
            int64_t distance = target - (int64_t)(content + fixup->place);
            int32_t shorter = (int32_t)distance;
            if (shorter != distance) return 0;
            memcpy(content + fixup->place, &shorter, 4);
        }
    }
    return 1;
}

static struct loaded *load(struct site *site) {
    const char *folder = getenv("LEARNED_SCHEDULERS_JUDGE");
    uint64_t bytes = 0, bytes_of_results = 0;
    const struct image *image = folder ? mapped(folder, site->name, 0, &bytes) : NULL;
    struct results *results = image ? mapped(folder, "results", 1, &bytes_of_results) : NULL;
    if (!results || bytes < sizeof *image || image->magic != UINT64_C(0x31656764756a736c) || !image->candidates
        || image->content > bytes || image->bytes > bytes - image->content)
        return &nothing;
    const uint64_t *entries = (const uint64_t *)(image + 1);
    char *content = near((const void *)site->standing, image->bytes);
    if (!content) return &nothing;
    memcpy(content, (const char *)image + image->content, image->bytes);
    if (!filled(content, image, (const struct fixup *)(entries + image->candidates), site)
        || mprotect(content, image->bytes, PROT_READ | PROT_EXEC))
        return &nothing;
    struct loaded *loaded = malloc(sizeof *loaded);
    if (!loaded) return &nothing;
    if (image->frames && __register_frame) __register_frame(content + image->frames);
    *loaded = (struct loaded){image, content, entries, results};
    return loaded;
}

static struct state *new_state(struct site *site) {
    static atomic_uint threads;
    struct loaded *loaded = atomic_load(&site->loaded);
    if (!loaded) {
        struct loaded *mine = load(site);
        loaded = NULL;
        if (atomic_compare_exchange_strong(&site->loaded, &loaded, mine)) loaded = mine;
    }
    if (!loaded->image) return NULL;
    uint64_t candidates = loaded->image->candidates;
    struct state *state = calloc(1, sizeof *state + candidates * sizeof *state->sequence);
    if (!state) return NULL;
    state->loaded = loaded;
    state->thread = atomic_fetch_add(&threads, 1);
    uint64_t drawn = loaded->image->seed + ((uint64_t)getpid() << 10) + state->thread; /* another one in each process */
    state->random = drawn * UINT64_C(0x9e3779b97f4a7c15) | 1;
    state->calls = 1;
    for (uint32_t i = 0; i < candidates; i++) state->sequence[i] = i;
    state->position = (uint32_t)candidates; /* the first round begins with a draw */
    return state;
}

static void draw(struct state *state) {
    for (uint32_t i = (uint32_t)state->loaded->image->candidates; i > 1; i--) {
        state->random ^= state->random << 13;
        state->random ^= state->random >> 7;
        state->random ^= state->random << 17;
        uint32_t other = (uint32_t)((state->random >> 32) % i), kept = state->sequence[i - 1];
        state->sequence[i - 1] = state->sequence[other];
        state->sequence[other] = kept;
    }
    state->position = 0;
}

static void append(struct state *state, uint64_t ticks) {
    struct results *results = state->loaded->results;
    uint64_t index = atomic_fetch_add(&results->count, 1);
    if (index < results->capacity)
        results->bursts[index] = (struct burst){
            (uint16_t)state->loaded->image->site, (uint16_t)state->position, state->sequence[state->position],
            state->calls, (uint32_t)getpid() << 10 | (state->thread & 1023), ticks}; /* a child has its parent's state */
}

/* left: calls until the next call of this; to: the function that they reach; both of this thread. */
__attribute__((weak, visibility("hidden"), cold, noinline))
void learned_schedulers_next(struct site *site, uint64_t *left, void **to, struct state **own) {
    uint64_t ended = now();
    struct state *state = *own;
    if (!state && !(state = *own = new_state(site))) {
        *left = FOR_EVER;
        return;
    }
    const struct image *image = state->loaded->image;
    switch (state->phase) {
    case SIZING: /* how many calls make a burst of the wanted length */
        if (state->began) {
            if (ended - state->began < image->ticks && state->calls < MOST_CALLS)
                state->calls *= 2;
            else {
                state->first = ended - state->began < LONG * image->ticks ? WARMING : COUNTING;
                break;
            }
        }
        *left = state->calls;
        state->began = now();
        return;
    case WARMING:
        state->phase = COUNTING;
        *left = state->calls;
        state->began = now();
        return;
    case COUNTING:
        append(state, ended - state->began);
        state->position++;
    }
    if (state->position >= image->candidates) draw(state);
    *to = state->loaded->content + state->loaded->entries[state->sequence[state->position]];
    state->phase = state->first;
    *left = state->phase == WARMING ? state->calls / 4 + 1 : state->calls;
    state->began = now();
}
