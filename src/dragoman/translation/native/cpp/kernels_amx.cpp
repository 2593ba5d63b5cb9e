// The loops for processors with AMX: those of AVX-512, but for the products of bfloat16 and int8.
//
// A tile is 16 rows of 64 bytes. Tiles 0 to 3 hold sums, 4 and 5 inputs of 16 rows each, 6 and 7 a step of 16 x 4 bytes
// by 16 outputs of two panels: that is how panels are packed.
#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "kernels.h"

#if defined(__clang__)
#pragma clang attribute push( \
    __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,amx-tile,amx-int8,amx-bf16"))), \
    apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,amx-tile,amx-int8,amx-bf16")
#endif

namespace dragoman {

const Kernels* avx512_bf16_kernels();

namespace {

#include "vectors_avx512.inl"
inline Int splat_int(int32_t x) { return (Int)_mm512_set1_epi32(x); }
#include "products.inl"

constexpr int64_t TILE = 1024;  // bytes

struct alignas(64) Tiles {
    uint8_t palette, start, unused[14];
    uint16_t bytes[16];
    uint8_t rows[16];
};

// Configure the tiles of this thread, `rows` rows for sums and inputs, unless they are. Asking takes 10 ns, configuring
// 100 ns, as long as a small product takes. So the tiles stay configured, too.
inline void configure(int64_t rows) {
    const uint8_t r = uint8_t(rows);
    const Tiles wanted = {1, 0, {}, {64, 64, 64, 64, 64, 64, 64, 64}, {r, r, r, r, r, r, 16, 16}};
    Tiles present;
    _tile_storeconfig(&present);
    if (memcmp(&present, &wanted, sizeof wanted)) _tile_loadconfig(&wanted);
}

inline float* place(const Task& task, int64_t row, int64_t panel) {
    return task.out + row * task.stride + panel * PANEL - task.first;
}

// Sums of int8 that wait in memory to be scaled, which happens while the next tiles multiply.
struct Waiting {
    struct Tile {
        int64_t row, panel;
    };
    alignas(64) int32_t sums[4][16 * PANEL];
    Tile tiles[4];
    int count = 0;
};

inline void scale_tile(const Task& task, const int32_t* sums, int64_t rows, int64_t row, int64_t panel) {
    const int64_t output = panel * PANEL, stride = task.stride;
    const Float scale = load(task.w.scale + output), bias = task.w.bias ? load(task.w.bias + output) : splat(0.0f);
    const Int shift = OFFSET * load_int(task.w.sums + output);
    const float* scales = task.input.scale + row;
    float* out = place(task, row, panel);
#pragma GCC unroll 4
    for (int64_t i = 0; i < rows; i++) {
        Float sum = __builtin_convertvector(load_int(sums + i * PANEL) - shift, Float);
        store(out + i * stride, sum * (splat(scales[i]) * scale) + bias);
    }
}

inline void scale_waiting(const Task& task, Waiting& waiting) {
    for (int i = 0; i < waiting.count; i++)
        scale_tile(task, waiting.sums[i], task.rows < 16 ? task.rows : 16, waiting.tiles[i].row, waiting.tiles[i].panel);
    waiting.count = 0;
}

// Tiles are named by literals, so these are macros. Sums of bfloat16 begin with the bias.
#define BEGIN(tile, panel)                                                           \
    if (!INTEGERS && task.w.bias) _tile_loadd(tile, task.w.bias + (panel) * PANEL, 0); \
    else _tile_zero(tile)
#define MULTIPLY(sum, input, weights)                \
    if (INTEGERS) _tile_dpbusd(sum, input, weights); \
    else _tile_dpbf16ps(sum, input, weights)
#define END(tile, row, panel)                               \
    if (INTEGERS) {                                         \
        _tile_stored(tile, waiting.sums[tile], 4 * PANEL);  \
        waiting.tiles[tile] = {row, panel};                 \
    } else _tile_stored(tile, place(task, row, panel), 4 * task.stride)

inline const char* input_of(const Task& task, int64_t row) { return (const char*)task.input.data + row * task.bytes; }

inline const char* weights_of(const Task& task, int64_t panel) {
    return (const char*)task.w.data + panel * task.steps * STEP;
}

// 16 rows from `row` and 16 from `below`, by two panels.
template <bool INTEGERS> void multiply_2x2(const Task& task, int64_t row, int64_t below, int64_t panel, Waiting& waiting) {
    const char *x = input_of(task, row), *y = input_of(task, below);
    const char *v = weights_of(task, panel), *w = weights_of(task, panel + 1);
    BEGIN(0, panel);
    BEGIN(1, panel + 1);
    BEGIN(2, panel);
    BEGIN(3, panel + 1);
    for (int64_t step = task.steps; step > 0; step -= 16, x += STEP, y += STEP, v += TILE, w += TILE) {
        _tile_loadd(4, x, task.bytes);
        _tile_loadd(6, v, STEP);
        MULTIPLY(0, 4, 6);
        _tile_loadd(7, w, STEP);
        MULTIPLY(1, 4, 7);
        _tile_loadd(5, y, task.bytes);
        MULTIPLY(2, 5, 6);
        MULTIPLY(3, 5, 7);
    }
    if (INTEGERS) scale_waiting(task, waiting);
    waiting.count = 4;
    END(0, row, panel);
    END(1, row, panel + 1);
    END(2, below, panel);
    END(3, below, panel + 1);
}

// At most 16 rows, as many as are configured, by four panels.
template <bool INTEGERS> void multiply_1x4(const Task& task, int64_t row, int64_t panel, Waiting& waiting) {
    const char *x = input_of(task, row), *w = weights_of(task, panel);
    const int64_t apart = task.steps * STEP;
    BEGIN(0, panel);
    BEGIN(1, panel + 1);
    BEGIN(2, panel + 2);
    BEGIN(3, panel + 3);
    for (int64_t step = task.steps; step > 0; step -= 16, x += STEP, w += TILE) {
        _tile_loadd(4, x, task.bytes);
        _tile_loadd(6, w, STEP);
        MULTIPLY(0, 4, 6);
        _tile_loadd(7, w + apart, STEP);
        MULTIPLY(1, 4, 7);
        _tile_loadd(6, w + 2 * apart, STEP);
        MULTIPLY(2, 4, 6);
        _tile_loadd(7, w + 3 * apart, STEP);
        MULTIPLY(3, 4, 7);
    }
    if (INTEGERS) scale_waiting(task, waiting);
    waiting.count = 4;
    END(0, row, panel);
    END(1, row, panel + 1);
    END(2, row, panel + 2);
    END(3, row, panel + 3);
}

template <bool INTEGERS> void multiply_1x1(const Task& task, int64_t row, int64_t panel, Waiting& waiting) {
    const char *x = input_of(task, row), *w = weights_of(task, panel);
    BEGIN(0, panel);
    for (int64_t step = task.steps; step > 0; step -= 16, x += STEP, w += TILE) {
        _tile_loadd(4, x, task.bytes);
        _tile_loadd(6, w, STEP);
        MULTIPLY(0, 4, 6);
    }
    if (INTEGERS) scale_waiting(task, waiting);
    waiting.count = 1;
    END(0, row, panel);
}

#undef BEGIN
#undef MULTIPLY
#undef END

// All rows by at most four panels. The last 16 rows may overlap the 16 before: the same numbers are computed again.
template <bool INTEGERS> void multiply_panels(const Task& task, int64_t first, int64_t last, Waiting& waiting) {
    const int64_t rows = task.rows;
    int64_t row = 0;
    for (; row + 16 < rows; row += 32)
        for (int64_t panel = first; panel < last; panel += 2) {
            int64_t below = row + 32 <= rows ? row + 16 : rows - 16;
            if (panel + 2 <= last) {
                multiply_2x2<INTEGERS>(task, row, below, panel, waiting);
            } else {
                multiply_1x1<INTEGERS>(task, row, panel, waiting);
                multiply_1x1<INTEGERS>(task, below, panel, waiting);
            }
        }
    if (row >= rows) return;
    int64_t count = rows < 16 ? rows : 16;
    if (first + 4 == last) multiply_1x4<INTEGERS>(task, rows - count, first, waiting);
    else
        for (int64_t panel = first; panel < last; panel++)
            multiply_1x1<INTEGERS>(task, rows - count, panel, waiting);
}

template <bool INTEGERS> void multiply_tiles(const Task& task, int64_t first, int64_t last) {
    Waiting waiting;
    configure(task.rows < 16 ? task.rows : 16);
    for (int64_t panel = first; panel < last; panel += 4)
        multiply_panels<INTEGERS>(task, panel, panel + 4 < last ? panel + 4 : last, waiting);
    if (INTEGERS) scale_waiting(task, waiting);
}

void product(const Packed& w, const Input& input, int64_t rows, int64_t first, int64_t last, float* out,
             int64_t stride) {
    // One or two rows hardly use a tile. VNNI gives the same sums, sooner when a neighbour on the core uses AMX, too.
    if (w.type == Type::float32 || (w.type == Type::int8 && rows <= 2))
        return avx512_bf16_kernels()->product(w, input, rows, first, last, out, stride);
    if (rows <= 0 || first >= last) return;
    int64_t size = size_of(w.type);
    Task task{w, input, rows, first * PANEL, out, stride, w.depth * size / 4, input.stride * size};
    if (w.type == Type::int8) multiply_tiles<true>(task, first, last);
    else multiply_tiles<false>(task, first, last);
}

Kernels make_table() {
    Kernels table = *avx512_bf16_kernels();
    table.name = "amx";
    table.product = product;
    return table;
}

}  // namespace

const Kernels* amx_kernels() {
    static const Kernels table = make_table();
    return &table;
}

}  // namespace dragoman

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
