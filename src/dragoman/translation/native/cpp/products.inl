// The product, written once for every type and width of vectors. Included after kernels.inl, or after the same
// definitions.
//
// A step of a panel is 64 bytes, for 16 outputs 4 bytes each: one float32, two bfloat16 or four int8 inputs. So one
// loop serves all types: it multiplies each 4 bytes of a row with 64 bytes of the panel. A Dot says how:
//   Sum: the vector of sums; add(sum, w, x): the sum with the products of w, a vector of the panel, and x, 4 bytes of
//   the row in each lane; REGISTERS: that all sums may take; finish(sum, w, input, row, output): the results as Float, less the bias.

constexpr int VECTORS = PANEL / WIDTH;  // in a step of a panel
constexpr int64_t STEP = 64;            // bytes

struct DotFloat32 {
    static constexpr int REGISTERS = SUMS;
    typedef Float Sum;
    static Sum add(Sum sum, Int w, Int x) { return fma((Float)x, (Float)w, sum); }
    static Float finish(Sum sum, const Packed&, const Input&, int64_t, int64_t) { return sum; }
};

// A bfloat16 is the upper half of a float32.
struct DotBfloat16 {
    static constexpr int REGISTERS = SUMS * 2 / 3;
    typedef Float Sum;
    static Sum add(Sum sum, Int w, Int x) {
        sum = fma((Float)(x << 16), (Float)(w << 16), sum);
        Int upper = splat_int(int32_t(0xffff0000));
        return fma((Float)(x & upper), (Float)(w & upper), sum);
    }
    static Float finish(Sum sum, const Packed&, const Input&, int64_t, int64_t) { return sum; }
};

inline Float scale_sums(Int sum, const Packed& w, const Input& input, int64_t row, int64_t output) {
    if (OFFSET) sum -= OFFSET * load_int(w.sums + output);
    return __builtin_convertvector(sum, Float) * (splat(input.scale[row]) * load(w.scale + output));
}

struct Task {
    const Packed& w;
    const Input& input;
    int64_t rows;
    int64_t first;  // output of column 0 of `out`
    float* out;
    int64_t stride;
    int64_t steps;  // of a panel
    int64_t bytes;  // from one row of the input to the next
};

// ROWS rows from `row` by PANELS panels from `panel`, all sums in registers.
template <class Dot, int ROWS, int PANELS> void multiply_block(const Task& task, int64_t row, int64_t panel) {
    constexpr int N = PANELS * VECTORS;
    typename Dot::Sum sums[ROWS][N] = {};
    const char* x = (const char*)task.input.data + row * task.bytes;
    const char* w = (const char*)task.w.data + panel * task.steps * STEP;
    const int64_t apart = task.steps * STEP, bytes = task.bytes;
    for (int64_t step = 0; step < task.steps; step++, x += 4, w += STEP) {
        Int weights[N];
#pragma GCC unroll 16
        for (int i = 0; i < N; i++) weights[i] = load_int(w + i / VECTORS * apart + i % VECTORS * (4 * WIDTH));
#pragma GCC unroll 16
        for (int r = 0; r < ROWS; r++) {
            int32_t four;
            memcpy(&four, x + r * bytes, 4);
            Int inputs = splat_int(four);
#pragma GCC unroll 16
            for (int i = 0; i < N; i++) sums[r][i] = Dot::add(sums[r][i], weights[i], inputs);
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 16
        for (int i = 0; i < N; i++) {
            int64_t output = panel * PANEL + i * WIDTH;
            Float y = Dot::finish(sums[r][i], task.w, task.input, row + r, output);
            if (task.w.bias) y += load(task.w.bias + output);
            store(task.out + (row + r) * task.stride + output - task.first, y);
        }
}

// Panels at once for a number of rows: a power of 2, so that the sums fit into the registers.
constexpr int panels_for(int rows, int registers) {
    int panels = 8;
    while (panels > 1 && panels * VECTORS * rows > registers) panels /= 2;
    return panels;
}

template <class Dot, int ROWS, int PANELS> void multiply_rows(const Task& task, int64_t first, int64_t last) {
    int64_t panel = first;
    for (; panel + PANELS <= last; panel += PANELS)
        for (int64_t row = 0; row < task.rows; row += ROWS)
            // The last block may overlap the one before: it computes the same numbers again.
            multiply_block<Dot, ROWS, PANELS>(task, row + ROWS <= task.rows ? row : task.rows - ROWS, panel);
    // Fewer panels for those left over; not every power of 2, to compile faster.
    if constexpr (PANELS > 1) multiply_rows<Dot, ROWS, PANELS == 8 ? 2 : 1>(task, panel, last);
}

constexpr int most_rows(int registers) {
    int rows = 1;
    while ((rows + 1) * VECTORS * (rows + 1 > 6 ? 2 : 1) <= registers) rows++;
    return rows;
}

// Blocks of `size` rows, which is at most ROWS.
template <class Dot, int ROWS>
void multiply_by(int64_t size, const Task& task, int64_t first, int64_t last) {
    if (size == ROWS) return multiply_rows<Dot, ROWS, panels_for(ROWS, Dot::REGISTERS)>(task, first, last);
    if constexpr (ROWS > 1) multiply_by<Dot, ROWS - 1>(size, task, first, last);
}

template <class Dot>
void multiply(const Packed& w, const Input& input, int64_t rows, int64_t first, int64_t last, float* out,
              int64_t stride) {
    if (rows <= 0) return;
    constexpr int MOST = most_rows(Dot::REGISTERS);
    const int64_t size = size_of(w.type), blocks = (rows + MOST - 1) / MOST;
    Task task{w, input, rows, first * PANEL, out, stride, w.depth * size / 4, input.stride * size};
    multiply_by<Dot, MOST>((rows + blocks - 1) / blocks, task, first, last);
}
