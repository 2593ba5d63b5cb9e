// The shape of a model: `TransformerOptions` in models/shapes.py as numbers.
#pragma once

#include <cstdint>

#include "kernels.h"

namespace dragoman {

enum class Positions : int32_t {
    sinusoidal, sinusoidal_halves, sinusoidal_t2t, learned, learned_apart, index, fraction, none, relative, t5, alibi, rotary
};
enum class Tie : int32_t { all, decoder, none };

// Laid out as `_Shape` in translation/native/library.py.
struct Shape {
    int32_t source_vocab, target_vocab;
    int32_t width, hidden, heads;  // E, F, H
    int32_t kv_heads;              // of keys and values in the decoder: each serves heads / kv_heads of the queries
    int32_t encoder_layers, decoder_layers;
    int32_t pad, start, end;  // ids
    Tie tie;
    Positions positions;
    int32_t activation;  // an Activation
    int32_t window;      // positions that each position sees; 0 for all
    int32_t ssru, pre_norm, rms_norm, final_norm, scale_embeddings, norm_embeddings, attention_bias, output_bias;  // bool
    float epsilon;

    int64_t head() const { return width / heads; }                 // D
    int64_t stride() const { return round_up(width, PANEL); }      // of a row of states
    int64_t kv_width() const { return head() * kv_heads; }         // of a key in the decoder
    int64_t pair() const { return round_up(2 * kv_width(), PANEL); }  // of a key and a value in the decoder
};

}  // namespace dragoman
