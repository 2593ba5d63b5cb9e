// The product for NEON, included instead of products.inl after vectors_neon.inl.
//
// The instructions multiply a vector of weights by one number, or one group of numbers, that is a lane of another
// vector. So one load of 16 bytes of a row serves 4 steps of a panel. A step is 64 bytes: 4 vectors, each of 4 outputs
// by 4 bytes.
//
// A Dot says how to multiply:
//   ROWS: of a unit, which is processed together; SUMS: vectors of sums for a unit and 4 outputs
//   UNITS, REGISTERS: units at once and registers for sums (of 32), at most
//   STEPS: of a panel that one `add` takes; SINGLE: a panel may have steps that are no multiple of 4
//   weights(w): steps for 4 outputs, the first at w
//   input(x, bytes): 16 bytes of each row of a unit, with `bytes` from row to row
//   add<J>(sum, w, x): the sum with the products of w and x; J counts the adds within the 16 bytes
//   row(sum, r): the sums of row r

// Without a first scheduling, which moves loads to where registers are lacking.
#if !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("no-schedule-insns")
#endif

constexpr int QUARTERS = PANEL / WIDTH;
constexpr int64_t STEP = 64;

inline Int zip_lower(Int a, Int b) { return (Int)vzip1q_s32((int32x4_t)a, (int32x4_t)b); }
inline Int zip_upper(Int a, Int b) { return (Int)vzip2q_s32((int32x4_t)a, (int32x4_t)b); }
inline Int lower_halves(Int a, Int b) { return (Int)vzip1q_s64((int64x2_t)a, (int64x2_t)b); }
inline Int upper_halves(Int a, Int b) { return (Int)vzip2q_s64((int64x2_t)a, (int64x2_t)b); }

template <class Vector> struct DotLanes {
    static constexpr int ROWS = 1, SUMS = 1, UNITS = 6, REGISTERS = 24, STEPS = 1;
    static constexpr bool SINGLE = false;
    typedef Vector Sum;
    static Int weights(const char* w) { return load_int(w); }
    static Int input(const char* x, int64_t) { return load_int(x); }
    static Vector row(Vector sum, int) { return sum; }
};

struct DotFloat32 : DotLanes<Float> {
    static constexpr bool SINGLE = true;
    template <int J> static void add(Float& sum, Int w, Int x) {
        __asm__("fmla %0.4s, %1.4s, %2.s[%3]" : "+w"(sum) : "w"(w), "w"(x), "i"(J));
    }
};

// A bfloat16 is the upper half of a float32.
struct DotBfloat16 : DotLanes<Float> {
    static constexpr int UNITS = 4, REGISTERS = 16;
    struct Pair {
        Int even, odd;
    };
    static Pair split(Int v) { return {v << 16, v & Int{-65536, -65536, -65536, -65536}}; }
    static Pair weights(const char* w) { return split(load_int(w)); }
    static Pair input(const char* x, int64_t) { return split(load_int(x)); }
    template <int J> static void add(Float& sum, Pair w, Pair x) {
        DotFloat32::add<J>(sum, w.even, x.even);
        DotFloat32::add<J>(sum, w.odd, x.odd);
    }
};

// Two products of bytes fit into 16 bits, as inputs are at least -127. So two steps are added before sums of 32 bits,
// of which each output has two: of even and of odd pairs of inputs.
struct DotInt8 {
    static constexpr int ROWS = 1, SUMS = 2, UNITS = 2, REGISTERS = 16, STEPS = 2;
    static constexpr bool SINGLE = false;
    struct Sum {
        Int lower{}, upper{};
    };
    struct Steps {
        Int first, second;
    };
    static Steps weights(const char* w) { return {load_int(w), load_int(w + STEP)}; }
    static Int input(const char* x, int64_t) { return load_int(x); }
    template <int J> static void add(Sum& sum, Steps w, Int x) {
        const int8x16_t a = (int8x16_t)w.first, b = (int8x16_t)w.second;
        const int8x16_t c = (int8x16_t)vdupq_laneq_s32((int32x4_t)x, 2 * J);
        const int8x16_t d = (int8x16_t)vdupq_laneq_s32((int32x4_t)x, 2 * J + 1);
        const int16x8_t lower = vmlal_s8(vmull_s8(vget_low_s8(a), vget_low_s8(c)), vget_low_s8(b), vget_low_s8(d));
        const int16x8_t upper = vmlal_high_s8(vmull_high_s8(a, c), b, d);
        sum.lower = (Int)vpadalq_s16((int32x4_t)sum.lower, lower);
        sum.upper = (Int)vpadalq_s16((int32x4_t)sum.upper, upper);
    }
    static Int row(Sum sum, int) { return (Int)vpaddq_s32((int32x4_t)sum.lower, (int32x4_t)sum.upper); }
};

