// The loops for processors that also multiply bfloat16: those of AVX-512, but for the product of this type.
#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "kernels.h"

#if defined(__clang__)
#pragma clang attribute push( \
    __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16"))), \
    apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16")
#endif

namespace dragoman {

const Kernels* avx512_kernels();

namespace {

#include "vectors_avx512.inl"
inline Int splat_int(int32_t x) { return (Int)_mm512_set1_epi32(x); }
#include "products.inl"

struct DotPairs {
    static constexpr int REGISTERS = SUMS;
    typedef Float Sum;
    static Sum add(Sum sum, Int w, Int x) { return _mm512_dpbf16_ps(sum, (__m512bh)x, (__m512bh)w); }
    static Float finish(Sum sum, const Packed&, const Input&, int64_t, int64_t) { return sum; }
};

void product(const Packed& w, const Input& input, int64_t rows, int64_t first, int64_t last, float* out,
             int64_t stride) {
    if (w.type == Type::bfloat16) return multiply<DotPairs>(w, input, rows, first, last, out, stride);
    avx512_kernels()->product(w, input, rows, first, last, out, stride);
}

Kernels make_table() {
    Kernels table = *avx512_kernels();
    table.name = "avx512-bf16";
    table.product = product;
    return table;
}

}  // namespace

const Kernels* avx512_bf16_kernels() {
    static const Kernels table = make_table();
    return &table;
}

}  // namespace dragoman

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
