// Loops for the parts of a training step in which tensor operators are far from the machine's limit: attention
// over short sentences, the softmax of the loss, layer normalisation, dropout.
//
// This is C with GCC's vector extensions, so that GCC and Clang generate good code for the processor.
// Arithmetic is float32 whatever the tensors hold, but for attention in bf16 where the processor multiplies bf16.
// Threads come from OpenMP, as PyTorch's own do. The last part of the file is compiled twice, for float32 and for
// bfloat16 tensors.
//
// B batch, H heads, T queries, S keys, D head width, R rows of a block, V vocabulary. A stride counts
// elements.

#ifndef REAL

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __AVX512BF16__
#include <immintrin.h>
#endif

enum { LANES = 16, BLOCK = 64 }; // numbers in a vector; queries, or rows, processed together
#ifdef __AVX512F__
enum { ROWS = 8 }; // of a product, held in registers
#else
enum { ROWS = 4 };
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
#define EACH_ROW _Pragma("GCC unroll 16") for (int r = 0; r < ROWS; r++)

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
#ifdef __AVX512BF16__
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

// The elements of x and y at the given places: 0 to 15 are in x, 16 to 31 in y.
#ifdef __clang__
#define MIX(x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#else
#define MIX(x, y, ...) __builtin_shuffle(x, y, (ivec){__VA_ARGS__})
#endif
#define SWAP8(x) MIX(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
#define SWAP4(x) MIX(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11)
#define SWAP2(x) MIX(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)
#define SWAP1(x) MIX(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)

INLINE float sum_of(vec x) {
    x += SWAP8(x);
    x += SWAP4(x);
    x += SWAP2(x);
    x += SWAP1(x);
    return x[0];
}

