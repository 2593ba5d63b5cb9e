// Layer normalisation (Ba et al. 2016) and its gradients, and RMSNorm (Zhang and Sennrich 2019): the same with a mean
// and a shift of 0.

#ifndef REAL
#include "rows.h"

#define SELF "layer_norm.c"
#include "both.h"
#else

// out = (x - mean) / deviation * gain + shift for each row; `stats` (rows, 2) holds mean and 1 / deviation. RMSNorm has
// no shift (null).
void F(layer_norm_forward)(const REAL *x, const REAL *gain, const REAL *shift, REAL *out, float *stats, i64 rows,
                           i64 width, float epsilon) {
    i64 wide = up(width), whole = width / LANES * LANES;
#pragma omp parallel
    {
        float *g = scratch(3 * wide), *b = g + wide, *y = b + wide;
        F(read_row)(gain, g, width, 1);
        if (shift) F(read_row)(shift, b, width, 1);
        else memset(b, 0, wide * sizeof(float));
#pragma omp for schedule(static)
        for (i64 r = 0; r < rows; r++) {
            vec sum = {0}, squares = {0};
            F(read_row)(x + r * width, y, width, 1);
            for (i64 i = 0; i < wide; i += LANES) sum += *(vec *)(y + i);
            float mean = shift ? sum_of(sum) / width : 0;
            for (i64 i = 0; i < whole; i += LANES) {
                vec d = *(vec *)(y + i) - mean;
                squares += d * d;
            }
            for (i64 i = whole; i < width; i++) squares[0] += (y[i] - mean) * (y[i] - mean);
            float apart = sum_of(squares), inverse = 1 / sqrtf(apart / width + epsilon) + 0 * apart; // NaN for infinity
            for (i64 i = 0; i < wide; i += LANES)
                *(vec *)(y + i) = (*(vec *)(y + i) - mean) * inverse * *(vec *)(g + i) + *(vec *)(b + i);
            F(write)(y, out + r * width, 0, 1, width, 1);
            stats[2 * r] = mean, stats[2 * r + 1] = inverse;
        }
    }
}

// Gradients of the above. `sums` (chunks, 2, width rounded up to a vector) holds those of gain and shift: the
// rows are divided into chunks, and each chunk adds up its own, so that the order never varies. `centred`: the mean was
// subtracted.
void F(layer_norm_backward)(const REAL *x, const REAL *gain, const float *stats, const REAL *grad, REAL *dx,
                            float *sums, i64 rows, i64 width, i64 chunks, i64 centred) {
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
            float a = centred ? sum_of(first) / width : 0, b = sum_of(second) / width;
            for (i64 i = 0; i < wide; i += LANES)
                *(vec *)(u + i) = inverse * (*(vec *)(u + i) - a - *(vec *)(n + i) * b);
            F(write)(u, dx + r * width, 0, 1, width, 1);
        }
    }
}

#endif
