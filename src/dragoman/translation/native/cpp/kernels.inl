// The loops, written once for every width of vectors. A file kernels_*.cpp chooses the instructions, defines the
// operations on one vector that differ between them, and includes this file inside an unnamed namespace. So every
// instruction set has its own copy of every function. Nothing of the standard library may be called here: its inline
// functions are shared by all copies, and the linker might keep one that an older processor cannot run.
//
// WIDTH: numbers in a vector. Float, Int: vectors. Defined before:
//   splat(x), load(p), store(p, v)
//   widen(p): WIDTH numbers of bfloat16. GCC turns __builtin_convertvector into one conversion a number.
//   load_part(p, n, rest): n < WIDTH numbers, then `rest`; store_part(p, v, n): the first n numbers
//   fma(a, b, c) = a b + c; max(a, b) = a > b ? a : b (so b, if either is NaN)
//   above(a, b): bit i is a[i] > b[i]
//   total(v), greatest(v): of the numbers of a vector
//   totals(v): total(v[i]) of WIDTH vectors, as a vector
// Floating-point sums have a fixed order: no function may depend on where a row lies.

constexpr float INFINITE = __builtin_inff();

inline Int bits(Float x) { return (Int)x; }

// For arithmetic on bits, which may wrap.
typedef uint32_t Bits __attribute__((vector_size(4 * WIDTH)));

inline Int splat_int(int32_t x) { return Int{} + x; }

inline Float absolute(Float x) { return (Float)(bits(x) & splat_int(0x7fffffff)); }

// Call body(i, n) for vectors of n = WIDTH numbers, then once for the n < WIDTH left over.
template <class Body> inline void each(int64_t count, Body body) {
    int64_t i = 0;
    for (; i + WIDTH <= count; i += WIDTH) body(i, int64_t(WIDTH));
    if (i < count) body(i, count - i);
}

inline Float load_up_to(const float* p, int64_t n, float rest) { return n == WIDTH ? load(p) : load_part(p, n, rest); }

inline void store_up_to(float* p, Float v, int64_t n) {
    if (n == WIDTH) store(p, v);
    else store_part(p, v, n);
}

