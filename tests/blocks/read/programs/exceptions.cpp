// Exceptions thrown through several frames: destructors, rethrow, catch by base, cleanup of partly made objects.
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

static long digest = 7;
static void note(long value) { digest = digest * 31 + value; }

struct Guard {
    int id;
    explicit Guard(int id) : id(id) { note(id); }
    ~Guard() { note(-id); }
};

struct Shape {
    virtual ~Shape() { note(1000); }
    virtual double area(int k) const = 0;
};

struct Square : Shape {
    double side;
    explicit Square(double side) : side(side) {
        if (side < 0) throw std::invalid_argument("negative side");
    }
    double area(int k) const override {
        if (k == 13) throw std::out_of_range("thirteen");
        return side * side + k;
    }
};

__attribute__((noinline)) static int deep(int depth, int limit, const int *table) {
    Guard guard(depth);
    int a = table[depth & 7], b = table[(depth + 3) & 7];
    if (depth == limit) throw depth * 5 + a;
    int below = deep(depth + 1, limit, table) + a * b;
    note(below);
    return below - a;
}

__attribute__((noinline)) static int rethrow(int limit, const int *table) {
    Guard outer(500);
    try {
        Guard inner(501);
        return deep(0, limit, table);
    } catch (int &value) {
        note(value);
        if (value % 2) throw;
        return value;
    }
}

__attribute__((noinline)) static double shapes(int n) {
    std::vector<std::unique_ptr<Shape>> all;
    double sum = 0;
    for (int k = 0; k < n; k++) {
        try {
            all.push_back(std::make_unique<Square>(k % 5 == 4 ? -1.0 : k * 0.5));
            sum += all.back()->area(k);
        } catch (const std::logic_error &error) {
            sum -= error.what()[0];
        }
    }
    return sum;
}

__attribute__((noinline)) static int dispatch(int k) {
    switch (k % 9) {
    case 0: return k + 1;
    case 1: return k * 3;
    case 2: throw std::string("two");
    case 3: return k ^ 0x55;
    case 4: return k << 2;
    case 5: throw 'x';
    case 6: return -k;
    case 7: return k / 3;
    default: return 0;
    }
}

int main() {
    const int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
    for (int limit = 0; limit < 9; limit++) {
        try {
            note(rethrow(limit, table));
        } catch (int value) {
            note(value + 100000);
        }
    }
    std::map<std::string, int> counts;
    for (int k = 0; k < 40; k++) {
        try {
            note(dispatch(k));
        } catch (const std::string &text) {
            counts[text]++;
        } catch (...) {
            counts["other"]++;
        }
    }
    std::printf("%ld %.3f %d %d\n", digest, shapes(30), counts["two"], counts["other"]);
    return 0;
}
