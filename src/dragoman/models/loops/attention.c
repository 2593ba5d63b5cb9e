// Attention (section 3.2.1) over short sentences. All heads of a sentence stay in the cache.

#ifndef REAL
#include "pairs.h"
#include "products.h"
#include "rows.h"

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

#ifdef PAIRS_OF_BF16
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

#define SELF "attention.c"
#include "both.h"
#else

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

#endif
