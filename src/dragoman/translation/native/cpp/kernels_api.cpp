// The loops as C functions, for tests and benchmarks. A `level` is a table from dragoman_kernels_find.
#include <ctime>
#include <memory>
#include <vector>

#include "kernels.h"
#include "matrix.h"
#include "system.h"

using namespace dragoman;

namespace {

#if defined(__x86_64__) && defined(__linux__) && !defined(__clang__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
uint64_t read_all(const uint64_t* data, int64_t count, uint64_t bits) {
    for (int64_t i = 0; i < count; i++) bits ^= data[i];
    return bits;
}

}  // namespace

// Null, with a message, if the name is unknown or the processor lacks the instructions. A null name: the best.
EXPORT const Kernels* dragoman_kernels_find(const char* name, const char** message) { return find_kernels(name, message); }

// Weights [rows, columns] in a file's type; scale, and multiplier of inputs or 0, for int8 only; bias (float32) may be
// null. Free with _free.
EXPORT Linear* dragoman_kernels_pack(int type, int stored, const void* data, const float* scale, int64_t rows, int64_t columns,
                              const float* bias, float multiplier) {
    Weights weights{Stored(stored), rows, columns, data, scale}, added{Stored::float32, rows, 1, bias, nullptr};
    if (multiplier > 0) weights.multipliers = &multiplier, weights.blocks = 1;
    return new Linear(Type(type), weights, 0, rows, bias ? &added : nullptr);
}

EXPORT void dragoman_kernels_free(Linear* linear) { delete linear; }

EXPORT void dragoman_kernels_read_rounded(int type, int stored, const void* data, const float* scale, int64_t rows,
                                   int64_t columns, int64_t row, float* out) {
    read_rounded(Type(type), Weights{Stored(stored), rows, columns, data, scale}, row, out);
}

// Prepare x [rows, inputs] and multiply. `last` -1: all panels. Returns the number of panels.
EXPORT int64_t dragoman_kernels_product(const Kernels* level, const Linear* linear, const float* x, int64_t stride,
                                 int64_t rows, int64_t first, int64_t last, float* out, int64_t out_stride) {
    const Packed& w = linear->packed();
    std::vector<char> room(size_t(rows * w.depth * 4 + 64));
    std::vector<float> scales(size_t(rows) + 1);
    void* buffer = room.data();
    size_t space = room.size();
    std::align(64, room.size() - 63, buffer, space);
    Input input = level->prepare(w, x, stride, rows, buffer, scales.data());
    level->product(w, input, rows, first, last < 0 ? w.panels : last, out, out_stride);
    return w.panels;
}

// Seconds of processor time for a product of `rows` rows, prepared each time. The outputs come in stripes of 64 panels,
// which stay in the cache.
EXPORT double dragoman_kernels_time_product(const Kernels* level, const Linear* linear, int64_t rows,
                                            int64_t repeats) {
    const Packed& w = linear->packed();
    const int64_t stripe = w.panels < 64 ? w.panels : 64;
    std::vector<float> x(size_t(rows * w.inputs), 0.5f), scales(static_cast<size_t>(rows)), out(size_t(rows * stripe * PANEL));
    std::vector<float> room(size_t(rows * w.depth + 16));
    void* buffer = room.data();
    size_t space = 4 * room.size();
    std::align(64, space - 63, buffer, space);
    const std::clock_t begin = std::clock();
    for (int64_t i = 0; i < repeats; i++) {
        const Input input = level->prepare(w, x.data(), w.inputs, rows, buffer, scales.data());
        for (int64_t first = 0; first < w.panels; first += stripe) {
            const int64_t last = first + stripe < w.panels ? first + stripe : w.panels;
            level->product(w, input, rows, first, last, out.data(), stripe * PANEL);
        }
    }
    return double(std::clock() - begin) / CLOCKS_PER_SEC / double(repeats);
}

// Seconds to read the weights once.
EXPORT double dragoman_kernels_time_reading(const Linear* linear, int64_t repeats) {
    const Packed& w = linear->packed();
    const int64_t count = w.panels * PANEL * w.depth * size_of(w.type) / 8;
    uint64_t bits = 0;
    const std::clock_t begin = std::clock();
    for (int64_t i = 0; i < repeats; i++) bits ^= read_all(static_cast<const uint64_t*>(w.data), count, bits);
    const double seconds = double(std::clock() - begin) / CLOCKS_PER_SEC / double(repeats);
    return bits == 1 ? -seconds : seconds;  // uses the bits, so that the loop stays
}

EXPORT void dragoman_kernels_normalise(const Kernels* level, const float* x, const float* gain, const float* shift,
                                float epsilon, int64_t rows, int64_t width, int64_t stride, float* out) {
    level->normalise(x, gain, shift, epsilon, rows, width, stride, out);
}

EXPORT void dragoman_kernels_add(const Kernels* level, const float* x, float* y, int64_t count) { level->add(x, y, count); }

EXPORT void dragoman_kernels_activate(const Kernels* level, int kind, float* x, int64_t rows, int64_t width, int64_t stride) {
    level->activate(Activation(kind), x, rows, width, stride);
}

EXPORT void dragoman_kernels_attend(const Kernels* level, const float* query, const float* const* keys,
                             const float* const* values, const float* bias, float scale, int64_t count, int64_t heads,
                             int64_t shared, int64_t width, float* weights, float* out) {
    level->attend(query, keys, values, bias, scale, count, heads, shared, width, weights, out);
}

EXPORT void dragoman_kernels_attend_bfloat16(const Kernels* level, const float* query, const uint16_t* const* keys,
                                             const uint16_t* const* values, const float* bias, float scale,
                                             int64_t count, int64_t heads, int64_t shared, int64_t width,
                                             float* weights, float* out) {
    level->attend_bfloat16(query, keys, values, bias, scale, count, heads, shared, width, weights, out);
}

EXPORT void dragoman_kernels_narrow(const Kernels* level, const float* x, int64_t count, uint16_t* out) {
    level->narrow(x, count, out);
}

EXPORT void dragoman_kernels_sum_exponentials(const Kernels* level, const float* logits, int64_t count, float* max,
                                       float* sum) {
    level->sum_exponentials(logits, count, max, sum);
}

EXPORT void dragoman_kernels_find_best(const Kernels* level, const float* logits, int64_t count, int32_t first, int64_t best,
                                float* values, int32_t* ids) {
    level->find_best(logits, count, first, best, values, ids);
}

EXPORT void dragoman_kernels_recur(const Kernels* level, const float* candidate, const float* forget, float* state, float* out,
                            int64_t width) {
    level->recur(candidate, forget, state, out, width);
}
