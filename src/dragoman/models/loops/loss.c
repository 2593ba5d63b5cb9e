// The softmax of a block of rows of the loss, and of two passes of R-Drop.

#ifndef REAL
#include "rows.h"

#define SELF "loss.c"
#include "both.h"
#else

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

#endif
