// The product of int8 for AVX2, which cannot multiply bytes exactly: `vpmaddubsw` saturates. It multiplies pairs of
// int16. Included after products.inl, in place of table.inl.
//
// With many rows it halves the multiplications, as Winograd 1968 does: of four inputs
//   x0 w0 + x1 w1 + x2 w2 + x3 w3 = (x0 + w1) (x1 + w0) + (x2 + w3) (x3 + w2) - (x0 x1 + x2 x3) - (w0 w1 + w2 w3).
// The last terms depend on a row or on an output alone. Integers make this exact. Four vector additions and
// multiplications replace four, but three of them are additions, which most processors start more of in a cycle.
//
// A row of the input is depth numbers of int16, each four in the order 0, 2, 1, 3; then the sum of x0 x1 + x2 x3 as
// int32, in 64 bytes of its own, which also keep rows from the same sets of the cache.

constexpr int64_t CHUNK = 128;     // steps of a panel whose int16 are made together: 16 kB, half of the nearest cache
constexpr int64_t WIDE_ROWS = 8;   // rows from which making them pays
constexpr int64_t PREFETCH = 8;    // steps of the next weights that are fetched during a block of rows
constexpr int BLOCK = 4;           // rows: 8 sums, 4 weights, 2 inputs and 2 temporaries take all 16 registers

inline __m256i even_bytes(__m256i v) { return _mm256_srai_epi16(_mm256_slli_epi16(v, 8), 8); }

inline __m256i odd_bytes(__m256i v) { return _mm256_srai_epi16(v, 8); }

inline Int multiply_pairs(__m256i a, __m256i b) { return (Int)_mm256_madd_epi16(a, b); }

inline int64_t pair_stride(int64_t depth) { return 2 * depth + 64; }  // bytes

// ---- inputs ----

// As prepare_int8, for one row in the order of pairs.
template <bool FIXED> inline float prepare_pairs(const Packed& w, const float* x, char* out) {
    const int64_t inputs = w.inputs, depth = w.depth;
    const float max = FIXED ? 0.0f : largest(x, inputs);
    if (!(max < INFINITE)) return __builtin_nanf("");  // the numbers do not matter
    const Float factor = splat(FIXED ? w.multiplier : factor_of(max));
    Int most{};
    auto part = [&](int64_t i) {
        if (i >= inputs) return Int{};
        Float numbers = load_up_to(x + i, inputs - i < WIDTH ? inputs - i : WIDTH, 0.0f);
        if (FIXED) most = larger(most, numbers);
        return rounded<FIXED>(numbers, factor);
    };
    const __m256i order = _mm256_setr_epi8(0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15, 0, 1, 4, 5, 2, 3, 6, 7,
                                           8, 9, 12, 13, 10, 11, 14, 15);
    Int sums{};
    int64_t i = 0;
    for (; i < inputs; i += 2 * WIDTH) {
        __m256i low = (__m256i)part(i), high = (__m256i)part(i + WIDTH);
        __m256i v = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xd8);
        v = _mm256_shuffle_epi8(v, order);
        sums += multiply_pairs(v, _mm256_shuffle_epi32(v, 0xb1));  // each product twice
        _mm256_storeu_si256((__m256i*)(out + 2 * i), v);
    }
    memset(out + 2 * i, 0, size_t(2 * (depth - i)));
    int32_t sum = 0;
    for (int lane = 0; lane < WIDTH; lane++) sum += sums[lane];
    sum /= 2;
    memcpy(out + 2 * depth, &sum, 4);
    if (!FIXED) return scale_of(max);
    return largest_of(most) < INFINITE ? 1.0f / w.multiplier : __builtin_nanf("");
}

Input prepare_types(const Packed& w, const float* x, int64_t stride, int64_t rows, void* buffer, float* scales) {
    if (w.type != Type::int8) return prepare(w, x, stride, rows, buffer, scales);
    for (int64_t row = 0; row < rows; row++) {
        char* out = (char*)buffer + row * pair_stride(w.depth);
        const float* from = x + row * stride;
        scales[row] = w.multiplier > 0 ? prepare_pairs<true>(w, from, out) : prepare_pairs<false>(w, from, out);
    }
    return {buffer, scales, pair_stride(w.depth)};
}

// ---- products ----

// Weights of `steps` steps of a panel as int16: a step is even inputs of all outputs, then odd ones. Returns by `sums`
// what to subtract from each output.
inline void widen_weights(const char* w, int64_t steps, char* out, Int* sums) {
    for (int64_t step = 0; step < steps; step++, w += STEP, out += 2 * STEP)
#pragma GCC unroll 4
        for (int i = 0; i < VECTORS; i++) {
            __m256i v = (__m256i)load_int(w + i * 4 * WIDTH), even = even_bytes(v), odd = odd_bytes(v);
            _mm256_store_si256((__m256i*)(out + i * 4 * WIDTH), even);
            _mm256_store_si256((__m256i*)(out + STEP + i * 4 * WIDTH), odd);
            sums[i] += multiply_pairs(even, odd);
        }
}

