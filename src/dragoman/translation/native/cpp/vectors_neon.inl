// The operations on one vector of 4 that kernels.inl and products_neon.inl need, for NEON.

constexpr int WIDTH = 4;
constexpr int OFFSET = 0;

typedef float Float __attribute__((vector_size(16)));
typedef int32_t Int __attribute__((vector_size(16)));

inline Float splat(float x) { return (Float)vdupq_n_f32(x); }

inline Float load(const void* p) { return (Float)vld1q_f32((const float*)p); }

inline Float widen(const uint16_t* p) { return (Float)vshlq_n_u32(vmovl_u16(vld1_u16(p)), 16); }

inline Int load_int(const void* p) { return (Int)vld1q_u8((const uint8_t*)p); }

inline void store(float* p, Float v) { vst1q_f32(p, (float32x4_t)v); }

inline Float load_part(const float* p, int64_t n, float rest) {
    Float v = splat(rest);
    if (n > 0) v[0] = p[0];
    if (n > 1) v[1] = p[1];
    if (n > 2) v[2] = p[2];
    return v;
}

inline void store_part(float* p, Float v, int64_t n) {
    if (n > 0) p[0] = v[0];
    if (n > 1) p[1] = v[1];
    if (n > 2) p[2] = v[2];
}

inline Float fma(Float a, Float b, Float c) { return (Float)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b); }

// fmax would return NaN if only a is NaN.
inline Float max(Float a, Float b) { return a > b ? a : b; }

inline uint32_t above(Float a, Float b) { return vaddvq_u32((uint32x4_t)((a > b) & Int{1, 2, 4, 8})); }

inline float total(Float v) { return vaddvq_f32((float32x4_t)v); }

inline float greatest(Float v) { return vmaxvq_f32((float32x4_t)v); }

inline Float add_neighbours(Float a, Float b) { return (Float)vpaddq_f32((float32x4_t)a, (float32x4_t)b); }

inline Float totals(const Float* v) { return add_neighbours(add_neighbours(v[0], v[1]), add_neighbours(v[2], v[3])); }
