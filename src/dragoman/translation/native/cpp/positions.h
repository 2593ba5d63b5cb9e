// Positional encodings (section 3.5), as in models/layers/positions.py: on the input of the model, or in self-attention.
#pragma once

#include <cstdint>
#include <vector>

#include "model.h"
#include "trace.h"

namespace dragoman {

constexpr int64_t LONGEST_LEARNED = 1024;  // later positions share the last vector
constexpr int64_t FARTHEST = 16;           // of relative positions, k in Shaw et al. 2018
constexpr int64_t DISTANCES = 2 * FARTHEST + 1;
constexpr int64_t T5_BUCKETS = 32;

// The rows of a sinusoidal table, computed when they are first needed. Each thread has its own.
class Sinusoids {
  public:
    Sinusoids(Positions layout, int64_t width, double base) : layout_(layout), width_(width), base_(base) {}
    const float* row(int64_t position);

  private:
    Positions layout_;
    int64_t width_;
    double base_;
    std::vector<std::vector<float>> blocks_;  // of 256 rows; they never move
};

// Changes embeddings at a position, and queries and keys and attention by distance. Those of a stack may be changed.
class PositionalEncoding {
  public:
    PositionalEncoding(const Model& model, const std::vector<Change>& changes, Stack stack);

    // Add to, or overwrite a part of, the embedding at `position` of a sentence with `source` source tokens.
    void embed(float* x, int64_t position, int64_t source);

    // Rotate the queries or keys of `heads` heads at `position`, in place: Su et al. 2021.
    void turn(float* x, int64_t heads, int64_t position);
    bool turns() const { return kind_ == Positions::rotary; }
    // Whether the number of the position has the last dimension of the embedding for itself.
    bool replaces() const { return kind_ == Positions::index || kind_ == Positions::fraction; }

    // Write bias_HT of a query at `position` for keys at first .. first + count - 1. Returns false if the
    // encoding adds no bias. Relative positions read the query_HD and their vectors.
    bool bias(const SelfAttention& layer, const float* query, int64_t position, int64_t first, int64_t count,
              bool decoder, float* out) const;

    // Add to out_HD what relative positions add to the values, from weights_HT.
    void values(const SelfAttention& layer, const float* weights, int64_t position, int64_t first, int64_t count,
                float* out) const;

  private:
    const Model& model_;
    Positions kind_;
    const std::vector<float>& learned_;
    bool placed_ = true;  // whether tokens have positions,
    int64_t later_ = 0;   // and what is added to them
    Sinusoids sinusoids_, angles_;
    std::vector<float> slopes_;  // ALiBi, of each head
};

}  // namespace dragoman