INLINE float greatest_of(vec x) {
    x = greater(x, SWAP8(x));
    x = greater(x, SWAP4(x));
    x = greater(x, SWAP2(x));
    x = greater(x, SWAP1(x));
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

// Random words, a function of place and seed ("lowbias32", Wellons 2018).
INLINE uvec words(uvec place, uint32_t low, uint32_t high) {
    uvec x = (place + low) ^ high;
    x ^= x >> 16;
    x *= 0x21f0aaadu;
    x ^= x >> 15;
    x *= 0xd35a2d97u;
    return x ^ (x >> 15);
}

// Memory of this thread, kept between calls.
static float *scratch(size_t floats) {
    static _Thread_local float *memory;
    static _Thread_local size_t size;
    if (floats > size) {
        free(memory);
        size = (floats + 1023) / 1024 * 1024;
        memory = aligned_alloc(64, size * sizeof(float));
        if (!memory) abort();
    }
    return memory;
}

// Matrices below are float32 and aligned. Their rows and columns are padded to whole vectors.

// c[ROWS][n] (+)= a[ROWS][k] b[k][n] for one or two vectors of columns. A is the offset of row r and
// column k of a, which is stored by rows or by columns.
#define TILE(NAME, VECS, A)                                                                               \
    static void NAME(const float *a, i64 lda, const float *b, i64 ldb, float *c, i64 ldc, i64 depth,      \
                     int add) {                                                                           \
        vec sum[ROWS][VECS];                                                                              \
        EACH_ROW for (int v = 0; v < VECS; v++)                                                           \
            sum[r][v] = add ? *(const vec *)(c + r * ldc + v * LANES) : (vec){0};                         \
        for (i64 k = 0; k < depth; k++)                                                                   \
            EACH_ROW for (int v = 0; v < VECS; v++)                                                       \
                sum[r][v] += a[A] * *(const vec *)(b + k * ldb + v * LANES);                              \
        EACH_ROW for (int v = 0; v < VECS; v++) *(vec *)(c + r * ldc + v * LANES) = sum[r][v];            \
    }
TILE(tile_1, 1, r * lda + k)
TILE(tile_2, 2, r * lda + k)
TILE(turned_1, 1, k * lda + r)
TILE(turned_2, 2, k * lda + r)

// c (+)= a b. Whole tiles of rows are written.
static void product(const float *a, i64 lda, const float *b, i64 ldb, float *c, i64 ldc, i64 rows, i64 columns,
                    i64 depth, int add) {
    for (i64 n = 0; n < columns; n += 2 * LANES)
        for (i64 r = 0; r < rows; r += ROWS)
            (n + LANES < columns ? tile_2 : tile_1)(a + r * lda, lda, b + n, ldb, c + r * ldc + n, ldc, depth,
                                                    add);
}

// c = a^T b
static void turned_product(const float *a, i64 lda, const float *b, i64 ldb, float *c, i64 ldc, i64 rows,
                           i64 columns, i64 depth) {
    for (i64 n = 0; n < columns; n += 2 * LANES)
        for (i64 r = 0; r < rows; r += ROWS)
            (n + LANES < columns ? turned_2 : turned_1)(a + r, lda, b + n, ldb, c + r * ldc + n, ldc, depth, 0);
}

// b = a transposed, LANES x LANES numbers at a time.
static void transpose(const float *a, i64 lda, float *b, i64 ldb, i64 rows, i64 columns) {
    for (i64 i = 0; i < rows; i += LANES)
        for (i64 j = 0; j < columns; j += LANES) {
            vec x[LANES], y[LANES];
            for (int r = 0; r < LANES; r++) x[r] = *(const vec *)(a + (i + r) * lda + j);
            // Interleaving rows half a matrix apart, four times, transposes it.
#define INTERLEAVE(x, y)                                                                           \
    _Pragma("GCC unroll 16") for (int r = 0; r < LANES / 2; r++) {                                 \
        y[2 * r] = MIX(x[r], x[r + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);    \
        y[2 * r + 1] =                                                                             \
            MIX(x[r], x[r + 8], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);     \
    }
            INTERLEAVE(x, y)
            INTERLEAVE(y, x)
            INTERLEAVE(x, y)
            INTERLEAVE(y, x)
            for (int r = 0; r < LANES; r++) *(vec *)(b + (j + r) * ldb + i) = x[r];
        }
}

// One more than the last key that any of these rows may see; bias -inf hides a key.
static i64 seen_keys(const float *bias, i64 row_stride, i64 rows, i64 keys) {
    if (!bias) return keys;
    i64 end = 0;
    for (i64 r = row_stride ? rows - 1 : 0; r >= 0 && end < keys; r--) { // the last row often sees most
        i64 s = keys;
        while (s > end && bias[r * row_stride + s - 1] == -INFINITY) s--;
        if (s > end) end = s;
    }
    return end;
}

// The logits of a query are a column, so that a softmax works on vectors: z[s][t] += bias[t][s].
static void add_bias(float *z, const float *bias, i64 stride, i64 rows, i64 seen) {
    if (!bias) return;
    for (i64 s = 0; s < seen; s++)
        if (stride)
            for (i64 t = 0; t < rows; t++) z[s * BLOCK + t] += bias[t * stride + s];
        else
            for (i64 t = 0; t < rows; t += LANES) *(vec *)(z + s * BLOCK + t) += bias[s];
}

// Softmax of each column of z. Keep its greatest logit and 1 / the sum of exponentials below that.
static void softmax_columns(float *z, float *tops, float *shares, i64 rows, i64 seen) {
    for (i64 r = 0; r < rows; r += LANES) {
        vec top = all(-INFINITY), sum = {0};
        for (i64 s = 0; s < seen; s++) top = greater(top, *(vec *)(z + s * BLOCK + r));
        for (i64 s = 0; s < seen; s++)
            sum += *(vec *)(z + s * BLOCK + r) = exponential(*(vec *)(z + s * BLOCK + r) - top);
        vec share = 1 / sum;
        for (i64 s = 0; s < seen; s++) *(vec *)(z + s * BLOCK + r) *= share;
        memcpy(tops + r, &top, MIN(rows - r, LANES) * sizeof(float));
        memcpy(shares + r, &share, MIN(rows - r, LANES) * sizeof(float));
    }
}

// From logits z and the gradient g of their softmax: the softmax in z, and the gradient of the logits in g.
// Columns beyond the rows, up to a whole vector, become zero.
static void softmax_gradient(float *z, float *g, const float *tops, const float *shares, i64 rows, i64 seen) {
    for (i64 r = 0; r < rows; r += LANES) {
        vec top = all(INFINITY), share = {0}, mean = {0};
        memcpy(&top, tops + r, MIN(rows - r, LANES) * sizeof(float));
        memcpy(&share, shares + r, MIN(rows - r, LANES) * sizeof(float));
        for (i64 s = 0; s < seen; s++) {
            vec weight = exponential(*(vec *)(z + s * BLOCK + r) - top) * share;
            mean += weight * *(vec *)(g + s * BLOCK + r);
            *(vec *)(z + s * BLOCK + r) = weight;
        }
        for (i64 s = 0; s < seen; s++)
            *(vec *)(g + s * BLOCK + r) = *(vec *)(z + s * BLOCK + r) * (*(vec *)(g + s * BLOCK + r) - mean);
    }
}

// Clear what a tile of rows reads beyond the visible keys.
static void clear(float *z, i64 seen) { memset(z + seen * BLOCK, 0, (up(seen) - seen) * BLOCK * sizeof(float)); }

// The tensors of an attention, by their strides: batch, head, row.
typedef struct { i64 b, h, t; } strides;
typedef struct { i64 B, H, T, S, D; strides q, k, v, bias, out; } attention;

#ifdef __AVX512BF16__
static void paired_attention_forward(const attention *, const bf16 *, const bf16 *, const bf16 *, const float *,
                                     bf16 *, float *);
static void paired_attention_backward(const attention *, const bf16 *, const bf16 *, const bf16 *, const float *,
                                      const float *, const bf16 *, bf16 *, bf16 *, bf16 *);
#endif

#define PASTE(name, type) name##_##type
#define NAMED(name, type) PASTE(name, type)
#define F(name) NAMED(name, KIND)

#define REAL float
#define KIND f32
#include __FILE__
#undef REAL
#undef KIND
#define REAL bf16
#define KIND bf16
#ifdef __AVX512BF16__
#define PAIRED
#endif
#include __FILE__

#ifdef __AVX512BF16__
// Attention in bf16 without conversions: one instruction multiplies a pair of numbers by another and adds both
// products to a float32 sum. A matrix of pairs holds two numbers that follow each other along that sum.

typedef uint32_t pair __attribute__((aligned(2), may_alias));

// c[rows][n] (+)= a b with 1 to 8 rows and one or two vectors of columns, for a sum over `depth` pairs. Pair k of
// row r is at a[r][2 k], or at a[k][2 r] if a is turned.
INLINE void pairs_tile(int rows, int vecs, int turned, const bf16 *a, i64 lda, const pair *b, i64 ldb, float *c,
                       i64 ldc, i64 depth, int add) {
    __m512 sum[8][2];
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vecs; v++)
            sum[r][v] = add ? _mm512_loadu_ps(c + r * ldc + v * LANES) : _mm512_setzero_ps();
    for (i64 k = 0; k < depth; k++) {
        __m512bh column[2];
        for (int v = 0; v < vecs; v++) column[v] = (__m512bh)_mm512_loadu_si512(b + k * ldb + v * LANES);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            pair both = *(const pair *)(turned ? a + k * lda + 2 * r : a + r * lda + 2 * k);
            for (int v = 0; v < vecs; v++)
                sum[r][v] = _mm512_dpbf16_ps(sum[r][v], column[v], (__m512bh)_mm512_set1_epi32(both));
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vecs; v++) _mm512_storeu_ps(c + r * ldc + v * LANES, sum[r][v]);
}

#define CASE(rows) \
    case rows: pairs_tile(rows, vecs, turned, a, lda, b, ldb, c, ldc, depth, add); break;
INLINE void pairs_rows(i64 rows, int vecs, int turned, const bf16 *a, i64 lda, const pair *b, i64 ldb, float *c,
                       i64 ldc, i64 depth, int add) {
    switch (rows) {
        CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7)
        default: pairs_tile(8, vecs, turned, a, lda, b, ldb, c, ldc, depth, add);
    }
}

