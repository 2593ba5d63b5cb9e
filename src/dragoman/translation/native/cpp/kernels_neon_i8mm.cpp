// The loops for ARM processors that multiply small matrices of int8: those of the level below, but for this product.
#if defined(__aarch64__)
#include <arm_neon.h>
#include <string.h>

#include "kernels.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("i8mm"))), apply_to = function)
#else
#pragma GCC target("arch=armv8.2-a+i8mm")
#endif

namespace dragoman {

const Kernels* neon_dotprod_kernels();

namespace {

#include "vectors_neon.inl"
#include "products_neon.inl"

struct Matrices {
    static void multiply(Int& sum, Int x, Int w) {
        __asm__("smmla %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(x), "w"(w));
    }
};

Input prepare(const Packed& w, const float* x, int64_t stride, int64_t rows, void* buffer, float* scales) {
    const Input input = neon_dotprod_kernels()->prepare(w, x, stride, rows, buffer, scales);
    if (w.type == Type::int8) pair_rows((char*)buffer, rows, w.depth);
    return input;
}

void product(const Packed& w, const Input& input, int64_t rows, int64_t first, int64_t last, float* out,
             int64_t stride) {
    if (w.type != Type::int8) return neon_dotprod_kernels()->product(w, input, rows, first, last, out, stride);
    const int64_t paired = rows - rows % 2;
    multiply<DotPairs<Int, Matrices>>(w, input, paired, first, last, out, stride);
    if (paired < rows)
        neon_dotprod_kernels()->product(w, rows_from(input, paired, 1), 1, first, last, out + paired * stride, stride);
}

Kernels make_table() {
    Kernels table = *neon_dotprod_kernels();
    table.name = "neon-i8mm";
    table.prepare = prepare;
    table.product = product;
    return table;
}

}  // namespace

const Kernels* neon_i8mm_kernels() {
    static const Kernels table = make_table();
    return &table;
}

}  // namespace dragoman

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
