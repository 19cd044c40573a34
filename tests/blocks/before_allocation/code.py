"""Functions in LLVM's intermediate code, as compilers write them and odder."""

from __future__ import annotations

HEADER = 'target triple = "x86_64-pc-linux-gnu"\n'

MIXED = (
    HEADER
    + """
@table = global [4 x i64] [i64 3, i64 5, i64 7, i64 11]
@other = global [2 x i64] [i64 1, i64 9]

declare i64 @llvm.fshl.i64(i64, i64, i64) #1
declare i64 @outside(i64)
declare void @llvm.memcpy.p0.p0.i64(ptr noalias writeonly, ptr noalias readonly, i64, i1) #2

define i64 @mixed(ptr noalias %0, ptr %1, i64 %2) {
  %4 = load i64, ptr %1, align 8
  %5 = mul i64 %4, %2
  store i64 %5, ptr %0, align 8
  %6 = getelementptr inbounds i64, ptr %1, i64 1
  %7 = load i64, ptr %6, align 8
  %8 = call i64 @llvm.fshl.i64(i64 %7, i64 %5, i64 7)
  store i64 %8, ptr %1, align 8
  %9 = getelementptr inbounds [4 x i64], ptr @table, i64 0, i64 2
  %10 = load i64, ptr %9, align 8
  %11 = or i64 %10, 1
  %12 = udiv i64 %8, %11
  %13 = load i64, ptr @other, align 8
  %14 = add i64 %12, %13
  store i64 %14, ptr @other, align 8
  %15 = load i64, ptr %0, align 8
  %16 = xor i64 %14, %15
  ret i64 %16
}

attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nounwind willreturn memory(argmem: readwrite) }
"""
)

LOOPS = (
    HEADER
    + """
define double @loops(ptr %x, ptr noalias %y, i64 %n) {
entry:
  %empty = icmp eq i64 %n, 0
  br i1 %empty, label %"the end", label %body

body:                                             ; preds = %body, %entry
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %sum = phi double [ 0.0, %entry ], [ %more, %body ]
  %from = getelementptr inbounds double, ptr %x, i64 %i
  %a = load double, ptr %from, align 8
  %to = getelementptr inbounds double, ptr %y, i64 %i
  %b = load double, ptr %to, align 8
  %scaled = fmul double %a, 1.5
  %product = fmul double %scaled, %b
  store double %product, ptr %to, align 8
  %more = fadd double %sum, %product
  %next = add nuw i64 %i, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %"the end", label %body

"the end":                                        ; preds = %body, %entry
  %"a result" = phi double [ 0.0, %entry ], [ %more, %body ]
  %twice = fadd double %"a result", %"a result"
  %last = fsub double %twice, 1.0
  ret double %last
}
"""
)

OBSERVED = (
    HEADER
    + """
@counter = global i64 0

declare void @outside()
declare void @may_end()
declare void @llvm.assume(i1) #0
declare void @llvm.lifetime.start.p0(ptr) #1

define i64 @observed(ptr %p, i64 %n) {
  %a = load volatile i64, ptr %p, align 8
  %b = load i64, ptr @counter, align 8
  %c = udiv i64 %n, %a
  call void @may_end()
  %d = udiv i64 %n, %b
  store atomic i64 %d, ptr %p seq_cst, align 8
  %e = add i64 %d, %n
  call void asm sideeffect "nop", ""()
  %f = mul i64 %e, %c
  ret i64 %f
}

attributes #0 = { nocallback nofree nosync nounwind willreturn memory(inaccessiblemem: write) }
attributes #1 = { nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
"""
)


def rounds(count: int, name: str = "rounds") -> str:
    """A function that hashes as SHA-512 does, in so many rounds: more values live than registers hold."""
    lines: list[str] = []

    def value(text: str) -> str:
        lines.append(f"  %v{len(lines)} = {text}")
        return f"%v{len(lines) - 1}"

    def add(*terms: str) -> str:
        total = terms[0]
        for term in terms[1:]:
            total = value(f"add i64 {total}, {term}")
        return total

    def rotated(word: str, bits: int) -> str:
        return value(f"or i64 {value(f'lshr i64 {word}, {bits}')}, {value(f'shl i64 {word}, {64 - bits}')}")

    def xor(first: str, second: str) -> str:
        return value(f"xor i64 {first}, {second}")

    places = [value(f"getelementptr inbounds i64, ptr %state, i64 {i}") for i in range(8)]
    a, b, c, d, e, f, g, h = (value(f"load i64, ptr {place}, align 8") for place in places)
    start = [a, b, c, d, e, f, g, h]
    words = [value(f"getelementptr inbounds i64, ptr %words, i64 {i}") for i in range(count)]
    words = [value(f"load i64, ptr {word}, align 8") for word in words]
    for word in words:
        choice = xor(g, value(f"and i64 {e}, {xor(f, g)}"))
        first = add(h, xor(xor(rotated(e, 14), rotated(e, 18)), rotated(e, 41)), choice, word)
        either = value(f"or i64 {a}, {b}")
        most = value(f"or i64 {value(f'and i64 {a}, {b}')}, {value(f'and i64 {c}, {either}')}")
        second = add(xor(xor(rotated(a, 28), rotated(a, 34)), rotated(a, 39)), most)
        a, b, c, d, e, f, g, h = add(first, second), a, b, c, add(d, first), e, f, g
    for place, before, after in zip(places, start, (a, b, c, d, e, f, g, h), strict=True):
        total = add(before, after)
        lines.append(f"  store i64 {total}, ptr {place}, align 8")
    body = "\n".join(lines)
    return f"define void @{name}(ptr noalias %state, ptr noalias readonly %words) {{\n{body}\n  ret void\n}}\n"


def crowded(count: int, name: str = "crowded") -> str:
    """A function that computes all values before it reads the first; LLVM's default moves them to their readers."""
    values = range(count)
    loads = [f"  %a{i} = getelementptr i64, ptr %p, i64 {i}\n  %x{i} = load i64, ptr %a{i}\n" for i in values]
    products = [f"  %y{i} = mul i64 %x{i}, {2 * i + 3}\n" for i in values]
    sums = [f"  %s{i} = xor i64 {f'%s{i - 1}' if i else '%n'}, %y{i}\n" for i in values]
    differences = [f"  %t{i} = sub i64 %y{i}, {f'%t{i - 1}' if i else '%n'}\n" for i in values]
    body = "".join([*loads, *products, *sums, *differences])
    last = f"  %u = mul i64 %s{count - 1}, %t{count - 1}\n  ret i64 %u\n"
    return f"define i64 @{name}(ptr %p, i64 %n) {{\n{body}{last}}}\n"
