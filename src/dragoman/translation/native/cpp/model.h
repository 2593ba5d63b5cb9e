// The weights of a Transformer, or of one with an SSRU decoder, packed for products.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "matrix.h"
#include "shape.h"

namespace dragoman {

// A model that cannot be used. The message goes to the user.
struct Unusable : std::runtime_error {
    using std::runtime_error::runtime_error;
};

using NamedWeights = std::map<std::string, Weights>;
using Adapter = std::map<std::string, LowRank>;  // by the name of the layer

// The parts of an adapter, from its weights LAYER.lora.down and LAYER.lora.up. Raises Unusable if they do not pair.
Adapter read_adapter(const NamedWeights& weights, double scale);

struct Norm {
    std::vector<float> gain, shift;  // RMSNorm has no shift
};

// Vectors that are added for each distance, Shaw et al. 2018: [33][D].
struct RelativeVectors {
    std::vector<float> of_keys, of_values;
};

struct SelfAttention {
    Linear project, output;  // W^Q, W^K and W^V as one; W^O
    RelativeVectors relative;
};

struct CrossAttention {
    Linear query, keys_values, output;
};

struct Recurrence {
    Linear candidate, forget;
};

struct FeedForward {
    Linear inner, outer;
};

struct EncoderLayer {
    SelfAttention attention;
    FeedForward feed_forward;
    Norm attention_norm, feed_forward_norm;
};

struct DecoderLayer {
    SelfAttention attention;  // or:
    Recurrence recurrence;
    CrossAttention cross_attention;
    FeedForward feed_forward;
    Norm attention_norm, cross_attention_norm, feed_forward_norm;
};

struct Model {
    Shape shape;
    Type type;
    const Kernels* kernels;
    Weights source_embedding, target_embedding;
    std::vector<EncoderLayer> encoder;
    std::vector<DecoderLayer> decoder;
    Norm encoder_norm, decoder_norm, source_embedding_norm, target_embedding_norm;
    Linear logits;
    std::vector<float> learned, learned_apart;  // positions: [LONGEST][E]; those of the decoder, if they are apart
    std::vector<float> t5_encoder, t5_decoder;  // [32][H]

    // Pack the weights with `threads` threads. With `mapped`, the weights lie in a mapped file. Then the
    // pages of each weight are given back after it is packed. Raises Unusable if a weight is missing or has another shape.
    Model(const Shape& shape, Type type, const Kernels* kernels, const NamedWeights& weights, bool mapped, int threads);

    // `base` with an adapter. Packs anew the layers that the adapter is on and shares the others with `base`. `weights`
    // are those of `base`, where they were. Raises Unusable if the adapter does not fit.
    Model(const Model& base, const NamedWeights& weights, bool mapped, const Adapter& adapter, int threads);

  private:
    template <class Packer> void read(Packer& packer);
};

}  // namespace dragoman
