// Rows and matrices of float32 and bf16 tensors, read as float32 and written from it.

#ifndef REAL
#include "vectors.h"

#define SELF "rows.h"
#include "both.h"
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
static inline void F(read)(const REAL *from, i64 stride, float *to, i64 rows, i64 width, float scale) {
    i64 wide = up(width);
    for (i64 r = 0; r < rows; r++) F(read_row)(from + r * stride, to + r * wide, width, scale);
    memset(to + rows * wide, 0, (up(rows) - rows) * wide * sizeof(float));
}

static inline void F(write)(const float *from, REAL *to, i64 stride, i64 rows, i64 width, float scale) {
    i64 wide = up(width), whole = width / LANES * LANES;
    for (i64 r = 0; r < rows; r++) {
        for (i64 d = 0; d < whole; d += LANES) F(store)(to + r * stride + d, scale * *(vec *)(from + r * wide + d));
        if (whole < width)
            F(store_some)(to + r * stride + whole, scale * *(vec *)(from + r * wide + whole), width - whole);
    }
}

#endif
