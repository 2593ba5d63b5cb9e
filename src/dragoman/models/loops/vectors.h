// Vectors of float32 numbers as wide as the processor's, with GCC's vector extensions, so that GCC and Clang generate
// good code for it. Arithmetic is float32 whatever the tensors hold, but for attention in bf16 where the processor
// multiplies bf16. Threads come from OpenMP, as PyTorch's own do.
//
// In all files: B batch, H heads, T queries, S keys, D head width, R rows of a block, V vocabulary. A stride
// counts elements.

#pragma once

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// Numbers in a vector. Wider ones than the processor's do not stay in its registers.
#ifdef LANES // set by a test
#elif defined(__AVX512F__)
#define LANES 16
#elif defined(__AVX2__)
#define LANES 8
#else
#define LANES 4
#endif
#if defined(__AVX512BF16__) && LANES == 16
#define PAIRS_OF_BF16 // are multiplied by one instruction
#include <immintrin.h>
#endif

typedef uint16_t bf16;
typedef int64_t i64;
typedef float vec __attribute__((vector_size(4 * LANES)));
typedef int32_t ivec __attribute__((vector_size(4 * LANES)));
typedef uint32_t uvec __attribute__((vector_size(4 * LANES)));
// The same in memory, with any alignment and type.
typedef float loose __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef uint16_t halves __attribute__((vector_size(2 * LANES), aligned(2), may_alias));

#define INLINE static inline __attribute__((always_inline))
#define MIN(a, b) ((a) < (b) ? (a) : (b))

INLINE i64 up(i64 n) { return (n + LANES - 1) / LANES * LANES; }

INLINE vec all(float x) { return (vec){0} + x; }

INLINE vec where(ivec mask, vec yes, vec no) { return (vec)((mask & (ivec)yes) | (~mask & (ivec)no)); }

INLINE vec greater(vec a, vec b) { return where(a > b, a, b); }

INLINE vec load_f32(const float *at) { return *(const loose *)at; }
INLINE void store_f32(float *at, vec x) { *(loose *)at = x; }

INLINE vec load_bf16(const bf16 *at) {
    return (vec)(__builtin_convertvector(*(const halves *)at, uvec) << 16);
}

// Round to the nearest, ties to even. NaN stays NaN. Subnormal numbers may become zero.
#ifdef PAIRS_OF_BF16
INLINE void store_bf16(bf16 *at, vec x) {
    __m256bh y = _mm512_cvtneps_pbh((__m512)x);
    memcpy(at, &y, sizeof y);
}
#else
INLINE void store_bf16(bf16 *at, vec x) {
    uvec bits = (uvec)x, rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    ivec number = x == x;
    *(halves *)at = __builtin_convertvector((rounded & (uvec)number) | (0x7fc0 & ~(uvec)number), halves);
}
#endif

// The elements of x and y in turn, from their lower or their upper halves.
#ifdef __clang__
#define MIX(x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#else
#define MIX(x, y, ...) __builtin_shuffle(x, y, (ivec){__VA_ARGS__})
#endif
#if LANES == 16
#define LOWER(x, y) MIX(x, y, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define UPPER(x, y) MIX(x, y, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#elif LANES == 8
#define LOWER(x, y) MIX(x, y, 0, 8, 1, 9, 2, 10, 3, 11)
#define UPPER(x, y) MIX(x, y, 4, 12, 5, 13, 6, 14, 7, 15)
#else
#define LOWER(x, y) MIX(x, y, 0, 4, 1, 5)
#define UPPER(x, y) MIX(x, y, 2, 6, 3, 7)
#endif

// As many times as LANES can be halved.
#define EACH_HALVING _Pragma("GCC unroll 4") for (int left = LANES; left > 1; left /= 2)

INLINE float sum_of(vec x) {
    EACH_HALVING x = LOWER(x, x) + UPPER(x, x);
    return x[0];
}

INLINE float greatest_of(vec x) {
    EACH_HALVING x = greater(LOWER(x, x), UPPER(x, x));
    return x[0];
}

// e^x for x <= 0, to about an ulp; 0 below -87. As 2^(n + f), with Cephes' polynomial for e^r.
INLINE vec exponential(vec x) {
    vec kept = where(x < -87.0f, all(-87.0f), x);
    vec shifted = kept * 1.44269504f + 12582912.0f, n = shifted - 12582912.0f;
    vec r = kept - n * 0.693359375f + n * 2.12194440e-4f;
    vec y = all(1.9875691500e-4f);
    y = y * r + 1.3981999507e-3f;
    y = y * r + 8.3334519073e-3f;
    y = y * r + 4.1665795894e-2f;
    y = y * r + 1.6666665459e-1f;
    y = y * r + 5.0000001201e-1f;
    y = y * (r * r) + r + 1.0f;
    vec power = (vec)(((ivec)shifted + 127) << 23);
    return where(x < -87.0f, (vec){0}, y * power);
}

// Memory of this thread, kept between calls.
__attribute__((visibility("hidden"))) float *scratch(size_t floats);
