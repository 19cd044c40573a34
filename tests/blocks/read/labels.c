// Labels whose addresses are values, switches that become tables, a jump buffer, and a variable of each thread.
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static jmp_buf back;
static __thread int calls = 3;
struct node { struct node *left, *right; int key; double weight; };

__attribute__((noinline)) static int addresses(const unsigned char *program, int x) {
    static const void *const table[] = {&&add, &&scale, &&take, &&mix, &&end};
    int a = x, b = 1, c[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    goto *table[*program++];
add: a += b; b = a ^ c[a & 7]; goto *table[*program++];
scale: b *= 3; c[b & 7] += a; goto *table[*program++];
take: a -= c[3]; c[2] = a; goto *table[*program++];
mix: a = a * 5 + b; goto *table[*program++];
end: return a + b + c[1] + c[2] + c[5];
}

__attribute__((noinline)) static int distances(const unsigned char *program, int x) {
    static const int table[] = {&&add - &&add, &&mix - &&add, &&take - &&add, &&end - &&add};
    int a = x, b = 2, c[4] = {9, 8, 7, 6};
    goto *(&&add + table[*program++]);
add: a += b * c[1]; c[0] = a; goto *(&&add + table[*program++]);
mix: b ^= a; c[2] += b; goto *(&&add + table[*program++]);
take: a -= 3 * c[2]; c[1] = b; goto *(&&add + table[*program++]);
end: return a ^ b ^ c[0];
}

__attribute__((noinline)) int choose(int x, int *p, const char *text) {
    calls++;
    switch (x) {
    case 0: p[1] = p[2] + 3; return p[0] * 7 + (int)strlen(text);
    case 1: p[3] += 2; // fall through
    case 2: p[4] += p[3]; // fall through
    case 3: return abs(p[1]) + p[4];
    case 4: p[0] = 1; return 4;
    case 5: case 9: p[7] = p[6]; return p[9] ^ p[8];
    case 7: longjmp(back, (p[2] & 7) | 1);
    case 12: return p[0] - p[1];
    default: return -1;
    }
}

__attribute__((noinline)) struct node *grow(struct node *tree, int key) {
    if (!tree) {
        tree = malloc(sizeof *tree);
        tree->left = tree->right = 0;
        tree->key = key;
        tree->weight = key * 0.5;
        return tree;
    }
    if (key < tree->key) tree->left = grow(tree->left, key); else tree->right = grow(tree->right, key);
    tree->weight += 0.25;
    return tree;
}

__attribute__((noinline)) double total(struct node *tree) {
    return tree ? total(tree->left) + tree->weight * tree->key + total(tree->right) : 0;
}

__attribute__((noinline)) static void stir(unsigned *h, const unsigned char *text, int n) {
    for (int i = 0; i < n; i++) {
        unsigned t = h[0] ^ text[i];
        h[0] = (h[1] << 5 | h[1] >> 27) + h[2];
        h[1] = (h[2] ^ t) * 2654435761u;
        h[2] = h[3] + (t >> 3);
        h[3] = t + h[0];
    }
}

int main(void) {
    unsigned char program[64], text[256];
    unsigned h[4] = {1, 2, 3, 4};
    int p[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    for (int i = 0; i < 63; i++) program[i] = (i * 7 + i / 3) % 4;
    program[63] = 4;
    printf("%d\n", addresses(program, 5));
    for (int i = 0; i < 63; i++) program[i] = (i * 7 + i / 3) % 3;
    program[63] = 3;
    printf("%d\n", distances(program, 5));
    for (volatile int i = -1; i < 14; i++) {
        int way = setjmp(back);
        if (way) printf("jumped %d\n", way); else printf("%d\n", choose(i, p, "hello"));
    }
    struct node *tree = 0;
    for (unsigned k = 0, s = 12345; k < 300; k++) tree = grow(tree, (s = s * 1103515245 + 12345) >> 8 & 1023);
    for (int k = 0; k < 256; k++) text[k] = k * k;
    stir(h, text, 256);
    printf("%g %x %x %x %x %d\n", total(tree), h[0], h[1], h[2], h[3], calls);
    return 0;
}
