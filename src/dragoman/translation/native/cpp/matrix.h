// Weights as they come from a file, and as products take them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels.h"

namespace dragoman {

enum class Stored { float32, float64, float16, bfloat16, int8 };

struct LowRank;

// A matrix in a file that is mapped to memory. It is read row by row, so its pages can be given back.
struct Weights {
    Stored stored = Stored::float32;
    int64_t rows = 0, columns = 0;  // a vector has one column
    const void* data = nullptr;
    const float* scale = nullptr;    // int8: of each row
    const LowRank* added = nullptr;  // the part of an adapter
    const float* multipliers = nullptr;  // int8: of the inputs of the product, for each of `blocks` equal blocks of rows
    int64_t blocks = 0;

    // Read a row as float32, with what is added.
    void read(int64_t row, float* out) const;
    // The multiplier of the inputs of a product with these rows. 0: they have no multiplier. NaN: they have several.
    float multiplier(int64_t first, int64_t count) const;
};

// The part of an adapter for one matrix: scale * up down, as models/lora.py computes it. Each block of rows of the
// matrix has a down of its own: [blocks][rank][inputs]. Up is [outputs][rank]. Of several blocks the first is square,
// and the others have equally many rows (`block_sizes` in models/adapter.py).
struct LowRank {
    int64_t rank, blocks, outputs, inputs;
    double scale;
    std::vector<float> down, up;

    LowRank(const Weights& down, const Weights& up, double scale);
    bool fits() const { return blocks == 1 || (outputs > inputs && (outputs - inputs) % (blocks - 1) == 0); }
    // Add to a row of the matrix. Sums have float64.
    void add(int64_t row, float* out) const;
};

// The packed weights of a linear layer, with the memory that they need.
class Linear {
  public:
    Linear() = default;
    // Pack rows first .. first + count - 1 of `weights`, and as many of `bias`, which may be null.
    // int8: scale = max |w| / 127 for each output, weights rounded to nearest even. Weights stored as int8 keep their
    // numbers, scales and multiplier, unless something is added.
    Linear(Type type, const Weights& weights, int64_t first, int64_t count, const Weights* bias);
    const Packed& packed() const { return packed_; }

  private:
    Packed packed_;
    std::shared_ptr<void> memory_;  // of all that packed_ points to
};

// Read row `row` of an embedding as the product with it sees the row: rounded to `type`.
void read_rounded(Type type, const Weights& weights, int64_t row, float* out);

}  // namespace dragoman
