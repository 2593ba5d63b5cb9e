// The loops for processors with AVX2 and FMA: vectors of 8.
#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "kernels.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c")
#endif

namespace dragoman {
namespace {

constexpr int OFFSET = 0;

#include "vectors_avx2.inl"

#include "kernels.inl"
#include "products.inl"
#include "pairs.inl"

}  // namespace

const Kernels* avx2_kernels() {
    static const Kernels table = table_of("avx2");
    return &table;
}

}  // namespace dragoman

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