// For instructions that multiply 2 rows of 8 bytes by 8 bytes of 2 outputs. Two steps zipped are 8 bytes of each output,
// and `pair_rows` has put 8 bytes of both rows side by side. Multiply::multiply adds these four products to a vector.
template <class Vector, class Multiply> struct DotPairs {
    static constexpr int ROWS = 2, SUMS = 2, UNITS = 5, REGISTERS = 24, STEPS = 2;
    static constexpr bool SINGLE = false;
    struct Sum {
        Vector lower{}, upper{};  // outputs 0 and 1 of both rows, outputs 2 and 3 of both rows
    };
    struct Two {
        Int lower, upper;
    };
    static Two weights(const char* w) {
        const Int a = load_int(w), b = load_int(w + STEP);
        return {zip_lower(a, b), zip_upper(a, b)};
    }
    static Two input(const char* x, int64_t bytes) { return {load_int(x), load_int(x + bytes)}; }
    template <int J> static void add(Sum& sum, Two w, Two x) {
        Multiply::multiply(sum.lower, J ? x.upper : x.lower, w.lower);
        Multiply::multiply(sum.upper, J ? x.upper : x.lower, w.upper);
    }
    static Vector row(Sum sum, int r) {
        return (Vector)(r ? upper_halves((Int)sum.lower, (Int)sum.upper) : lower_halves((Int)sum.lower, (Int)sum.upper));
    }
};

// Exchange 8 bytes of every 16 between the rows of each pair, so that each vector has 8 bytes of both. A row left over
// at the end stays as it is.
inline void pair_rows(char* x, int64_t rows, int64_t bytes) {
    for (; rows >= 2; rows -= 2, x += 2 * bytes)
        for (int64_t i = 0; i < bytes; i += 16) {
            const Int a = load_int(x + i), b = load_int(x + bytes + i);
            const Int first = lower_halves(a, b), second = upper_halves(a, b);
            memcpy(x + i, &first, 16);
            memcpy(x + bytes + i, &second, 16);
        }
}

// The rows from `row` of an input of `size` bytes a number.
inline Input rows_from(const Input& input, int64_t row, int64_t size) {
    return {(const char*)input.data + row * input.stride * size, input.scale ? input.scale + row : nullptr, input.stride};
}

struct Task {
    const Packed& w;
    const Input& input;
    int64_t units;
    float* out;
    int64_t stride;
    int64_t first;  // output of column 0 of `out`
    int64_t steps;  // of a panel
    int64_t bytes;  // from one row of the input to the next
};

inline Float result(Float sum, const Packed&, float, int64_t) { return sum; }

inline Float result(Int sum, const Packed& w, float scale, int64_t output) {
    return __builtin_convertvector(sum, Float) * (splat(scale) * load(w.scale + output));
}

// The adds J, J + 1 ... within 16 bytes of each row.
template <class Dot, int UNITS, int VECTORS, int J = 0, class X>
inline void add_steps(typename Dot::Sum (&sums)[UNITS][VECTORS], const char* w, int64_t apart, const X* x) {
#pragma GCC unroll 16
    for (int i = 0; i < VECTORS; i++) {
        const auto weights = Dot::weights(w + i / QUARTERS * apart + i % QUARTERS * 16 + J * Dot::STEPS * STEP);
#pragma GCC unroll 16
        for (int u = 0; u < UNITS; u++) Dot::template add<J>(sums[u][i], weights, x[u]);
    }
    if constexpr ((J + 1) * Dot::STEPS < 4) add_steps<Dot, UNITS, VECTORS, J + 1>(sums, w, apart, x);
}

