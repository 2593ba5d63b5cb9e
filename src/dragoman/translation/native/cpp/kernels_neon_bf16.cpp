// The loops for ARM processors that also multiply small matrices of bfloat16: those of the level below, but for this
// product. The instructions round sums to odd and take subnormal numbers as zeros.
#if defined(__aarch64__)
#include <arm_neon.h>
#include <string.h>

#include "kernels.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("bf16"))), apply_to = function)
#else
#pragma GCC target("arch=armv8.2-a+bf16")
#endif

namespace dragoman {

const Kernels* neon_i8mm_kernels();

namespace {

#include "vectors_neon.inl"
#include "products_neon.inl"

struct Matrices {
    static void multiply(Float& sum, Int x, Int w) {
        __asm__("bfmmla %0.4s, %1.8h, %2.8h" : "+w"(sum) : "w"(x), "w"(w));
    }
};

// For a single row. Two of these are defined to give the same sum as one of the above.
struct DotTwos : DotLanes<Float> {
    static constexpr int UNITS = 1;
    template <int J> static void add(Float& sum, Int w, Int x) {
        __asm__("bfdot %0.4s, %1.8h, %2.2h[%3]" : "+w"(sum) : "w"(w), "w"(x), "i"(J));
    }
};

Input prepare(const Packed& w, const float* x, int64_t stride, int64_t rows, void* buffer, float* scales) {
    const Input input = neon_i8mm_kernels()->prepare(w, x, stride, rows, buffer, scales);
    if (w.type == Type::bfloat16) pair_rows((char*)buffer, rows, 2 * w.depth);
    return input;
}

void product(const Packed& w, const Input& input, int64_t rows, int64_t first, int64_t last, float* out,
             int64_t stride) {
    if (w.type != Type::bfloat16) return neon_i8mm_kernels()->product(w, input, rows, first, last, out, stride);
    const int64_t paired = rows - rows % 2;
    multiply<DotPairs<Float, Matrices>>(w, input, paired, first, last, out, stride);
    multiply<DotTwos>(w, rows_from(input, paired, 2), rows - paired, first, last, out + paired * stride, stride);
}

Kernels make_table() {
    Kernels table = *neon_i8mm_kernels();
    table.name = "neon-bf16";
    table.prepare = prepare;
    table.product = product;
    return table;
}

}  // namespace

const Kernels* neon_bf16_kernels() {
    static const Kernels table = make_table();
    return &table;
}

}  // namespace dragoman

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
