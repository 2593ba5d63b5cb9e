// Packing of weights.
#include "matrix.h"

#include <cstring>
#include <limits>
#include <new>
#include <vector>

#include "system.h"
#include "threads.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace dragoman {
namespace {

float from_bits(uint32_t bits) {
    float x;
    std::memcpy(&x, &bits, 4);
    return x;
}

uint32_t bits_of(float x) {
    uint32_t bits;
    std::memcpy(&bits, &x, 4);
    return bits;
}

// Multiplying by 2^112 moves the exponent of a half to that of a float and makes subnormal numbers normal.
float from_half(uint16_t half) {
    float x = from_bits(uint32_t(half & 0x7fff) << 13) * 0x1p112f;
    uint32_t special = (half & 0x7c00) == 0x7c00 ? 0x7f800000 : 0;  // infinity and NaN
    return from_bits(bits_of(x) | special | uint32_t(half & 0x8000) << 16);
}

uint16_t to_bfloat16(float x) {
    uint32_t bits = bits_of(x);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return uint16_t((bits & 0x7fffffff) > 0x7f800000 ? bits >> 16 | 0x40 : rounded);
}

// max |x| / 127; NaN if a number is infinite or NaN.
float int8_scale(const float* x, int64_t count) {
    uint32_t most = 0;  // as integers, NaN > infinity > numbers
    for (int64_t i = 0; i < count; i++) {
        uint32_t bits = bits_of(x[i]) & 0x7fffffff;
        most = bits > most ? bits : most;
    }
    return most < 0x7f800000 ? from_bits(most) / 127.0f : std::numeric_limits<float>::quiet_NaN();
}

// x / scale to nearest even. Adding 1.5 * 2^23 rounds and leaves the integer in the lowest bits.
void to_int8(const float* x, int64_t count, float scale, int8_t* out) {
    bool usable = scale > 0.0f;  // else all numbers are zero, or the scale is NaN
    for (int64_t i = 0; i < count; i++) {
        int32_t shifted = int32_t(bits_of(x[i] / scale + 12582912.0f));
        out[i] = int8_t(usable ? shifted - 0x4B400000 : 0);
    }
}

// Panels are written 16 rows of 4 bytes at a time: [16 rows][steps] becomes [steps][16 rows].
void interleave(const uint32_t* rows, int64_t steps, int64_t stride, uint32_t* out) {
    int64_t step = 0;
#if defined(__SSE2__)
    for (; step + 4 <= steps; step += 4)
        for (int r = 0; r < 16; r += 4) {
            const float* from = reinterpret_cast<const float*>(rows + r * stride + step);
            float* to = reinterpret_cast<float*>(out + step * 16 + r);
            __m128 a = _mm_loadu_ps(from), b = _mm_loadu_ps(from + stride);
            __m128 c = _mm_loadu_ps(from + 2 * stride), d = _mm_loadu_ps(from + 3 * stride);
            _MM_TRANSPOSE4_PS(a, b, c, d);
            _mm_storeu_ps(to, a);
            _mm_storeu_ps(to + 16, b);
            _mm_storeu_ps(to + 32, c);
            _mm_storeu_ps(to + 48, d);
        }
#endif
    for (; step < steps; step++)
        for (int r = 0; r < 16; r++) out[step * 16 + r] = rows[r * stride + step];
}

// Memory for packed weights comes from large blocks, in huge pages where the system has them: page faults and misses
// of the address cache cost more than the packing.
std::shared_ptr<void> allocate(size_t bytes) {
#if defined(__wasm__)
    constexpr size_t LARGE = size_t(1) << 16;  // memory grows by pages of 64 KB
#else
    constexpr size_t LARGE = size_t(2) << 20;
#endif
    constexpr size_t BLOCK = 16 * LARGE;
    static std::mutex mutex;
    static std::shared_ptr<char> block;
    static size_t left = 0, size = 0;
    bytes = (bytes + 63) / 64 * 64;
    std::lock_guard<std::mutex> lock(mutex);
    if (bytes > left) {
        const size_t more = bytes > BLOCK ? (bytes + LARGE - 1) / LARGE * LARGE : BLOCK;
        void* memory = allocate_aligned(LARGE, more);
        if (!memory) throw std::bad_alloc();  // and the old block stays as it is
#if defined(__linux__)
        madvise(memory, more, MADV_HUGEPAGE);
#endif
        block = std::shared_ptr<char>(static_cast<char*>(memory), free_aligned);
        left = size = more;
    }
    std::shared_ptr<void> memory(block, block.get() + (size - left));
    left -= bytes;
    if (!left) block.reset();
    return memory;
}

int64_t depth_of(Type type, int64_t inputs) {
    return type == Type::float32 ? inputs : round_up(inputs, type == Type::bfloat16 ? 32 : 64);
}

// Number `i` in a file, where nothing need be aligned.
template <class Number> Number at(const void* data, int64_t i) {
    Number number;
    std::memcpy(&number, static_cast<const char*>(data) + i * int64_t(sizeof number), sizeof number);
    return number;
}

// Convert a row to `type`, padded with zeros to `depth`. int8: also find its scale and sum. `x` is room for a row.
void convert(Type type, const Weights& weights, int64_t row, int64_t depth, float* x, void* out, float* scale,
             int32_t* sum) {
    const int64_t columns = weights.columns;
    if (type == Type::float32) return weights.read(row, static_cast<float*>(out));
    std::memset(out, 0, size_t(depth * size_of(type)));
    if (type == Type::bfloat16) {
        uint16_t* to = static_cast<uint16_t*>(out);
        weights.read(row, x);
        for (int64_t i = 0; i < columns; i++) to[i] = to_bfloat16(x[i]);
        return;
    }
    int8_t* to = static_cast<int8_t*>(out);
    if (weights.stored == Stored::int8 && !weights.added) {
        *scale = at<float>(weights.scale, row);
        std::memcpy(to, static_cast<const int8_t*>(weights.data) + row * columns, size_t(columns));
    } else {
        weights.read(row, x);
        *scale = int8_scale(x, columns);
        to_int8(x, columns, *scale, to);
    }
    *sum = 0;
    for (int64_t i = 0; i < columns; i++) *sum += to[i];
}

void read_stored(const Weights& weights, int64_t row, float* out) {
    const int64_t columns = weights.columns, begin = row * columns;
    const void* data = weights.data;
    switch (weights.stored) {
        case Stored::float32: std::memcpy(out, static_cast<const char*>(data) + begin * 4, size_t(columns) * 4); return;
        case Stored::float64:
            for (int64_t i = 0; i < columns; i++) out[i] = float(at<double>(data, begin + i));
            return;
        case Stored::float16:
            for (int64_t i = 0; i < columns; i++) out[i] = from_half(at<uint16_t>(data, begin + i));
            return;
        case Stored::bfloat16:
            for (int64_t i = 0; i < columns; i++) out[i] = from_bits(uint32_t(at<uint16_t>(data, begin + i)) << 16);
            return;
        case Stored::int8: {
            const float scale = at<float>(weights.scale, row);
            for (int64_t i = 0; i < columns; i++) out[i] = float(at<int8_t>(data, begin + i)) * scale;
            return;
        }
    }
}

}  // namespace