// UNITS units from `unit` by VECTORS vectors of outputs from `vector`, all sums in registers.
template <class Dot, int UNITS, int VECTORS> void multiply_block(const Task& task, int64_t unit, int64_t vector) {
    typename Dot::Sum sums[UNITS][VECTORS] = {};
    const int64_t apart = task.steps * STEP, bytes = task.bytes, row = unit * Dot::ROWS, output = vector * WIDTH;
    const char* x = (const char*)task.input.data + row * bytes;
    const char* w = (const char*)task.w.data + vector / QUARTERS * apart + vector % QUARTERS * 16;
    int64_t step = 0;
    for (; step + 4 <= task.steps; step += 4, x += 16, w += 4 * STEP) {
        decltype(Dot::input(x, bytes)) inputs[UNITS];
#pragma GCC unroll 16
        for (int u = 0; u < UNITS; u++) inputs[u] = Dot::input(x + u * Dot::ROWS * bytes, bytes);
        add_steps<Dot, UNITS, VECTORS>(sums, w, apart, inputs);
    }
    if constexpr (Dot::SINGLE)  // other types have whole vectors
        for (; step < task.steps; step++, x += 4, w += STEP)
#pragma GCC unroll 16
            for (int i = 0; i < VECTORS; i++) {
                const Int weights = Dot::weights(w + i / QUARTERS * apart + i % QUARTERS * 16);
#pragma GCC unroll 16
                for (int u = 0; u < UNITS; u++)
                    Dot::template add<0>(sums[u][i], weights, (Int)vld1q_dup_f32((const float*)(x + u * bytes)));
            }
#pragma GCC unroll 16
    for (int u = 0; u < UNITS; u++)
#pragma GCC unroll 2
        for (int r = u * Dot::ROWS; r < (u + 1) * Dot::ROWS; r++) {
            const float scale = task.input.scale ? task.input.scale[row + r] : 1.0f;
            float* out = task.out + (row + r) * task.stride + output - task.first;
#pragma GCC unroll 16
            for (int i = 0; i < VECTORS; i++) {
                const int64_t at = output + i * WIDTH;
                Float y = result(Dot::row(sums[u][i], r - u * Dot::ROWS), task.w, scale, at);
                if (task.w.bias) y += load(task.w.bias + at);
                store(out + i * WIDTH, y);
            }
        }
}

// Vectors of outputs at once, a power of 2. `each`: registers that the sums of one take.
constexpr int vectors_for(int each, int registers) {
    int vectors = 4 * QUARTERS;
    while (vectors > 2 && vectors * each > registers) vectors /= 2;
    return vectors;
}

template <class Dot, int UNITS, int VECTORS = vectors_for(UNITS * Dot::SUMS, Dot::REGISTERS)>
void multiply_units(const Task& task, int64_t first, int64_t last) {
    int64_t vector = first;
    for (; vector + VECTORS <= last; vector += VECTORS)
        for (int64_t unit = 0; unit < task.units; unit += UNITS)
            // The last block may overlap the one before: it computes the same numbers again.
            multiply_block<Dot, UNITS, VECTORS>(task, unit + UNITS <= task.units ? unit : task.units - UNITS, vector);
    if constexpr (VECTORS > QUARTERS) multiply_units<Dot, UNITS, QUARTERS>(task, vector, last);
}

// Blocks of `size` units, which is at most UNITS.
template <class Dot, int UNITS> void multiply_by(int64_t size, const Task& task, int64_t first, int64_t last) {
    if (size == UNITS) return multiply_units<Dot, UNITS>(task, first * QUARTERS, last * QUARTERS);
    if constexpr (UNITS > 1) multiply_by<Dot, UNITS - 1>(size, task, first, last);
}

// Of a Dot with pairs, `rows` is even.
template <class Dot>
void multiply(const Packed& w, const Input& input, int64_t rows, int64_t first, int64_t last, float* out,
              int64_t stride) {
    const int64_t units = rows / Dot::ROWS, blocks = (units + Dot::UNITS - 1) / Dot::UNITS;
    const int64_t size = size_of(w.type);
    const Task task{w, input, units, out, stride, first * PANEL, w.depth * size / 4, input.stride * size};
    if (units > 0) multiply_by<Dot, Dot::UNITS>((units + blocks - 1) / blocks, task, first, last);
}

#if !defined(__clang__)
#pragma GCC pop_options
#endif
