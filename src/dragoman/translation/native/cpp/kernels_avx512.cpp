// The loops for processors with AVX-512 and VNNI.
#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "kernels.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"))), \
                             apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")
#endif

namespace dragoman {
namespace {

#include "vectors_avx512.inl"

#include "kernels.inl"
#include "products.inl"
#include "bytes.inl"
#include "table.inl"

}  // namespace

const Kernels* avx512_kernels() {
    static const Kernels table = table_of("avx512");
    return &table;
}

}  // namespace dragoman

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
