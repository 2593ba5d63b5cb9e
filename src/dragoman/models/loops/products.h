// Products of small matrices that stay in the cache.

#pragma once

#include "vectors.h"

enum { BLOCK = 64 }; // queries processed together
enum { ROWS = LANES == 16 ? 8 : 4 }; // of a product, held in registers; a matrix has whole vectors of rows
#define EACH_ROW _Pragma("GCC unroll 16") for (int r = 0; r < ROWS; r++)

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
            // Interleaving rows half a matrix apart, this many times, transposes it.
            EACH_HALVING {
                memcpy(y, x, sizeof x);
#pragma GCC unroll 8
                for (int r = 0; r < LANES / 2; r++) {
                    x[2 * r] = LOWER(y[r], y[r + LANES / 2]);
                    x[2 * r + 1] = UPPER(y[r], y[r + LANES / 2]);
                }
            }
            for (int r = 0; r < LANES; r++) *(vec *)(b + (j + r) * ldb + i) = x[r];
        }
}