// c (+)= a b. These rows alone are read and written; the columns are whole vectors.
#define PAIRS(NAME, TURNED, ROW)                                                                             \
    static void NAME(const bf16 *a, i64 lda, const pair *b, i64 ldb, float *c, i64 ldc, i64 rows,            \
                     i64 columns, i64 depth, int add) {                                                      \
        for (i64 n = 0; n < columns; n += 2 * LANES)                                                         \
            for (i64 r = 0; r < rows; r += 8) {                                                              \
                const bf16 *from = a + r * ROW;                                                              \
                float *to = c + r * ldc + n;                                                                 \
                if (n + LANES < columns) pairs_rows(rows - r, 2, TURNED, from, lda, b + n, ldb, to, ldc, depth, add); \
                else pairs_rows(rows - r, 1, TURNED, from, lda, b + n, ldb, to, ldc, depth, add);            \
            }                                                                                                \
    }
PAIRS(pairs_product, 0, lda)
PAIRS(turned_pairs_product, 1, 2)

// Turn the pairs of each row into a column. Columns beyond the last, up to a whole vector, are zero.
static void turn_pairs(const bf16 *from, i64 stride, pair *to, i64 rows, i64 width) {
    for (i64 t = 0; t < rows; t += LANES)
        for (i64 d = 0; d < width; d += 2 * LANES) {
            vec block[LANES];
            for (i64 r = 0; r < LANES; r++)
                block[r] = t + r < rows ? load_f32((const float *)(from + (t + r) * stride + d)) : (vec){0};
            transpose((float *)block, LANES, (float *)(to + d / 2 * BLOCK + t), BLOCK, LANES, LANES);
        }
}

// Pairs of x[i] and y[i], from the lower or the upper half of two vectors.
#define ZIP(x, y, first)                                                                                      \
    _mm512_permutex2var_epi16(                                                                                \
        x, (__m512i)((__v32hi){0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39, 8, 40, 9, 41, 10, 42, 11, 43, \
                               12, 44, 13, 45, 14, 46, 15, 47} + first), y)