// The sum of term(i, n) over the same vectors. Four sums at once: each addition waits for the one before.
template <class Term> inline float sum_each(int64_t count, Term term) {
    Float sums[4] = {};
    int64_t i = 0;
    for (; i + 4 * WIDTH <= count; i += 4 * WIDTH)
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++) sums[j] += term(i + j * WIDTH, int64_t(WIDTH));
    for (; i + WIDTH <= count; i += WIDTH) sums[0] += term(i, int64_t(WIDTH));
    if (i < count) sums[1] += term(i, count - i);
    return total((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

// exp(x) = 2^n exp(r), |r| <= ln(2) / 2, within about an ulp. Below -87.33, the smallest normal number, 0; above 88.02
// infinity; NaN stays NaN. The polynomial is a minimax fit of exp(r).
inline Float exponential(Float x) {
    Float shifted = fma(x, splat(1.44269504f), splat(12582912.0f));  // n stands in the lowest bits
    Float n = shifted - splat(12582912.0f);
    Float r = fma(n, splat(-0.693359375f), x);
    r = fma(n, splat(2.12194440e-4f), r);
    Float q = fma(splat(0.0013950602f), r, splat(0.008368953f));
    q = fma(q, r, splat(0.041666206f));
    q = fma(q, r, splat(0.16666518f));
    q = fma(q, r, splat(0.5f));
    Float p = fma(q * r, r, r) + splat(1.0f);
    Float power = (Float)(((Bits)shifted << 23) + 0x3f800000u);
    Float y = p * power;
    y = x < splat(-87.33f) ? Float{} : y;
    return x > splat(88.02f) ? splat(INFINITE) : y;
}

inline Float sigmoid(Float x) { return splat(1.0f) / (splat(1.0f) + exponential(-x)); }

inline Float relu(Float x) { return max(splat(0.0f), x); }

// x (1 + erf(x / sqrt 2)) / 2 = max(x, 0) - a erfc(a / sqrt 2) / 2 with a = |x|. The polynomial is a minimax fit of
// -log(erfc(a / sqrt 2)) / a up to 6.5, beyond which the second term is below 1e-9.
inline Float gelu(Float x) {
    Float a = absolute(x);
    a = a > splat(6.5f) ? splat(6.5f) : a;
    Float q = fma(splat(-2.7231627e-07f), a, splat(5.40756e-06f));
    q = fma(q, a, splat(-4.4647306e-05f));
    q = fma(q, a, splat(0.00017375362f));
    q = fma(q, a, splat(3.241079e-05f));
    q = fma(q, a, splat(-0.0048499363f));
    q = fma(q, a, splat(0.03637221f));
    q = fma(q, a, splat(0.31829995f));
    q = fma(q, a, splat(0.7978856f));
    return relu(x) - splat(0.5f) * a * exponential(-a * q);
}

inline Float swish(Float x) { return x * sigmoid(x); }

inline Float quick_gelu(Float x) { return x * sigmoid(x * splat(1.702f)); }

// Inputs of products ---------------------------------------------------------

typedef uint16_t Halves __attribute__((vector_size(2 * WIDTH)));
typedef int8_t Bytes __attribute__((vector_size(WIDTH)));

inline Halves round_to_bfloat16(Float x) {
    Bits b = (Bits)x;
    Bits rounded = b + 0x7fffu + ((b >> 16) & 1u);
    rounded = x != x ? b | 0x400000u : rounded;  // rounding might carry a NaN into the sign
    return __builtin_convertvector(rounded >> 16, Halves);
}

inline void prepare_bfloat16(const float* x, int64_t inputs, int64_t depth, uint16_t* out) {
    each(inputs, [&](int64_t i, int64_t n) {
        Halves h = round_to_bfloat16(load_up_to(x + i, n, 0.0f));
        memcpy(out + i, &h, 2 * n);
    });
    memset(out + inputs, 0, 2 * (depth - inputs));
}

// The greater of |x| and `most` as integers: NaN > infinity > numbers.
inline Int larger(Int most, Float x) {
    Int b = bits(absolute(x));
    return b > most ? b : most;
}

inline float largest_of(Int most) {
    int32_t largest = 0;
    for (int i = 0; i < WIDTH; i++) largest = most[i] > largest ? most[i] : largest;
    float max;
    memcpy(&max, &largest, 4);
    return max;
}

// max |x|; NaN or infinity if the row holds any.
inline float largest(const float* x, int64_t inputs) {
    Int most{};
    each(inputs, [&](int64_t i, int64_t n) { most = larger(most, load_up_to(x + i, n, 0.0f)); });
    return largest_of(most);
}

// By what to multiply a row of which `max` is the largest, and its scale.
inline float factor_of(float max) { return max >= 1e-36f ? 127.0f / max : 0.0f; }  // for less it would overflow
inline float scale_of(float max) { return max >= 1e-36f ? max / 127.0f : 0.0f; }

// Numbers times a factor, rounded to nearest even: adding 1.5 * 2^23 leaves the integer in the lowest bits. FIXED: the
// products may be beyond 127.
template <bool FIXED> inline Int rounded(Float x, Float factor) {
    const Int zero = splat_int(0x4B400000), least = zero - 127, most = zero + 127;
    Int shifted = bits(x * factor + splat(12582912.0f));
    if (FIXED) {  // as integers, which are faster: positive numbers keep their order, negative ones are below
        shifted = shifted > least ? shifted : least;
        shifted = shifted < most ? shifted : most;
    }
    return shifted - zero;
}

// Write the numbers as bytes, OFFSET added. Return the scale: NaN if the row holds NaN or infinity.
template <bool FIXED> inline float prepare_int8(const Packed& w, const float* x, int8_t* out) {
    const float max = FIXED ? 0.0f : largest(x, w.inputs);
    if (!(max < INFINITE)) return __builtin_nanf("");  // the bytes do not matter
    const Float factor = splat(FIXED ? w.multiplier : factor_of(max));
    Int most{};
    each(w.inputs, [&](int64_t i, int64_t n) {
        Float part = load_up_to(x + i, n, 0.0f);
        if (FIXED) most = larger(most, part);
        Bytes b = __builtin_convertvector(rounded<FIXED>(part, factor) + splat_int(OFFSET), Bytes);
        memcpy(out + i, &b, n);
    });
    memset(out + w.inputs, 0, w.depth - w.inputs);
    if (!FIXED) return scale_of(max);
    return largest_of(most) < INFINITE ? 1.0f / w.multiplier : __builtin_nanf("");
}

Input prepare(const Packed& w, const float* x, int64_t stride, int64_t rows, void* buffer, float* scales) {
    if (w.type == Type::float32) return {x, nullptr, stride};
    for (int64_t row = 0; row < rows; row++) {
        const float* from = x + row * stride;
        int8_t* bytes = (int8_t*)buffer + row * w.depth;
        if (w.type == Type::bfloat16) prepare_bfloat16(from, w.inputs, w.depth, (uint16_t*)buffer + row * w.depth);
        else scales[row] = w.multiplier > 0 ? prepare_int8<true>(w, from, bytes) : prepare_int8<false>(w, from, bytes);
    }
    return {buffer, scales, w.depth};
}

// Rows -----------------------------------------------------------------------

// RMSNorm, Zhang and Sennrich 2019.
void normalise_size(const float* x, const float* gain, float epsilon, int64_t rows, int64_t width, int64_t stride,
                    float* out) {
    for (int64_t row = 0; row < rows; row++, x += stride, out += stride) {
        float squares = sum_each(width, [&](int64_t i, int64_t n) {
            Float part = load_up_to(x + i, n, 0.0f);
            return part * part;
        });
        // An infinite sum gives NaN, not zeros that hide it.
        Float scale = splat(1.0f / __builtin_sqrtf(squares / width + epsilon) + 0.0f * squares);
        each(width, [&](int64_t i, int64_t n) {
            store_up_to(out + i, load_up_to(x + i, n, 0.0f) * scale * load_up_to(gain + i, n, 0.0f), n);
        });
    }
}

void normalise(const float* x, const float* gain, const float* shift, float epsilon, int64_t rows, int64_t width,
               int64_t stride, float* out) {
    if (!shift) return normalise_size(x, gain, epsilon, rows, width, stride, out);
    for (int64_t row = 0; row < rows; row++, x += stride, out += stride) {
        Float mean = splat(sum_each(width, [&](int64_t i, int64_t n) { return load_up_to(x + i, n, 0.0f); }) / width);
        float squares = sum_each(width, [&](int64_t i, int64_t n) {
            Float apart = n == WIDTH ? load(x + i) - mean : load_part(x + i, n, mean[0]) - mean;
            return apart * apart;
        });
        // An infinite sum gives NaN, not zeros that hide it.
        Float scale = splat(1.0f / __builtin_sqrtf(squares / width + epsilon) + 0.0f * squares);
        each(width, [&](int64_t i, int64_t n) {
            Float apart = (load_up_to(x + i, n, 0.0f) - mean) * scale;
            store_up_to(out + i, fma(apart, load_up_to(gain + i, n, 0.0f), load_up_to(shift + i, n, 0.0f)), n);
        });
    }
}

void add(const float* x, float* y, int64_t count) {
    each(count, [&](int64_t i, int64_t n) {
        store_up_to(y + i, load_up_to(y + i, n, 0.0f) + load_up_to(x + i, n, 0.0f), n);
    });
}

template <Float function(Float)> inline void apply(float* x, int64_t rows, int64_t width, int64_t stride) {
    for (int64_t row = 0; row < rows; row++, x += stride)
        each(width, [&](int64_t i, int64_t n) { store_up_to(x + i, function(load_up_to(x + i, n, 0.0f)), n); });
}

void activate(Activation kind, float* x, int64_t rows, int64_t width, int64_t stride) {
    switch (kind) {
        case Activation::relu: return apply<relu>(x, rows, width, stride);
        case Activation::gelu: return apply<gelu>(x, rows, width, stride);
        case Activation::quick_gelu: return apply<quick_gelu>(x, rows, width, stride);
        case Activation::swish: return apply<swish>(x, rows, width, stride);
        case Activation::swiglu:
            for (int64_t row = 0; row < rows; row++, x += stride) {
                const float* values = x + width;
                each(width, [&](int64_t i, int64_t n) {
                    Float gate = load_up_to(x + i, n, 0.0f);
                    store_up_to(x + i, swish(gate) * load_up_to(values + i, n, 0.0f), n);
                });
            }
    }
}

void recur(const float* candidate, const float* forget, float* state, float* out, int64_t width) {
    each(width, [&](int64_t i, int64_t n) {
        Float f = sigmoid(load_up_to(forget + i, n, 0.0f));
        Float c = load_up_to(candidate + i, n, 0.0f);
        Float next = fma(f, load_up_to(state + i, n, 0.0f) - c, c);
        store_up_to(state + i, next, n);
        store_up_to(out + i, relu(next), n);
    });
}

// Attention ------------------------------------------------------------------

alignas(64) constexpr float ZEROS[WIDTH] = {};

// For keys and values, which are float32, or bfloat16 to save memory.
inline Float widen(const float* p) { return load(p); }

template <class Number> inline Float widen_up_to(const Number* p, int64_t n) {
    if (n == WIDTH) return widen(p);
    Number part[WIDTH] = {};
    __builtin_memcpy(part, p, size_t(n) * sizeof *p);
    return widen(part);
}

// scale query . keys[t] + bias[t] for n keys, at most WIDTH; then -inf. `offset` finds the head in a position. PARTS:
// vectors of a head, 0 for any width.
template <int PARTS, class Number>
inline Float score(const float* query, const Number* const* keys, int64_t offset, int64_t n, int64_t width,
                   const float* bias, float scale) {
    Float products[WIDTH] = {};
#pragma GCC unroll 4
    for (int group = 0; group < WIDTH; group += 4) {
        if (group >= n) break;
#pragma GCC unroll 4
        for (int i = group; i < group + 4; i++) {
            const Number* key = keys[i < n ? i : 0] + offset;
            Float sum{};
            if (PARTS) {
#pragma GCC unroll 16
                for (int d = 0; d < PARTS; d++) sum = fma(load(query + d * WIDTH), widen(key + d * WIDTH), sum);
            } else {
                each(width, [&](int64_t d, int64_t m) {
                    sum = fma(load_up_to(query + d, m, 0.0f), widen_up_to(key + d, m), sum);
                });
            }
            products[i] = sum;
        }
    }
    return fma(totals(products), splat(scale), load_up_to(bias ? bias : ZEROS, n, -INFINITE));
}

inline void soften(float* x, int64_t count) {
    Float most = splat(-INFINITE);
    each(count, [&](int64_t i, int64_t n) { most = max(load_up_to(x + i, n, -INFINITE), most); });
    Float top = splat(greatest(most));
    float sum = sum_each(count, [&](int64_t i, int64_t n) {
        Float e = exponential(load_up_to(x + i, n, -INFINITE) - top);
        store_up_to(x + i, e, n);
        return e;
    });
    Float share = splat(1.0f / sum);
    each(count, [&](int64_t i, int64_t n) { store_up_to(x + i, load_up_to(x + i, n, 0.0f) * share, n); });
}

// out = the sums of weights[t] values[t] for HEADS heads of PARTS vectors, from `offset` in a position. SHARED: all
// of them have the same values.
template <int HEADS, int PARTS, bool SHARED = false, class Number>
inline void gather(const float* weights, int64_t stride, const Number* const* values, int64_t offset, int64_t count,
                   float* out) {
    Float sums[HEADS * PARTS] = {};
    for (int64_t t = 0; t < count; t++) {
        const Number* value = values[t] + offset;
#pragma GCC unroll 8
        for (int head = 0; head < HEADS; head++) {
            Float w = splat(weights[head * stride + t]);
#pragma GCC unroll 8
            for (int i = head * PARTS; i < (head + 1) * PARTS; i++)
                sums[i] = fma(w, widen(value + (SHARED ? i - head * PARTS : i) * WIDTH), sums[i]);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < HEADS * PARTS; i++) store(out + i * WIDTH, sums[i]);
}

// One head of any width.
template <class Number>
inline void gather_head(const float* weights, const Number* const* values, int64_t offset, int64_t count, int64_t width,
                        float* out) {
    int64_t d = 0;
    for (; d + 8 * WIDTH <= width; d += 8 * WIDTH) gather<1, 8>(weights, 0, values, offset + d, count, out + d);
    for (; d + 4 * WIDTH <= width; d += 4 * WIDTH) gather<1, 4>(weights, 0, values, offset + d, count, out + d);
    for (; d + WIDTH <= width; d += WIDTH) gather<1, 1>(weights, 0, values, offset + d, count, out + d);
    if (d == width) return;
    Float sum{};
    for (int64_t t = 0; t < count; t++)
        sum = fma(splat(weights[t]), widen_up_to(values[t] + offset + d, width - d), sum);
    store_part(out + d, sum, width - d);
}

template <int PARTS, class Number>
inline void attend_heads(const float* query, const Number* const* keys, const Number* const* values,
                         const float* bias, float scale, int64_t count, int64_t heads, int64_t shared, int64_t width,
                         float* weights, float* out) {
    // Rows padded to whole vectors are faster: the processor cannot pass parts of vectors from a store to a load.
    constexpr int64_t ROOM = 4096;
    alignas(64) float room[ROOM];
    const int64_t padded = round_up(count, WIDTH);
    const bool fits = heads * padded <= ROOM;
    const int64_t stride = fits ? padded : count;
    float* rows = fits ? room : weights;
    for (int64_t t = 0; t < count; t += WIDTH) {
        const int64_t n = count - t < WIDTH ? count - t : WIDTH;
        for (int64_t head = 0, offset = 0; head < heads; offset += width)
            for (const int64_t end = head + shared; head < end; head++) {
                Float scores = score<PARTS>(query + head * width, keys + t, offset, n, width,
                                            bias ? bias + head * count + t : nullptr, scale);
                store_up_to(rows + head * stride + t, scores, fits ? WIDTH : n);
            }
    }
    for (int64_t head = 0; head < heads; head++) soften(rows + head * stride, stride);
    int64_t head = 0;
    if constexpr (PARTS > 0 && PARTS <= 8) {
        constexpr int HEADS = 8 / PARTS;  // at once
        for (; shared == 1 && head + HEADS <= heads; head += HEADS)
            gather<HEADS, PARTS>(rows + head * stride, stride, values, head * width, count, out + head * width);
        if (HEADS > 1 && shared % HEADS == 0)
            for (; head < heads; head += HEADS)
                gather<HEADS, PARTS, true>(rows + head * stride, stride, values, head / shared * width, count,
                                           out + head * width);
    }
    for (; head < heads; head++)
        gather_head(rows + head * stride, values, head / shared * width, count, width, out + head * width);
    if (!fits) return;
    for (head = 0; head < heads; head++)
        each(count, [&](int64_t i, int64_t n) {
            store_up_to(weights + head * count + i, load(room + head * stride + i), n);
        });
}

template <class Number>
inline void attend_to(const float* query, const Number* const* keys, const Number* const* values, const float* bias,
                      float scale, int64_t count, int64_t heads, int64_t shared, int64_t width, float* weights,
                      float* out) {
    switch (width % WIDTH ? 0 : width / WIDTH) {
        case 1: return attend_heads<1>(query, keys, values, bias, scale, count, heads, shared, width, weights, out);
        case 2: return attend_heads<2>(query, keys, values, bias, scale, count, heads, shared, width, weights, out);
        case 4: return attend_heads<4>(query, keys, values, bias, scale, count, heads, shared, width, weights, out);
        case 8: return attend_heads<8>(query, keys, values, bias, scale, count, heads, shared, width, weights, out);
        case 16: return attend_heads<16>(query, keys, values, bias, scale, count, heads, shared, width, weights, out);
        default: return attend_heads<0>(query, keys, values, bias, scale, count, heads, shared, width, weights, out);
    }
}

void attend(const float* query, const float* const* keys, const float* const* values, const float* bias, float scale,
            int64_t count, int64_t heads, int64_t shared, int64_t width, float* weights, float* out) {
    attend_to(query, keys, values, bias, scale, count, heads, shared, width, weights, out);
}

void attend_bfloat16(const float* query, const uint16_t* const* keys, const uint16_t* const* values, const float* bias,
                     float scale, int64_t count, int64_t heads, int64_t shared, int64_t width, float* weights,
                     float* out) {
    attend_to(query, keys, values, bias, scale, count, heads, shared, width, weights, out);
}

void narrow(const float* x, int64_t count, uint16_t* out) {
    each(count, [&](int64_t i, int64_t n) {
        Halves halves = round_to_bfloat16(load_up_to(x + i, n, 0.0f));
        __builtin_memcpy(out + i, &halves, size_t(n) * sizeof *out);
    });
}

// Logits ---------------------------------------------------------------------

void sum_exponentials(const float* logits, int64_t count, float* max_, float* sum_) {
    Float most = splat(*max_);
    each(count, [&](int64_t i, int64_t n) { most = max(load_up_to(logits + i, n, -INFINITE), most); });
    float top = greatest(most);
    float zero = top == -INFINITE ? 0.0f : top;  // -inf - -inf would be NaN
    float sum = sum_each(count, [&](int64_t i, int64_t n) {
        return exponential(load_up_to(logits + i, n, -INFINITE) - splat(zero));
    });
    float before = exponential(splat(*max_ - zero))[0];
    *sum_ = *sum_ * before + sum;
    *max_ = top;
}

// Insert into a descending list. Ids ascend from call to call, so an equal value goes behind.
inline void insert(float value, int32_t id, int64_t best, float* values, int32_t* ids) {
    int64_t i = best - 1;
    for (; i > 0 && value > values[i - 1]; i--) {
        values[i] = values[i - 1];
        ids[i] = ids[i - 1];
    }
    values[i] = value;
    ids[i] = id;
}

void find_best(const float* logits, int64_t count, int32_t first, int64_t best, float* values, int32_t* ids) {
    if (best <= 0) return;
    float& last = values[best - 1];
    auto enter = [&](int64_t i, uint32_t candidates) {
        for (; candidates; candidates &= candidates - 1) {
            int64_t at = i + __builtin_ctz(candidates);
            if (logits[at] > last) insert(logits[at], int32_t(first + at), best, values, ids);
        }
    };
    int64_t i = 0;
    for (; i + 4 * WIDTH <= count; i += 4 * WIDTH) {
        Float a = load(logits + i), b = load(logits + i + WIDTH);
        Float c = load(logits + i + 2 * WIDTH), d = load(logits + i + 3 * WIDTH), bar = splat(last);
        uint32_t in[4] = {above(a, bar), above(b, bar), above(c, bar), above(d, bar)};
        if (!(in[0] | in[1] | in[2] | in[3])) continue;
        for (int j = 0; j < 4; j++) enter(i + j * WIDTH, in[j]);
    }
    for (; i < count; i += WIDTH) {
        int64_t n = count - i < WIDTH ? count - i : WIDTH;
        enter(i, above(load_up_to(logits + i, n, -INFINITE), splat(last)));
    }
}
