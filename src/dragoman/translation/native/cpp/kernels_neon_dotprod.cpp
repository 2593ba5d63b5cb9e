// The loops for ARM processors that multiply four bytes at once: those of NEON, but for the product of int8.
//
// Instructions that not all processors have are written in assembly, because older compilers hide their intrinsics
// unless the whole file is compiled for such a processor.
#if defined(__aarch64__)
#include <arm_neon.h>
#include <string.h>

#include "kernels.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("dotprod"))), apply_to = function)
#else
#pragma GCC target("arch=armv8.2-a+dotprod")
#endif

namespace dragoman {

const Kernels* neon_kernels();

namespace {

#include "vectors_neon.inl"
#include "products_neon.inl"

struct DotFours : DotLanes<Int> {
    template <int J> static void add(Int& sum, Int w, Int x) {
        __asm__("sdot %0.4s, %1.16b, %2.4b[%3]" : "+w"(sum) : "w"(w), "w"(x), "i"(J));
    }
};

void product(const Packed& w, const Input& input, int64_t rows, int64_t first, int64_t last, float* out,
             int64_t stride) {
    if (w.type == Type::int8) return multiply<DotFours>(w, input, rows, first, last, out, stride);
    neon_kernels()->product(w, input, rows, first, last, out, stride);
}

Kernels make_table() {
    Kernels table = *neon_kernels();
    table.name = "neon-dotprod";
    table.product = product;
    return table;
}

}  // namespace

const Kernels* neon_dotprod_kernels() {
    static const Kernels table = make_table();
    return &table;
}

}  // namespace dragoman

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
