// What a model computes for one sentence and a given translation, with every intermediate result, and changes to it.
//
// A path of its own, slow and clear: `Transformer` has no branches for it. Keys and values have float32.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model.h"

namespace dragoman {

// Of attention: of the encoder, of the decoder to itself, of the decoder to the source. Of positions and embeddings: source
// and target, which are the first two.
enum class Stack : int32_t { encoder, decoder, cross };

enum class Intervention : int32_t {
    without,       // a head: its part of the input of W^O is 0
    shift,         // `place` is added to the positions of the stack's tokens
    no_positions,  // the stack's tokens have no positions
    base,          // `number` in the place of 10000 in sines and cosines
    unscaled,      // logits of attention without 1 / sqrt(D)
    no_residual,   // only the output of a sub-layer: `place` is 0 for self-attention, 1 for cross-attention, 2 for feed-forward
    no_mask,       // every query of self-attention sees all keys
    embedding,     // `values` in the place of the scaled embedding of the token at `place`
    weights,       // `values` as the weights of the query at `place`
};

// Laid out as tests/translation/native/page.py and a page write it. Layers, heads and places count from 0; -1 is all of them.
struct Change {
    Intervention what;
    Stack stack;
    int32_t layer, head, place;
    int32_t first, count;  // of its values
    float number;
};

// What is wrong with a change of a run with these numbers of tokens, start and end included, or an empty string.
std::string fault(const Change& change, const Shape& shape, size_t source, size_t target, size_t values);

// Arrays by name, in one block. An array that is the output of a module has the module's name in models/transformer.py;
// the others have its name and queries, keys, values, logits, weights, heads, terms, hidden or states. source.embedding and source.input are
// the embeddings before and after positions, logits those of the tokens. Logits and weights are 0 where a key is hidden.
class Trace {
  public:
    // Read `source` and predict what follows each prefix of `target`; neither has start or end. Returns what is wrong, or an
    // empty string.
    std::string run(const Model& model, const std::vector<int32_t>& source, const std::vector<int32_t>& target,
                    const std::vector<Change>& changes, const std::vector<float>& values);

    // JSON: a list of {"name", "shape", "first"}, where `first` is the place in `numbers` of the array's first number.
    std::string directory() const;
    const std::vector<float>& numbers() const { return numbers_; }

    void keep(const std::string& name, const std::vector<int64_t>& shape, const std::vector<float>& numbers);

  private:
    struct Array {
        std::string name;
        std::vector<int64_t> shape;
        size_t first;
    };
    std::vector<Array> arrays_;
    std::vector<float> numbers_;
};

}  // namespace dragoman
