// The loops without special instructions: vectors of 4, which every processor of the last twenty years has.
#include <string.h>

#include "kernels.h"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace dragoman {
namespace {

constexpr int WIDTH = 4;
constexpr int SUMS = 12;
constexpr int OFFSET = 0;

typedef float Float __attribute__((vector_size(16)));
typedef int32_t Int __attribute__((vector_size(16)));

inline Float splat(float x) { return Float{x, x, x, x}; }

inline Float load(const void* p) {
    Float v;
    memcpy(&v, p, sizeof v);
    return v;
}

inline Float widen(const uint16_t* p) {
#if defined(__SSE2__)
    return (Float)_mm_unpacklo_epi16(__m128i{}, _mm_loadl_epi64((const __m128i*)p));
#else
    return (Float)(Int{p[0], p[1], p[2], p[3]} << 16);
#endif
}

inline Int load_int(const void* p) {
    Int v;
    memcpy(&v, p, sizeof v);
    return v;
}

inline void store(float* p, Float v) { memcpy(p, &v, sizeof v); }

inline Float load_part(const float* p, int64_t n, float rest) {
    Float v = splat(rest);
    for (int64_t i = 0; i < n; i++) v[i] = p[i];
    return v;
}

inline void store_part(float* p, Float v, int64_t n) {
    for (int64_t i = 0; i < n; i++) p[i] = v[i];
}

inline Float fma(Float a, Float b, Float c) { return a * b + c; }

inline Float max(Float a, Float b) { return a > b ? a : b; }

inline uint32_t above(Float a, Float b) {
#if defined(__SSE2__)
    return _mm_movemask_ps(_mm_cmpgt_ps(a, b));
#else
    Int greater = a > b;
    return (greater[0] & 1) | (greater[1] & 2) | (greater[2] & 4) | (greater[3] & 8);
#endif
}

inline float total(Float v) { return (v[0] + v[2]) + (v[1] + v[3]); }

inline float greatest(Float v) {
    float a = v[0] > v[1] ? v[0] : v[1], b = v[2] > v[3] ? v[2] : v[3];
    return a > b ? a : b;
}

inline Float totals(const Float* v) { return Float{total(v[0]), total(v[1]), total(v[2]), total(v[3])}; }

inline Int add_products(Int sum, Int w, Int x) {
#if defined(__SSE2__)
    __m128i even = _mm_madd_epi16(_mm_srai_epi16(_mm_slli_epi16((__m128i)w, 8), 8),
                                  _mm_srai_epi16(_mm_slli_epi16((__m128i)x, 8), 8));
    __m128i odd = _mm_madd_epi16(_mm_srai_epi16((__m128i)w, 8), _mm_srai_epi16((__m128i)x, 8));
    return sum + (Int)even + (Int)odd;
#else
    sum += (w >> 24) * (x >> 24);
    sum += ((w << 8) >> 24) * ((x << 8) >> 24);
    sum += ((w << 16) >> 24) * ((x << 16) >> 24);
    return sum + ((w << 24) >> 24) * ((x << 24) >> 24);
#endif
}

#include "kernels.inl"
#include "products.inl"
#include "bytes.inl"
#include "table.inl"

}  // namespace

const Kernels* portable_kernels() {
    static const Kernels table = table_of("portable");
    return &table;
}

}  // namespace dragoman
