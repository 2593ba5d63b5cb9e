// The operations on one vector of 8 that kernels.inl and products.inl need, for AVX2 and FMA.

constexpr int WIDTH = 8;
constexpr int SUMS = 12;  // of 16 registers

typedef float Float __attribute__((vector_size(32)));
typedef int32_t Int __attribute__((vector_size(32)));

inline Float splat(float x) { return _mm256_set1_ps(x); }

inline Float load(const void* p) { return _mm256_loadu_ps((const float*)p); }

inline Float widen(const uint16_t* p) {
    return (Float)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i*)p)), 16);
}

inline Int load_int(const void* p) { return (Int)_mm256_loadu_si256((const __m256i*)p); }

inline void store(float* p, Float v) { _mm256_storeu_ps(p, v); }

inline __m256i lanes_below(int64_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(int(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

inline Float load_part(const float* p, int64_t n, float rest) {
    __m256i lanes = lanes_below(n);
    return _mm256_blendv_ps(_mm256_set1_ps(rest), _mm256_maskload_ps(p, lanes), _mm256_castsi256_ps(lanes));
}

inline void store_part(float* p, Float v, int64_t n) { _mm256_maskstore_ps(p, lanes_below(n), v); }

inline Float fma(Float a, Float b, Float c) { return _mm256_fmadd_ps(a, b, c); }

inline Float max(Float a, Float b) { return _mm256_max_ps(a, b); }

inline uint32_t above(Float a, Float b) { return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ)); }

inline float total(Float v) {
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

inline float greatest(Float v) {
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

inline Float totals(const Float* v) {
    __m256 a = _mm256_hadd_ps(_mm256_hadd_ps(v[0], v[1]), _mm256_hadd_ps(v[2], v[3]));
    __m256 b = _mm256_hadd_ps(_mm256_hadd_ps(v[4], v[5]), _mm256_hadd_ps(v[6], v[7]));
    return _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
}
