// Dropout, alone or with a residual connection (section 5.4).

#ifndef REAL
#include "rows.h"

// Random words, a function of place and seed ("lowbias32", Wellons 2018).
INLINE uvec words(uvec place, uint32_t low, uint32_t high) {
    uvec x = (place + low) ^ high;
    x ^= x >> 16;
    x *= 0x21f0aaadu;
    x ^= x >> 15;
    x *= 0xd35a2d97u;
    return x ^ (x >> 15);
}

#define SELF "dropout.c"
#include "both.h"
#else

// out = base + x kept with probability 1 - dropped / 2^32 and scaled to keep its mean; base may be null.
void F(dropout)(const REAL *x, const REAL *base, REAL *out, i64 size, uint32_t dropped, float scale,
                uint32_t low, uint32_t high) {
    uvec steps;
    for (int i = 0; i < LANES; i++) steps[i] = i;
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