// Pairs of rows 2 i and 2 i + 1. A row beyond the last is zero.
static void pair_rows(const bf16 *from, i64 stride, pair *to, i64 rows, i64 width) {
    for (i64 r = 0; r < rows; r += 2)
        for (i64 d = 0; d < width; d += 2 * LANES) {
            const bf16 *at = from + r * stride + d;
            __m512i x = _mm512_loadu_si512(at), y = r + 1 < rows ? _mm512_loadu_si512(at + stride) : (__m512i){0};
            _mm512_storeu_si512(to + r / 2 * width + d, ZIP(x, y, 0));
            _mm512_storeu_si512(to + r / 2 * width + d + LANES, ZIP(x, y, 16));
        }
}

// Pairs of rows 2 i and 2 i + 1 of float32 numbers, BLOCK in a row.
static void pair_weights(const float *from, pair *to, i64 rows, i64 columns) {
    for (i64 r = 0; r < rows; r += 2)
        for (i64 i = 0; i < columns; i += LANES) {
            const float *at = from + r * BLOCK + i;
            __m512i both = (__m512i)_mm512_cvtne2ps_pbh(
                r + 1 < rows ? _mm512_loadu_ps(at + BLOCK) : _mm512_setzero_ps(), _mm512_loadu_ps(at));
            const __v32hi order = {0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23,
                                   8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
            _mm512_storeu_si512(to + r / 2 * BLOCK + i, _mm512_permutexvar_epi16((__m512i)order, both));
        }
}

// The numbers rounded to bf16, BLOCK in a row.
static void round_weights(const float *from, bf16 *to, i64 rows, i64 columns) {
    for (i64 r = 0; r < rows; r++)
        for (i64 i = 0; i < columns; i += LANES) store_bf16(to + r * BLOCK + i, *(vec *)(from + r * BLOCK + i));
}

static void scale_columns(float *z, float scale, i64 rows, i64 seen) {
    for (i64 s = 0; s < seen; s++)
        for (i64 t = 0; t < rows; t += LANES) *(vec *)(z + s * BLOCK + t) *= scale;
}

static void paired_attention_forward(const attention *a, const bf16 *q, const bf16 *k, const bf16 *v,
                                     const float *bias, bf16 *out, float *norms) {
    i64 D = a->D, keys = up(a->S);
    float scale = 1 / sqrtf(D);
#pragma omp parallel for collapse(2) schedule(static)
    for (i64 b = 0; b < a->B; b++)
        for (i64 h = 0; h < a->H; h++) {
            float *o = scratch(BLOCK * D + keys * BLOCK + (BLOCK * D + keys * BLOCK + keys * D) / 2);
            float *p = o + BLOCK * D;
            pair *qt = (pair *)(p + keys * BLOCK), *pp = qt + BLOCK * D / 2, *vp = pp + keys * BLOCK / 2;
            const bf16 *kh = k + b * a->k.b + h * a->k.h, *vh = v + b * a->v.b + h * a->v.h;
            for (i64 t = 0; t < a->T; t += BLOCK) {
                i64 rows = MIN(BLOCK, a->T - t), at = (b * a->H + h) * a->T + t;
                const float *bs = bias ? bias + b * a->bias.b + h * a->bias.h + t * a->bias.t : 0;
                i64 seen = seen_keys(bs, a->bias.t, rows, a->S);
                turn_pairs(q + b * a->q.b + h * a->q.h + t * a->q.t, a->q.t, qt, rows, D);
                pairs_product(kh, a->k.t, qt, BLOCK, p, BLOCK, seen, up(rows), D / 2, 0);
                scale_columns(p, scale, rows, seen);
                add_bias(p, bs, a->bias.t, rows, seen);
                softmax_columns(p, norms + at, norms + a->B * a->H * a->T + at, rows, seen);
                pair_weights(p, pp, seen, rows);
                pair_rows(vh, a->v.t, vp, seen, D);
                turned_pairs_product((bf16 *)pp, 2 * BLOCK, vp, D, o, D, rows, D, (seen + 1) / 2, 0);
                write_bf16(o, out + b * a->out.b + h * a->out.h + t * a->out.t, a->out.t, rows, D, 1);
            }
        }
}

static void paired_attention_backward(const attention *a, const bf16 *q, const bf16 *k, const bf16 *v,
                                      const float *bias, const float *norms, const bf16 *grad, bf16 *dq, bf16 *dk,
                                      bf16 *dv) {
    i64 D = a->D, keys = up(a->S), most = keys > BLOCK ? keys : BLOCK, depth = a->H * D;
    float scale = 1 / sqrtf(D);
#pragma omp parallel for collapse(2) schedule(static)
    for (i64 b = 0; b < a->B; b++)
        for (i64 h = 0; h < a->H; h++) {
            float *dks = scratch(2 * keys * D + BLOCK * (D + 2 * keys) + BLOCK * D + BLOCK * keys + most * D / 2);
            float *dvs = dks + keys * D, *dqs = dvs + keys * D, *p = dqs + BLOCK * D, *ds = p + keys * BLOCK;
            pair *qt = (pair *)(ds + keys * BLOCK), *gt = qt + BLOCK * D / 2, *dsp = gt + BLOCK * D / 2;
            pair *mixed = dsp + keys * BLOCK / 2;
            bf16 *rounded = (bf16 *)(mixed + most * D / 2);
            const bf16 *kh = k + b * a->k.b + h * a->k.h, *vh = v + b * a->v.b + h * a->v.h;
            memset(dks, 0, 2 * keys * D * sizeof(float));
            for (i64 t = 0; t < a->T; t += BLOCK) {
                i64 rows = MIN(BLOCK, a->T - t), at = (b * a->H + h) * a->T + t, half = (rows + 1) / 2;
                const float *bs = bias ? bias + b * a->bias.b + h * a->bias.h + t * a->bias.t : 0;
                const bf16 *qh = q + b * a->q.b + h * a->q.h + t * a->q.t;
                const bf16 *gh = grad + b * a->out.b + h * a->out.h + t * a->out.t;
                i64 seen = seen_keys(bs, a->bias.t, rows, a->S);
                turn_pairs(qh, a->q.t, qt, rows, D);
                turn_pairs(gh, a->out.t, gt, rows, D);
                pairs_product(kh, a->k.t, qt, BLOCK, p, BLOCK, seen, up(rows), D / 2, 0);
                pairs_product(vh, a->v.t, gt, BLOCK, ds, BLOCK, seen, up(rows), D / 2, 0);
                scale_columns(p, scale, rows, seen);
                add_bias(p, bs, a->bias.t, rows, seen);
                softmax_gradient(p, ds, norms + at, norms + a->B * a->H * a->T + at, rows, seen);
                pair_weights(ds, dsp, seen, rows);
                pair_rows(kh, a->k.t, mixed, seen, D);
                turned_pairs_product((bf16 *)dsp, 2 * BLOCK, mixed, D, dqs, D, rows, D, (seen + 1) / 2, 0);
                round_weights(ds, rounded, seen, rows);
                pair_rows(qh, a->q.t, mixed, rows, D);
                pairs_product(rounded, BLOCK, mixed, D, dks, D, seen, D, half, 1);
                round_weights(p, rounded, seen, rows);
                pair_rows(gh, a->out.t, mixed, rows, D);
                pairs_product(rounded, BLOCK, mixed, D, dvs, D, seen, D, half, 1);
                write_bf16(dqs, dq + ((b * a->T + t) * a->H + h) * D, depth, rows, D, scale);
            }
            write_bf16(dks, dk + (b * a->S * a->H + h) * D, depth, a->S, D, scale);
            write_bf16(dvs, dv + (b * a->S * a->H + h) * D, depth, a->S, D, 1);
        }
}
#endif

#else

// The last numbers of a row, fewer than a vector, the rest `empty`.
INLINE vec F(load_some)(const REAL *at, i64 count, float empty) {
    REAL some[LANES] = {0};
    memcpy(some, at, count * sizeof(REAL));
    vec x = F(load)(some);
    for (i64 i = count; i < LANES; i++) x[i] = empty;
    return x;
}

INLINE void F(store_some)(REAL *at, vec x, i64 count) {
    REAL some[LANES];
    F(store)(some, x);
    memcpy(at, some, count * sizeof(REAL));
}

// A row times `scale`, the rest of its last vector zero.
INLINE void F(read_row)(const REAL *from, float *to, i64 width, float scale) {
    i64 whole = width / LANES * LANES;
    for (i64 d = 0; d < whole; d += LANES) *(vec *)(to + d) = scale * F(load)(from + d);
    if (whole < width) *(vec *)(to + whole) = scale * F(load_some)(from + whole, width - whole, 0);
}

// A matrix times `scale`, with zeros beyond its rows and columns.
static void F(read)(const REAL *from, i64 stride, float *to, i64 rows, i64 width, float scale) {
    i64 wide = up(width);
    for (i64 r = 0; r < rows; r++) F(read_row)(from + r * stride, to + r * wide, width, scale);
    memset(to + rows * wide, 0, (up(rows) - rows) * wide * sizeof(float));
}

static void F(write)(const float *from, REAL *to, i64 stride, i64 rows, i64 width, float scale) {
    i64 wide = up(width), whole = width / LANES * LANES;
    for (i64 r = 0; r < rows; r++) {
        for (i64 d = 0; d < whole; d += LANES) F(store)(to + r * stride + d, scale * *(vec *)(from + r * wide + d));
        if (whole < width)
            F(store_some)(to + r * stride + whole, scale * *(vec *)(from + r * wide + whole), width - whole);
    }
}

// out = softmax(q k^T / sqrt(D) + bias) v. `norms` (2, B, H, T) holds what the gradients need: the greatest logit of
// each query, and 1 / the sum of exponentials below it.
void F(attention_forward)(const attention *a, const REAL *q, const REAL *k, const REAL *v, const float *bias,
                          REAL *out, float *norms) {
#ifdef PAIRED
    if (a->D % (2 * LANES) == 0) {
        paired_attention_forward(a, q, k, v, bias, out, norms);
        return;
    }
#endif
    i64 wide = up(a->D), keys = up(a->S);
    float scale = 1 / sqrtf(a->D);
#pragma omp parallel for collapse(2) schedule(static)
    for (i64 b = 0; b < a->B; b++)
        for (i64 h = 0; h < a->H; h++) {
            float *ks = scratch(2 * keys * wide + BLOCK * (3 * wide + keys)), *vs = ks + keys * wide;
            float *qs = vs + keys * wide, *qt = qs + BLOCK * wide, *o = qt + BLOCK * wide, *p = o + BLOCK * wide;
            F(read)(k + b * a->k.b + h * a->k.h, a->k.t, ks, a->S, a->D, 1);
            F(read)(v + b * a->v.b + h * a->v.h, a->v.t, vs, a->S, a->D, 1);
            for (i64 t = 0; t < a->T; t += BLOCK) {
                i64 rows = MIN(BLOCK, a->T - t), at = (b * a->H + h) * a->T + t;
                const float *bs = bias ? bias + b * a->bias.b + h * a->bias.h + t * a->bias.t : 0;
                i64 seen = seen_keys(bs, a->bias.t, rows, a->S);
                F(read)(q + b * a->q.b + h * a->q.h + t * a->q.t, a->q.t, qs, rows, a->D, scale);
                transpose(qs, wide, qt, BLOCK, up(rows), wide);
                product(ks, wide, qt, BLOCK, p, BLOCK, seen, up(rows), a->D, 0);
                add_bias(p, bs, a->bias.t, rows, seen);
                softmax_columns(p, norms + at, norms + a->B * a->H * a->T + at, rows, seen);
                turned_product(p, BLOCK, vs, wide, o, wide, rows, wide, seen);
                F(write)(o, out + b * a->out.b + h * a->out.h + t * a->out.t, a->out.t, rows, a->D, 1);
            }
        }
}

// Gradients of the above. `grad` is that of `out`, with the strides a->out. dq, dk and dv are contiguous
// (B, T or S, H, D). The weights are computed again.
void F(attention_backward)(const attention *a, const REAL *q, const REAL *k, const REAL *v, const float *bias,
                           const float *norms, const REAL *grad, REAL *dq, REAL *dk, REAL *dv) {
#ifdef PAIRED
    if (a->D % (2 * LANES) == 0) {
        paired_attention_backward(a, q, k, v, bias, norms, grad, dq, dk, dv);
        return;
    }
#endif
    i64 wide = up(a->D), keys = up(a->S), depth = a->H * a->D;
    float scale = 1 / sqrtf(a->D);
#pragma omp parallel for collapse(2) schedule(static)
    for (i64 b = 0; b < a->B; b++)
        for (i64 h = 0; h < a->H; h++) {
            float *ks = scratch(4 * keys * wide + BLOCK * (5 * wide + 2 * keys)), *vs = ks + keys * wide;
            float *dks = vs + keys * wide, *dvs = dks + keys * wide, *qs = dvs + keys * wide;
            float *qt = qs + BLOCK * wide, *g = qt + BLOCK * wide, *gt = g + BLOCK * wide;
            float *dqs = gt + BLOCK * wide, *p = dqs + BLOCK * wide, *ds = p + BLOCK * keys;
            F(read)(k + b * a->k.b + h * a->k.h, a->k.t, ks, a->S, a->D, 1);
            F(read)(v + b * a->v.b + h * a->v.h, a->v.t, vs, a->S, a->D, 1);
            memset(dks, 0, 2 * keys * wide * sizeof(float));
            for (i64 t = 0; t < a->T; t += BLOCK) {
                i64 rows = MIN(BLOCK, a->T - t), at = (b * a->H + h) * a->T + t;
                const float *bs = bias ? bias + b * a->bias.b + h * a->bias.h + t * a->bias.t : 0;
                i64 seen = seen_keys(bs, a->bias.t, rows, a->S);
                F(read)(q + b * a->q.b + h * a->q.h + t * a->q.t, a->q.t, qs, rows, a->D, scale);
                F(read)(grad + b * a->out.b + h * a->out.h + t * a->out.t, a->out.t, g, rows, a->D, 1);
                transpose(qs, wide, qt, BLOCK, up(rows), wide);
                transpose(g, wide, gt, BLOCK, up(rows), wide);
                product(ks, wide, qt, BLOCK, p, BLOCK, seen, up(rows), a->D, 0);
                product(vs, wide, gt, BLOCK, ds, BLOCK, seen, up(rows), a->D, 0);
                add_bias(p, bs, a->bias.t, rows, seen);
                softmax_gradient(p, ds, norms + at, norms + a->B * a->H * a->T + at, rows, seen);
                clear(p, seen);
                clear(ds, seen);
                turned_product(ds, BLOCK, ks, wide, dqs, wide, rows, wide, seen);
                product(ds, BLOCK, qs, wide, dks, wide, seen, wide, rows, 1);
                product(p, BLOCK, g, wide, dvs, wide, seen, wide, rows, 1);
                F(write)(dqs, dq + ((b * a->T + t) * a->H + h) * a->D, depth, rows, a->D, scale);
            }
            F(write)(dks, dk + (b * a->S * a->H + h) * a->D, depth, a->S, a->D, 1);
            F(write)(dvs, dv + (b * a->S * a->H + h) * a->D, depth, a->S, a->D, 1);
        }
}

// Add the bias, if there is one, to logits (copies, rows, vocab), with 1 or 2 copies. Then replace them by the
// gradient of the summed cross-entropy without the targets' term. That is the probabilities; with two copies, plus
// the gradient of `consistency` times the divergence between them. Also compute the log of each row's sum of
// exponentials, and its divergence. With a bias, `sums` (chunks, vocab rounded up to a vector) receives the sums of
// the gradient over the first `real` rows of each copy: each chunk of rows has its own, so that the order of an
// addition never varies.
void F(softmax_block)(REAL *logits, i64 copies, i64 rows, i64 vocab, float consistency, const REAL *bias, i64 real,
                      i64 chunks, float *lse, float *apart, float *sums) {
    i64 wide = up(vocab), whole = vocab / LANES * LANES, most = (rows + chunks - 1) / chunks;
#pragma omp parallel for schedule(static)
    for (i64 chunk = 0; chunk < chunks; chunk++) {
        float *z = scratch(2 * wide), *own = sums + chunk * wide;
        if (bias) memset(own, 0, wide * sizeof(float));
        for (i64 r = chunk * most; r < MIN(rows, (chunk + 1) * most); r++) {
            for (i64 c = 0; c < copies; c++) {
                const REAL *row = logits + (c * rows + r) * vocab;
                float *x = z + c * wide;
                vec greatest = all(-INFINITY), sum = {0};
                for (i64 i = 0; i < whole; i += LANES) {
                    vec y = F(load)(row + i);
                    if (bias) y += F(load)(bias + i);
                    greatest = greater(greatest, *(vec *)(x + i) = y);
                }
                if (whole < vocab) {
                    vec y = F(load_some)(row + whole, vocab - whole, -INFINITY);
                    if (bias) y += F(load_some)(bias + whole, vocab - whole, 0);
                    greatest = greater(greatest, *(vec *)(x + whole) = y);
                }
                float top = greatest_of(greatest);
                for (i64 i = 0; i < wide; i += LANES) sum += *(vec *)(x + i) = exponential(*(vec *)(x + i) - top);
                float total = sum_of(sum), share = 1 / total;
                lse[c * rows + r] = top + logf(total);
                for (i64 i = 0; i < wide; i += LANES) *(vec *)(x + i) *= share;
            }
            float *p = z, *q = z + wide;
            REAL *first = logits + r * vocab, *second = first + rows * vocab;
            if (copies == 2) {
                vec one = {0}, other = {0};
                for (i64 i = 0; i < wide; i += LANES) {
                    i64 left = vocab - i;
                    vec d = left < LANES ? F(load_some)(first + i, left, 0) - F(load_some)(second + i, left, 0)
                                         : F(load)(first + i) - F(load)(second + i);
                    one += *(vec *)(p + i) * d;
                    other += *(vec *)(q + i) * d;
                }
                float mean = sum_of(one), mean2 = sum_of(other), half = consistency / 2;
                apart[r] = (mean - mean2) / 2;
                for (i64 i = 0; i < wide; i += LANES) {
                    i64 left = vocab - i;
                    vec d = left < LANES ? F(load_some)(first + i, left, 0) - F(load_some)(second + i, left, 0)
                                         : F(load)(first + i) - F(load)(second + i);
                    vec x = *(vec *)(p + i), y = *(vec *)(q + i), gap = x - y;
                    *(vec *)(p + i) = x + half * (gap + x * (d - mean));
                    *(vec *)(q + i) = y - half * (gap + y * (d - mean2));
                }
            }
            for (i64 c = 0; c < copies; c++) {
                F(write)(z + c * wide, c ? second : first, 0, 1, vocab, 1);
                if (bias && r < real)
                    for (i64 i = 0; i < wide; i += LANES) *(loose *)(own + i) += *(vec *)(z + c * wide + i);
            }
        }
    }
}

// out = (x - mean) / deviation * gain + shift for each row; `stats` (rows, 2) holds mean and 1 / deviation.
void F(layer_norm_forward)(const REAL *x, const REAL *gain, const REAL *shift, REAL *out, float *stats, i64 rows,
                           i64 width, float epsilon) {
    i64 wide = up(width), whole = width / LANES * LANES;
#pragma omp parallel
    {
        float *g = scratch(3 * wide), *b = g + wide, *y = b + wide;
        F(read_row)(gain, g, width, 1);
        F(read_row)(shift, b, width, 1);
#pragma omp for schedule(static)
        for (i64 r = 0; r < rows; r++) {
            vec sum = {0}, squares = {0};
            F(read_row)(x + r * width, y, width, 1);
            for (i64 i = 0; i < wide; i += LANES) sum += *(vec *)(y + i);
            float mean = sum_of(sum) / width;
            for (i64 i = 0; i < whole; i += LANES) {
                vec d = *(vec *)(y + i) - mean;
                squares += d * d;
            }
            for (i64 i = whole; i < width; i++) squares[0] += (y[i] - mean) * (y[i] - mean);
            float inverse = 1 / sqrtf(sum_of(squares) / width + epsilon);
            for (i64 i = 0; i < wide; i += LANES)
                *(vec *)(y + i) = (*(vec *)(y + i) - mean) * inverse * *(vec *)(g + i) + *(vec *)(b + i);
            F(write)(y, out + r * width, 0, 1, width, 1);
            stats[2 * r] = mean, stats[2 * r + 1] = inverse;
        }
    }
}

// Gradients of the above. `sums` (chunks, 2, width rounded up to a vector) holds those of gain and shift: the
// rows are divided into chunks, and each chunk adds up its own, so that the order never varies.
void F(layer_norm_backward)(const REAL *x, const REAL *gain, const float *stats, const REAL *grad, REAL *dx,
                            float *sums, i64 rows, i64 width, i64 chunks) {
    i64 wide = up(width), most = (rows + chunks - 1) / chunks;
#pragma omp parallel for schedule(static)
    for (i64 chunk = 0; chunk < chunks; chunk++) {
        float *g = scratch(3 * wide), *n = g + wide, *u = n + wide;
        float *dgain = sums + 2 * chunk * wide, *dshift = dgain + wide;
        memset(dgain, 0, 2 * wide * sizeof(float));
        F(read_row)(gain, g, width, 1);
        for (i64 r = chunk * most; r < MIN(rows, (chunk + 1) * most); r++) {
            float mean = stats[2 * r], inverse = stats[2 * r + 1];
            vec first = {0}, second = {0};
            F(read_row)(x + r * width, n, width, 1);
            F(read_row)(grad + r * width, u, width, 1);
            for (i64 i = 0; i < wide; i += LANES) {
                vec normal = (*(vec *)(n + i) - mean) * inverse, up = *(vec *)(u + i), y = up * *(vec *)(g + i);
                *(loose *)(dgain + i) += up * normal;
                *(loose *)(dshift + i) += up;
                first += y;
                second += y * normal;
                *(vec *)(n + i) = normal;
                *(vec *)(u + i) = y;
            }
            float a = sum_of(first) / width, b = sum_of(second) / width;
            for (i64 i = 0; i < wide; i += LANES)
                *(vec *)(u + i) = inverse * (*(vec *)(u + i) - a - *(vec *)(n + i) * b);
            F(write)(u, dx + r * width, 0, 1, width, 1);
        }
    }
}

// out = base + x kept with probability 1 - dropped / 2^32 and scaled to keep its mean; base may be null.
void F(dropout)(const REAL *x, const REAL *base, REAL *out, i64 size, uint32_t dropped, float scale,
                uint32_t low, uint32_t high) {
    const uvec steps = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    i64 whole = size / LANES * LANES;
#pragma omp parallel for schedule(static)
    for (i64 i = 0; i < whole; i += LANES) {
        ivec kept = words(steps + (uint32_t)i, low, high) >= dropped;
        vec y = where(kept, scale * F(load)(x + i), (vec){0});
        F(store)(out + i, base ? F(load)(base + i) + y : y);
    }
    if (whole < size) {
        ivec kept = words(steps + (uint32_t)whole, low, high) >= dropped;
        vec y = where(kept, scale * F(load_some)(x + whole, size - whole, 0), (vec){0});
        if (base) y += F(load_some)(base + whole, size - whole, 0);
        F(store_some)(out + whole, y, size - whole);
    }
}

#endif
