// Jump tables, variable arrays, variable arguments, longjmp, thread-local storage, inline assembly, SSE, callbacks.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __thread int calls;
__thread long total = 5;
static jmp_buf back;
struct point { int x, y; double weight; char name[12]; };

__attribute__((noinline)) static long sum(int n, ...) {
    va_list list;
    va_start(list, n);
    long result = 0;
    for (int k = 0; k < n; k++) result = result * 3 + (k & 1 ? (long)va_arg(list, double) : va_arg(list, int));
    va_end(list);
    calls++;
    return result;
}

__attribute__((noinline)) static int compare(const void *a, const void *b) {
    const struct point *p = a, *q = b;
    calls++;
    if (p->weight != q->weight) return p->weight < q->weight ? -1 : 1;
    return (p->x > q->x) - (p->x < q->x);
}

__attribute__((noinline)) static uint64_t rotate(uint64_t value, unsigned char by) {
#if defined(__x86_64__)
    __asm__("{rolq %%cl, %0|rol %0, cl}" : "+r"(value) : "c"(by) : "cc");
#endif
    return value;
}

__attribute__((noinline)) static long opcode(const unsigned char *program, int n) {
    long stack[16] = {0}, acc = 1;
    int top = 0;
    for (int k = 0; k < n; k++) {
        switch (program[k]) {
        case 0: acc += 3; break;
        case 1: acc *= 5; break;
        case 2: stack[top++ & 15] = acc; break;
        case 3: acc ^= stack[--top & 15]; break;
        case 4: acc = (long)rotate((uint64_t)acc, 7); break;
        case 5: if (acc & 1) longjmp(back, (int)(acc & 255) | 1); break;
        case 6: acc -= total++; break;
        default: acc = -acc;
        }
    }
    return acc;
}

__attribute__((noinline)) static double matrix(int n) {
    double a[n][n], trace = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) a[i][j] = (i * 7 + j * 3) % 11 - 5 + 0.25 * i;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) a[i][j] = a[i][j] * 0.5 + a[i][k] * a[k][j] * 0.01;
    for (int i = 0; i < n; i++) trace += a[i][i];
    return trace;
}

static struct point shifted(struct point p, int by) {
    p.x += by;
    p.y -= by;
    p.weight = p.weight / 2 + by;
    return p;
}

int main(void) {
    unsigned char program[200];
    struct point points[50];
    long result = sum(5, 1, 2.5, 3, 4.5, 5);
    for (int k = 0; k < 200; k++) program[k] = (unsigned char)(k * k * 31 + k) % 8;
    int jumped = setjmp(back);
    if (jumped == 0) result += opcode(program, 200);
    else result += jumped;
    for (int k = 0; k < 50; k++) {
        points[k] = (struct point){k * 17 % 23, k, (k * 29 % 31) * 0.5, "point"};
        points[k] = shifted(points[k], k % 3);
        snprintf(points[k].name + 5, sizeof points[k].name - 5, "%d", k);
    }
    qsort(points, 50, sizeof points[0], compare);
    for (int k = 0; k < 50; k++) result = result * 33 + points[k].x + (long)strlen(points[k].name) * points[k].y;
    printf("%ld %d %ld %.6f %s\n", result, calls, total, matrix(9), points[7].name);
    return 0;
}
