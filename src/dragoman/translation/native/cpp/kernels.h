// The loops over numbers, one table of functions for each instruction set.
//
// Every loop treats rows independently and sums in a fixed order. So the result of a row never depends on the
// number of rows, nor on its place among them.
//
// M rows, N outputs, K inputs, H heads, D head width, T keys.
#pragma once

#include <cstdint>

namespace dragoman {

enum class Type { float32, bfloat16, int8 };
enum class Activation { relu, gelu, quick_gelu, swish, swiglu };

constexpr int64_t PANEL = 16;  // outputs in a panel of packed weights

inline int64_t round_up(int64_t count, int64_t step) { return (count + step - 1) / step * step; }

inline int64_t size_of(Type type) { return type == Type::float32 ? 4 : type == Type::bfloat16 ? 2 : 1; }

// The weights of a linear layer, packed for products: panels of 16 outputs. A panel is [depth / R][16][R], with R
// consecutive inputs side by side: R is 1 for float32, 2 for bfloat16 and 4 for int8, as the instructions take them.
struct Packed {
    Type type = Type::float32;
    int64_t outputs = 0, inputs = 0;  // N, K
    int64_t panels = 0;               // N / 16, rounded up; the outputs left over are zeros
    int64_t depth = 0;                // K rounded up to 32 (bfloat16) or 64 (int8); the inputs left over are zeros
    const void* data = nullptr;       // aligned to 64 bytes
    const float* scale = nullptr;     // int8: of each of the 16 * panels outputs
    const int32_t* sums = nullptr;    // int8: of the weights of each of the 16 * panels outputs
    const float* bias = nullptr;      // of each of the 16 * panels outputs; null for no bias
    float multiplier = 0;             // int8: of all inputs; 0 for a scale of each row of inputs
};

// The inputs of a product, prepared by `prepare`.
struct Input {
    const void* data = nullptr;    // float32, bfloat16 or int8, as the weights
    const float* scale = nullptr;  // int8: of each row
    int64_t stride = 0;            // numbers from one row to the next
};

struct Kernels {
    const char* name;  // as the levels of processor.cpp

    // Prepare M rows of K numbers for a product with `w`, or with weights of the same type, size and multiplier. float32:
    // returns x itself. bfloat16: rounds to nearest even. int8: divides each row by scale = max |x| / 127 and rounds to
    // nearest even; a row of zeros has scale 0. With a multiplier, it multiplies by this, rounds to nearest even and clips
    // to -127 .. 127. NaN or infinity in a row makes its scale NaN. Rows are padded with zeros to the depth of `w`.
    // `buffer` holds M * depth * 4 bytes, of which an instruction set may use all, in an order of its own; `scales` M
    // numbers.
    Input (*prepare)(const Packed& w, const float* x, int64_t stride, int64_t rows, void* buffer, float* scales);

    // out = input * w^T + bias, for the outputs of panels first .. last - 1, which come first in each row of `out`:
    // 16 * (last - first) numbers a row.
    void (*product)(const Packed& w, const Input& input, int64_t rows, int64_t first, int64_t last, float* out,
                    int64_t stride);

    // out = (x - mean) / sqrt(variance + epsilon) * gain + shift for each row; may be in place. Without a `shift`
    // (null), RMSNorm: out = x / sqrt(mean(x^2) + epsilon) * gain.
    void (*normalise)(const float* x, const float* gain, const float* shift, float epsilon, int64_t rows, int64_t width,
                      int64_t stride, float* out);

    // y += x, over `count` numbers.
    void (*add)(const float* x, float* y, int64_t count);

    // Each of M rows of `width` numbers, in place. swiglu: a row is width gates, then width values; writes the first
    // half.
    void (*activate)(Activation kind, float* x, int64_t rows, int64_t width, int64_t stride);

    // One query against T keys, for all heads: weights_HT = softmax(scale q K^T + bias_HT), out_HD = weights V. Each
    // head of keys and values serves `shared` heads of the query, side by side: those of a position are
    // H / shared * D numbers at keys[t] and values[t]. `bias` may be null; -inf hides a key.
    void (*attend)(const float* query, const float* const* keys, const float* const* values, const float* bias,
                   float scale, int64_t count, int64_t heads, int64_t shared, int64_t width, float* weights,
                   float* out);

    // The same for keys and values that `narrow` made bfloat16.
    void (*attend_bfloat16)(const float* query, const uint16_t* const* keys, const uint16_t* const* values,
                            const float* bias, float scale, int64_t count, int64_t heads, int64_t shared,
                            int64_t width, float* weights, float* out);

    // Round to the nearest bfloat16, to even if two are as near.
    void (*narrow)(const float* x, int64_t count, uint16_t* out);

    // Continue a running sum: on return, sum * exp(max) includes exp(logit) of all. Begin with max -inf and sum 0.
    // NaN among the logits makes the sum NaN.
    void (*sum_exponentials)(const float* logits, int64_t count, float* max, float* sum);

    // Continue a list of the best: values, descending, with their ids; the lower id first among equals. `first` is the
    // id of logits[0]. Begin with `best` values of -inf and ids of -1. A logit of -inf never enters.
    void (*find_best)(const float* logits, int64_t count, int32_t first, int64_t best, float* values, int32_t* ids);

    // One step of an SSRU (Kim et al. 2019): state = f state + (1 - f) candidate with f = sigmoid(forget),
    // out = max(0, state).
    void (*recur)(const float* candidate, const float* forget, float* state, float* out, int64_t width);
};

// The table `name`, or the best for this processor if `name` is null. Null, with a message that this thread's next call
// overwrites, if the name is unknown or the processor lacks the instructions.
const Kernels* find_kernels(const char* name, const char** message);

// The table that DRAGOMAN_INSTRUCTIONS names, or else the best.
const Kernels* choose_kernels(const char** message);

}  // namespace dragoman
