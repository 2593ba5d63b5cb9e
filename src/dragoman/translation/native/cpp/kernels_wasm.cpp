// The loops for WebAssembly: vectors of 4. Not with relaxed SIMD: a fused product and sum is no faster here (docs/speed.md),
// and its last bit depends on the processor.
#if defined(__wasm_simd128__)
#include <string.h>
#include <wasm_simd128.h>

#include "kernels.h"

namespace dragoman {
namespace {

constexpr int WIDTH = 4;
constexpr int SUMS = 12;  // of 16 registers on x86-64
constexpr int OFFSET = 0;

typedef float Float __attribute__((vector_size(16)));
typedef int32_t Int __attribute__((vector_size(16)));

inline Float splat(float x) { return (Float)wasm_f32x4_splat(x); }

inline Float load(const void* p) { return (Float)wasm_v128_load(p); }

inline Float widen(const uint16_t* p) { return (Float)wasm_i32x4_shl(wasm_u32x4_load16x4(p), 16); }

inline Int load_int(const void* p) { return (Int)wasm_v128_load(p); }

inline void store(float* p, Float v) { wasm_v128_store(p, (v128_t)v); }

inline Float load_part(const float* p, int64_t n, float rest) {
    return Float{n > 0 ? p[0] : rest, n > 1 ? p[1] : rest, n > 2 ? p[2] : rest, rest};
}

inline void store_part(float* p, Float v, int64_t n) {
    for (int64_t i = 0; i < n; i++) p[i] = v[i];
}

inline Float fma(Float a, Float b, Float c) { return a * b + c; }

inline Float max(Float a, Float b) { return (Float)wasm_f32x4_pmax((v128_t)b, (v128_t)a); }

inline uint32_t above(Float a, Float b) { return wasm_i32x4_bitmask((v128_t)(a > b)); }

inline float total(Float v) { return (v[0] + v[2]) + (v[1] + v[3]); }

inline float greatest(Float v) {
    float a = v[0] > v[1] ? v[0] : v[1], b = v[2] > v[3] ? v[2] : v[3];
    return a > b ? a : b;
}

// In the order of total().
inline Float totals(const Float* v) {
    Float low = __builtin_shufflevector(v[0], v[1], 0, 1, 4, 5) + __builtin_shufflevector(v[0], v[1], 2, 3, 6, 7);
    Float high = __builtin_shufflevector(v[2], v[3], 0, 1, 4, 5) + __builtin_shufflevector(v[2], v[3], 2, 3, 6, 7);
    return __builtin_shufflevector(low, high, 0, 2, 4, 6) + __builtin_shufflevector(low, high, 1, 3, 5, 7);
}

inline v128_t even_bytes(Int v) { return wasm_i16x8_shr(wasm_i16x8_shl((v128_t)v, 8), 8); }

inline v128_t odd_bytes(Int v) { return wasm_i16x8_shr((v128_t)v, 8); }

inline Int add_products(Int sum, Int w, Int x) {
    return sum + (Int)wasm_i32x4_dot_i16x8(even_bytes(w), even_bytes(x)) +
           (Int)wasm_i32x4_dot_i16x8(odd_bytes(w), odd_bytes(x));
}

#include "kernels.inl"
#include "products.inl"
#include "bytes.inl"
#include "table.inl"

}  // namespace

const Kernels* wasm_kernels() {
    static const Kernels table = table_of("simd128");
    return &table;
}

}  // namespace dragoman
#endif
