// Products of matrices of bf16 numbers without conversions: one instruction multiplies a pair of numbers by another and
// adds both products to a float32 sum. A matrix of pairs holds two numbers that follow each other along that sum.

#pragma once

#include "products.h"

#ifdef PAIRS_OF_BF16
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

#endif
