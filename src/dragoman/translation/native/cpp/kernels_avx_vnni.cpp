// The loops for processors that multiply bytes in vectors of 8: those of AVX2, but for the product of int8.
// An older compiler leaves them out.
#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "kernels.h"

#if defined(DRAGOMAN_EMULATE_AVX_VNNI)
#define TARGET "avx2,fma,f16c"
#elif __has_include(<avxvnniintrin.h>)
#define TARGET "avx2,fma,f16c,avxvnni"
#endif

#if defined(TARGET)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target(TARGET))), apply_to = function)
#elif defined(DRAGOMAN_EMULATE_AVX_VNNI)
#pragma GCC target("avx2,fma,f16c")
#else
#pragma GCC target("avx2,fma,f16c,avxvnni")
#endif

namespace dragoman {
namespace {

// VNNI multiplies unsigned by signed bytes: the inputs are stored with 128 added.
constexpr int OFFSET = 128;

#include "vectors_avx2.inl"

#if defined(DRAGOMAN_EMULATE_AVX_VNNI)
// What the instruction is defined to do, for tests: unsigned bytes of x by signed ones of w, without saturation.
inline Int add_products(Int sum, Int w, Int x) {
    typedef uint32_t Words __attribute__((vector_size(32)));
    for (int shift = 0; shift < 32; shift += 8) sum += ((w << (24 - shift)) >> 24) * (Int)((Words)x >> shift & 255u);
    return sum;
}
#else
inline Int add_products(Int sum, Int w, Int x) {
    return (Int)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)x, (__m256i)w);
}
#endif

#include "kernels.inl"
#include "products.inl"
#include "bytes.inl"
#include "table.inl"

}  // namespace

const Kernels* avx_vnni_kernels() {
    static const Kernels table = table_of("avx-vnni");
    return &table;
}

}  // namespace dragoman

#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
namespace dragoman {

const Kernels* avx_vnni_kernels() { return nullptr; }

}  // namespace dragoman
#endif
#endif
