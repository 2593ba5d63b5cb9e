// The operations on one vector of 16 that kernels.inl and products.inl need, for AVX-512.

constexpr int WIDTH = 16;
constexpr int SUMS = 24;  // of 32 registers
// VNNI and AMX multiply unsigned by signed bytes: the inputs are stored with 128 added.
constexpr int OFFSET = 128;

typedef float Float __attribute__((vector_size(64)));
typedef int32_t Int __attribute__((vector_size(64)));

inline Float splat(float x) { return _mm512_set1_ps(x); }

inline Float load(const void* p) { return _mm512_loadu_ps(p); }

inline Float widen(const uint16_t* p) {
    return (Float)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)p)), 16);
}

inline Int load_int(const void* p) { return (Int)_mm512_loadu_si512(p); }

inline void store(float* p, Float v) { _mm512_storeu_ps(p, v); }

inline __mmask16 lanes_below(int64_t n) { return __mmask16((1u << n) - 1); }

inline Float load_part(const float* p, int64_t n, float rest) {
    return _mm512_mask_loadu_ps(_mm512_set1_ps(rest), lanes_below(n), p);
}

inline void store_part(float* p, Float v, int64_t n) { _mm512_mask_storeu_ps(p, lanes_below(n), v); }

inline Float fma(Float a, Float b, Float c) { return _mm512_fmadd_ps(a, b, c); }

inline Float max(Float a, Float b) { return _mm512_max_ps(a, b); }

inline uint32_t above(Float a, Float b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }

inline float total(Float v) { return _mm512_reduce_add_ps(v); }

inline float greatest(Float v) { return _mm512_reduce_max_ps(v); }

// Lane i of each quarter: the sum of the quarter of v[i].
inline __m512 quarter_totals(const Float* v) {
    __m512 a = _mm512_add_ps(_mm512_unpacklo_ps(v[0], v[1]), _mm512_unpackhi_ps(v[0], v[1]));
    __m512 b = _mm512_add_ps(_mm512_unpacklo_ps(v[2], v[3]), _mm512_unpackhi_ps(v[2], v[3]));
    return _mm512_add_ps(_mm512_shuffle_ps(a, b, 0x44), _mm512_shuffle_ps(a, b, 0xee));
}

inline __m512 add_quarters(__m512 a, __m512 b) {
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
}

inline Float totals(const Float* v) {
    return add_quarters(add_quarters(quarter_totals(v), quarter_totals(v + 4)),
                        add_quarters(quarter_totals(v + 8), quarter_totals(v + 12)));
}

inline Int add_products(Int sum, Int w, Int x) { return (Int)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)x, (__m512i)w); }