void Weights::read(int64_t row, float* out) const {
    read_stored(*this, row, out);
    if (added) added->add(row, out);
}

float Weights::multiplier(int64_t first, int64_t count) const {
    if (!blocks) return 0;
    const int64_t size = rows / blocks;
    const float found = at<float>(multipliers, first / size);
    for (int64_t block = first / size; block <= (first + count - 1) / size; block++)
        if (at<float>(multipliers, block) != found) return std::numeric_limits<float>::quiet_NaN();
    return found;
}

LowRank::LowRank(const Weights& down_, const Weights& up_, double scale_)
    : rank(up_.columns),
      blocks(down_.rows / up_.columns),
      outputs(up_.rows),
      inputs(down_.columns),
      scale(scale_),
      down(size_t(down_.rows * down_.columns)),
      up(size_t(up_.rows * up_.columns)) {
    for (int64_t row = 0; row < down_.rows; row++) down_.read(row, down.data() + row * inputs);
    for (int64_t row = 0; row < up_.rows; row++) up_.read(row, up.data() + row * rank);
}

void LowRank::add(int64_t row, float* out) const {
    std::vector<double> sum(static_cast<size_t>(inputs));
    const bool first = blocks == 1 || row < inputs;
    const int64_t block = first ? 0 : 1 + (row - inputs) / ((outputs - inputs) / (blocks - 1));
    const float* from = down.data() + block * rank * inputs;
    for (int64_t r = 0; r < rank; r++, from += inputs) {
        const double factor = up[size_t(row * rank + r)];
        for (int64_t i = 0; i < inputs; i++) sum[size_t(i)] += factor * from[i];
    }
    for (int64_t i = 0; i < inputs; i++) out[i] = float(out[i] + scale * sum[size_t(i)]);
}

Linear::Linear(Type type, const Weights& weights, int64_t first, int64_t count, const Weights* bias) {
    const int64_t panels = round_up(count, PANEL) / PANEL, outputs = panels * PANEL;
    const int64_t depth = depth_of(type, weights.columns), bytes = depth * size_of(type), steps = bytes / 4;
    memory_ = allocate(size_t(outputs * (bytes + 12)));
    char* data = static_cast<char*>(memory_.get());
    float* scales = reinterpret_cast<float*>(data + outputs * bytes);
    int32_t* sums = reinterpret_cast<int32_t*>(scales + outputs);
    float* biases = reinterpret_cast<float*>(sums + outputs);
    std::memset(scales, 0, size_t(outputs * 12));

    const int64_t stride = steps + 16;  // not a power of 2, so that the rows lie in different sets of the cache
    std::vector<float> x(size_t(weights.columns));
    std::vector<uint32_t> rows(size_t(PANEL * stride));
    for (int64_t panel = 0; panel < panels; panel++) {
        for (int64_t r = 0; r < PANEL; r++) {
            const int64_t output = panel * PANEL + r;
            uint32_t* row = rows.data() + r * stride;
            if (output < count) convert(type, weights, first + output, depth, x.data(), row, scales + output, sums + output);
            else std::memset(row, 0, size_t(bytes));
        }
        interleave(rows.data(), steps, stride, reinterpret_cast<uint32_t*>(data) + panel * PANEL * steps);
    }
    if (bias)
        for (int64_t i = 0; i < count; i++) bias->read(first + i, biases + i);
    const bool integers = type == Type::int8;
    packed_ = {type, count, weights.columns, panels, depth, data, integers ? scales : nullptr, integers ? sums : nullptr,
               bias ? biases : nullptr,
               integers && !weights.added ? weights.multiplier(first, count) : 0};
}

void read_rounded(Type type, const Weights& weights, int64_t row, float* out) {
    weights.read(row, out);
    if (type == Type::bfloat16)
        for (int64_t i = 0; i < weights.columns; i++) out[i] = from_bits(uint32_t(to_bfloat16(out[i])) << 16);
    if (type != Type::int8 || weights.stored == Stored::int8) return;
    const float scale = int8_scale(out, weights.columns);
    std::vector<int8_t> bytes(size_t(weights.columns));
    to_int8(out, weights.columns, scale, bytes.data());
    for (int64_t i = 0; i < weights.columns; i++) out[i] = float(bytes[size_t(i)]) * scale;
}

}  // namespace dragoman
