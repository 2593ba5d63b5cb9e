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

void product(const Packed& w, const Input& input, int64_t rows, int64_t first, int64_t last, float* out,
             int64_t stride) {
    switch (w.type) {
        case Type::float32: return multiply<DotFloat32>(w, input, rows, first, last, out, stride);
        case Type::bfloat16: return multiply<DotBfloat16>(w, input, rows, first, last, out, stride);
        case Type::int8: return multiply<DotInt8>(w, input, rows, first, last, out, stride);
    }
}

}  // namespace

const Kernels* avx512_kernels() {
    static const Kernels table = {"avx512", prepare,          product,   normalise, add, activate,
                                  attend, attend_bfloat16, narrow, sum_exponentials, find_best, recur};
    return &table;
}

}  // namespace dragoman

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
