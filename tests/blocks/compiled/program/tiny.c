/* Code of our own for the tests of the compiled corpus: calls, branches, unrolled and repeated work. Never run. */
#include <string.h>

extern int counter, limit;
extern double scale;
int apply(int value, const char *name);

int sums(const int *restrict a, int *restrict b, double *restrict c)
{
    b[0] = a[0] * 3 + a[1];
    b[1] = a[1] * 5 + a[2];
    b[2] = a[2] * 7 + a[3];
    c[0] = c[0] * scale + b[0];
    c[1] = c[1] * scale + b[1];
    return b[0] + b[1] + b[2];
}

int calls(int *a, int n)
{
    int total = counter;
    for (int i = 0; i < n; i++) {
        if (a[i] > limit)
            total += apply(a[i] * 3 + i, "large");
        else
            total -= a[i] ^ (total >> 3);
        counter = total;
    }
    return total;
}

void shift(unsigned char *to, const unsigned char *from, int n)
{
    for (int i = 0; i + 4 <= n; i += 4) {
        unsigned word = from[i] | from[i + 1] << 8 | from[i + 2] << 16 | (unsigned)from[i + 3] << 24;
        word = (word << 7) ^ (word >> 5) ^ 0x9e3779b9u;
        to[i] = word;
        to[i + 1] = word >> 8;
        to[i + 2] = word >> 16;
        to[i + 3] = word >> 24;
    }
}

double horner(const double *k, double x)
{
    double y = k[5];
    y = y * x + k[4];
    y = y * x + k[3];
    return (y * x + k[2]) * (x * x) + (k[1] * x + k[0]);
}

void fill(char *s, int a, int b)
{
    memset(s, 0, 48);
    s[a & 31] = b;
    s[b & 31] = a;
    apply(a + b, s);
    apply(a - b, s + 1);
}