// Multiply ROWS rows by `steps` steps of one panel. WIDE: of int16 weights, by sums.
template <int ROWS, bool WIDE>
inline void add_steps(const char* w, const char* x, int64_t bytes, int64_t steps, Int (*out)[VECTORS]) {
    Int sums[ROWS][VECTORS];
    memcpy(sums, out, sizeof sums);
    for (int64_t step = 0; step < steps; step++, w += WIDE ? 2 * STEP : STEP, x += 8) {
        __m256i even[VECTORS], odd[VECTORS];
#pragma GCC unroll 4
        for (int i = 0; i < VECTORS; i++) {
            __m256i v = (__m256i)load_int(w + i * 4 * WIDTH);
            even[i] = WIDE ? v : even_bytes(v);
            odd[i] = WIDE ? (__m256i)load_int(w + STEP + i * 4 * WIDTH) : odd_bytes(v);
        }
#pragma GCC unroll 4
        for (int r = 0; r < ROWS; r++) {
            int32_t pair[2];
            memcpy(pair, x + r * bytes, 8);
            __m256i x_even = (__m256i)splat_int(pair[0]), x_odd = (__m256i)splat_int(pair[1]);
#pragma GCC unroll 4
            for (int i = 0; i < VECTORS; i++) {
                if (WIDE) {
                    sums[r][i] += multiply_pairs(_mm256_add_epi16(x_even, odd[i]), _mm256_add_epi16(x_odd, even[i]));
                } else {
                    sums[r][i] += multiply_pairs(even[i], x_even);
                    sums[r][i] += multiply_pairs(odd[i], x_odd);
                }
            }
        }
    }
    memcpy(out, sums, sizeof sums);
}

// ROWS rows from `row` by one panel. `subtract`: from the sums of all steps, or null. The sums of the chunks before
// `step` lie in the output.
template <int ROWS>
inline void multiply_part(const Task& task, int64_t row, int64_t panel, const char* w, int64_t step, int64_t steps,
                          const Int* subtract) {
    const char* x = (const char*)task.input.data + row * task.bytes;
    float* out = task.out + row * task.stride + panel * PANEL - task.first;
    Int sums[ROWS][VECTORS];
#pragma GCC unroll 4
    for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 4
        for (int i = 0; i < VECTORS; i++)
            sums[r][i] = step ? load_int(out + r * task.stride + i * WIDTH) : Int{};
    if (subtract) add_steps<ROWS, true>(w, x + 8 * step, task.bytes, steps, sums);
    else add_steps<ROWS, false>(w, x + 8 * step, task.bytes, steps, sums);
    if (step + steps < task.steps) {
#pragma GCC unroll 4
        for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 4
            for (int i = 0; i < VECTORS; i++) store(out + r * task.stride + i * WIDTH, (Float)sums[r][i]);
        return;
    }
#pragma GCC unroll 4
    for (int r = 0; r < ROWS; r++) {
        int32_t own = 0;
        if (subtract) memcpy(&own, x + r * task.bytes + 8 * task.steps, 4);
#pragma GCC unroll 4
        for (int i = 0; i < VECTORS; i++) {
            Int sum = sums[r][i];
            if (subtract) sum -= subtract[i] + splat_int(own);
            Float y = scale_sums(sum, task.w, task.input, row + r, panel * PANEL + i * WIDTH);
            if (task.w.bias) y += load(task.w.bias + panel * PANEL + i * WIDTH);
            store(out + r * task.stride + i * WIDTH, y);
        }
    }
}

// `next` to `end`: the weights that follow.
inline void multiply_all_rows(const Task& task, int64_t panel, const char* w, int64_t step, int64_t steps,
                              const Int* subtract, const char* next, const char* end) {
    int64_t row = 0;
    for (; row + BLOCK <= task.rows; row += BLOCK) {
        for (int64_t i = 0; i < PREFETCH && next < end; i++, next += STEP) __builtin_prefetch(next);
        multiply_part<BLOCK>(task, row, panel, w, step, steps, subtract);
    }
    switch (task.rows - row) {
        case 1: return multiply_part<1>(task, row, panel, w, step, steps, subtract);
        case 2: return multiply_part<2>(task, row, panel, w, step, steps, subtract);
        case 3: return multiply_part<3>(task, row, panel, w, step, steps, subtract);
    }
}

void multiply_int8(const Packed& w, const Input& input, int64_t rows, int64_t first, int64_t last, float* out,
                   int64_t stride) {
    const Task task{w, input, rows, first * PANEL, out, stride, w.depth / 4, input.stride};
    alignas(64) char wide[CHUNK * 2 * STEP];
    const char* end = (const char*)w.data + last * task.steps * STEP;
    for (int64_t panel = first; panel < last; panel++) {
        const char* weights = (const char*)w.data + panel * task.steps * STEP;
        if (rows < WIDE_ROWS) {
            multiply_all_rows(task, panel, weights, 0, task.steps, nullptr, nullptr, nullptr);
            continue;
        }
        Int subtract[VECTORS] = {};
        for (int64_t step = 0; step < task.steps; step += CHUNK) {
            const int64_t steps = task.steps - step < CHUNK ? task.steps - step : CHUNK;
            widen_weights(weights + step * STEP, steps, wide, subtract);
            multiply_all_rows(task, panel, wide, step, steps, subtract, weights + (step + steps) * STEP, end);
        }
    }
}

void product(const Packed& w, const Input& input, int64_t rows, int64_t first, int64_t last, float* out,
             int64_t stride) {
    switch (w.type) {
        case Type::float32: return multiply<DotFloat32>(w, input, rows, first, last, out, stride);
        case Type::bfloat16: return multiply<DotBfloat16>(w, input, rows, first, last, out, stride);
        case Type::int8: return multiply_int8(w, input, rows, first, last, out, stride);
    }
}

inline Kernels table_of(const char* name) {
    return {name,   prepare_types,   product, normalise,        add,       activate,
            attend, attend_bfloat16, narrow,  sum_exponentials, find_best, recur};
}
