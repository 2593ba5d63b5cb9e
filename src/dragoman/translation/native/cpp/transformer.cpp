#include "transformer.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace dragoman {
namespace {

constexpr int64_t SHARED = 64 * 1024;  // bytes of weights of a product that are worth sharing
constexpr int64_t PIECES = 8;          // of a shared product
constexpr int64_t LINE = 64;           // bytes of a line of the processor's cache

// Ask for numbers that are needed soon. The keys of one row are read while those of the one before are in use.
template <class Number> void fetch(const Number* numbers, int64_t count) {
    const char* bytes = reinterpret_cast<const char*>(numbers);
    for (int64_t i = 0; i < count * int64_t(sizeof(Number)); i += LINE) __builtin_prefetch(bytes + i);
}

}  // namespace


Transformer::Transformer(const Model& model, const std::atomic<bool>& closing, const std::vector<Change>* changes)
    : model_(model),
      closing_(closing),
      shape_(model.shape),
      kernels_(*model.kernels),
      changes_(changes),
      source_positions_(model, changes ? *changes : std::vector<Change>(), Stack::encoder),
      positions_(model, {}, Stack::decoder),
      narrow_(model.type != Type::float32 && !model.logits.packed().multiplier && !changes) {}

template <> Transformer::Places<float>& Transformer::places() { return wide_places_; }
template <> Transformer::Places<uint16_t>& Transformer::places() { return narrow_places_; }

int64_t Transformer::slot_size() const {
    return shape_.decoder_layers * (shape_.ssru ? shape_.stride() : narrow_ ? shape_.pair() / 2 : shape_.pair());
}

void Transformer::encode(const std::vector<Source*>& sources) {
    tokens_.clear(), position_.clear(), length_.clear();
    auto block = free_block();
    for (Source* source : sources) {
        source->block = block;
        source->first = int64_t(tokens_.size());
        for (int64_t t = 0; t < source->length(); t++) {
            tokens_.push_back(source->tokens[t]);
            position_.push_back(t);
            length_.push_back(source->length());
        }
    }
    const int64_t rows = block->rows = int64_t(tokens_.size());
    const float* x = embed(model_.source_embedding, source_positions_, model_.source_embedding_norm, rows);
    for (int64_t i = 0; i < shape_.encoder_layers; i++) {
        const EncoderLayer& layer = model_.encoder[i];
        check_open();
        residual(layer.attention_norm, rows, [&](const float* in) { return attend_to_all(i, sources, in, rows); });
        residual(layer.feed_forward_norm, rows, [&](const float* in) { return feed_forward(layer.feed_forward, in, rows); });
    }
    if (!model_.encoder_norm.gain.empty()) {
        float* normed = normed_.get(rows * shape_.stride());
        normalise(model_.encoder_norm, x, rows, normed);
        x = normed;
    }
    // Keys and values of every decoder layer, once a sentence. Layers with the same multiplier share the prepared input.
    const int64_t size = rows * shape_.pair();
    float* numbers = block->numbers.get(shape_.decoder_layers * (narrow_ ? size / 2 : size));
    Input input;
    float multiplier = -1;
    for (const DecoderLayer& layer : model_.decoder) {
        const Packed& packed = layer.cross_attention.keys_values.packed();
        if (packed.multiplier != multiplier) input = prepare(layer.cross_attention.keys_values, x, shape_.stride(), rows);
        multiplier = packed.multiplier;
        float* out = narrow_ ? projected_.get(size) : numbers;
        multiply(packed, input, rows, 0, packed.panels, out, shape_.pair());
        if (narrow_) kernels_.narrow(out, size, reinterpret_cast<uint16_t*>(numbers));
        numbers += narrow_ ? size / 2 : size;
    }
}

const float* Transformer::step(const std::vector<Row>& rows) {
    const int64_t count = int64_t(rows.size());
    tokens_.clear(), position_.clear(), length_.clear();
    for (const Row& row : rows) {
        tokens_.push_back(row.token);
        position_.push_back(row.position);
        length_.push_back(row.source->length());
        row.cache->grow(row.position + 1);
    }
    const float* x = embed(model_.target_embedding, positions_, model_.target_embedding_norm, count);
    for (int64_t i = 0; i < shape_.decoder_layers; i++) {
        const DecoderLayer& layer = model_.decoder[i];
        check_open();
        residual(layer.attention_norm, count, [&](const float* in) {
            return shape_.ssru ? recur(layer.recurrence, i, rows, in)
                   : narrow_   ? attend_to_past<uint16_t>(layer.attention, i, rows, in)
                               : attend_to_past<float>(layer.attention, i, rows, in);
        });
        residual(layer.cross_attention_norm, count,
                 [&](const float* in) {
                     return narrow_ ? attend_to_source<uint16_t>(layer.cross_attention, i, rows, in)
                                    : attend_to_source<float>(layer.cross_attention, i, rows, in);
                 });
        residual(layer.feed_forward_norm, count, [&](const float* in) { return feed_forward(layer.feed_forward, in, count); });
    }
    if (model_.decoder_norm.gain.empty()) return x;
    float* states = states_.get(count * shape_.stride());
    normalise(model_.decoder_norm, x, count, states);
    return states;
}

void Transformer::shrink() {
    for (auto* buffer : {&x_, &normed_, &projected_, &heads_, &out_, &hidden_, &scales_, &bias_, &weights_, &states_, &logits_scales_})
        buffer->shrink();
    input_.shrink(), logits_input_.shrink();
    blocks_.clear();
}

void Transformer::prepare_logits(int64_t rows) {
    const Packed& packed = model_.logits.packed();
    const float* states = model_.decoder_norm.gain.empty() ? x_.get(0) : states_.get(0);
    prepared_ = kernels_.prepare(packed, states, shape_.stride(), rows, logits_input_.get(rows * packed.depth * 4),
                                 logits_scales_.get(rows));
}

void Transformer::logits(int64_t rows, int64_t first, int64_t last, float* out, int64_t stride) const {
    multiply(model_.logits.packed(), prepared_, rows, first, last, out, stride);
}

// x_ = embedding * sqrt(E) + position, sections 3.4 and 3.5, normalised if the model does so.
float* Transformer::embed(const Weights& embedding, PositionalEncoding& positions, const Norm& norm, int64_t rows) {
    float* x = x_.get(rows * shape_.stride());
    const float scale = shape_.scale_embeddings ? float(std::sqrt(double(shape_.width))) : 1.0f;
    for (int64_t i = 0; i < rows; i++) {
        float* row = x + i * shape_.stride();
        std::fill(row, row + shape_.stride(), 0.0f);
        read_rounded(model_.type, embedding, tokens_[i], row);
        for (int64_t e = 0; e < shape_.width; e++) row[e] *= scale;
        positions.embed(row, position_[i], length_[i]);
    }
    if (shape_.norm_embeddings) normalise(norm, x, rows, x);
    return x;
}

// Zero the heads that are switched off.
void Transformer::silence(float* heads, int64_t rows, Stack stack, int64_t layer) const {
    for (size_t c = 0; changes_ && c < changes_->size(); c++) {
        const Change& one = (*changes_)[c];
        if (one.what != Intervention::without || one.stack != stack || (one.layer >= 0 && one.layer != layer)) continue;
        const int64_t first = one.head < 0 ? 0 : one.head * shape_.head();
        for (int64_t i = 0; i < rows; i++)
            std::fill_n(heads + i * shape_.stride() + first, one.head < 0 ? shape_.width : shape_.head(), 0.0f);
    }
}

// x_ = LayerNorm(x_ + Sublayer(x_)), section 3.1, or x_ + Sublayer(LayerNorm(x_)).
template <class Sublayer> void Transformer::residual(const Norm& norm, int64_t rows, Sublayer sublayer) {
    float* x = x_.get(rows * shape_.stride());
    const float* in = x;
    if (shape_.pre_norm) {
        float* normed = normed_.get(rows * shape_.stride());
        normalise(norm, x, rows, normed);
        in = normed;
    }
    kernels_.add(sublayer(in), x, rows * shape_.stride());
    if (!shape_.pre_norm) normalise(norm, x, rows, x);
}

void Transformer::normalise(const Norm& norm, const float* x, int64_t rows, float* out) const {
    const float* shift = shape_.rms_norm ? nullptr : norm.shift.data();
    kernels_.normalise(x, norm.gain.data(), shift, shape_.epsilon, rows, shape_.width, shape_.stride(), out);
}

Input Transformer::prepare(const Linear& linear, const float* x, int64_t stride, int64_t rows) {
    const Packed& packed = linear.packed();
    return kernels_.prepare(packed, x, stride, rows, input_.get(rows * packed.depth * 4), scales_.get(rows));
}

// Return x W^T + b. Rows of the output are as wide as the panels of W.
const float* Transformer::product(const Linear& linear, const float* x, int64_t stride, int64_t rows,
                                  Buffer<float>& out) {
    const Packed& packed = linear.packed();
    float* result = out.get(rows * packed.panels * PANEL);
    multiply(packed, prepare(linear, x, stride, rows), rows, 0, packed.panels, result, packed.panels * PANEL);
    return result;
}

// A product, by the helpers too if there are any and the weights are large.
void Transformer::multiply(const Packed& packed, const Input& input, int64_t rows, int64_t first, int64_t last,
                           float* out, int64_t stride) const {
    const int64_t panels = last - first, bytes = size_of(packed.type);
    if (!team_ || panels < 2 * PIECES || panels * PANEL * packed.depth * bytes < SHARED)
        return kernels_.product(packed, input, rows, first, last, out, stride);
    const int64_t piece = round_up((panels + PIECES - 1) / PIECES, 2);  // products take panels in pairs
    team_->share((panels + piece - 1) / piece, [&](int64_t i) {
        const int64_t begin = i * piece, end = std::min(begin + piece, panels);
        kernels_.product(packed, input, rows, first + begin, first + end, out + begin * PANEL, stride);
    });
}

// FFN(x) = activation(x W_1 + b_1) W_2 + b_2, eq. 2.
const float* Transformer::feed_forward(const FeedForward& layer, const float* x, int64_t rows) {
    const int64_t stride = layer.inner.packed().panels * PANEL;
    product(layer.inner, x, shape_.stride(), rows, hidden_);
    float* hidden = hidden_.get(0);
    kernels_.activate(Activation(shape_.activation), hidden, rows, shape_.hidden, stride);
    return product(layer.outer, hidden, stride, rows, out_);
}

// Self-attention of the encoder: each position sees all of its sentence, or its window.
const float* Transformer::attend_to_all(int64_t number, const std::vector<Source*>& sources, const float* x, int64_t rows) {
    const SelfAttention& layer = model_.encoder[number].attention;
    const int64_t width = shape_.width, stride = layer.project.packed().panels * PANEL;
    product(layer.project, x, shape_.stride(), rows, projected_);
    float *projected = projected_.get(0), *heads = heads_.get(rows * shape_.stride());
    if (source_positions_.turns()) {
        for (int64_t i = 0; i < rows; i++) {
            source_positions_.turn(projected + i * stride, shape_.heads, position_[i]);
            source_positions_.turn(projected + i * stride + width, shape_.heads, position_[i]);
        }
    }
    const int64_t before = shape_.window ? shape_.window / 2 : rows, after = shape_.window ? shape_.window - 1 - before : rows;
    for (const Source* source : sources) {
        float* own = projected + source->first * stride;
        const int64_t length = source->length();
        for (int64_t t = 0; t < length; t++) {
            const int64_t first = std::max<int64_t>(t - before, 0), count = std::min(t + after + 1, length) - first;
            wide_places_.room(count);
            for (int64_t s = 0; s < count; s++) {
                wide_places_.keys[s] = own + (first + s) * stride + width;
                wide_places_.values[s] = wide_places_.keys[s] + width;
            }
            const float* query = own + t * stride;
            float *bias = bias_.get(shape_.heads * count), *out = heads + (source->first + t) * shape_.stride();
            const bool biased = source_positions_.bias(layer, query, t, first, count, false, bias);
            attend<float>(query, shape_.heads, biased ? bias : nullptr, count, out);
            source_positions_.values(layer, weights_.get(0), t, first, count, out);
        }
    }
    silence(heads, rows, Stack::encoder, number);
    return product(layer.output, heads, shape_.stride(), rows, out_);
}

// Self-attention of the decoder: a token sees itself and its past, or the newest of them.
template <class Number>
const float* Transformer::attend_to_past(const SelfAttention& layer, int64_t number, const std::vector<Row>& rows,
                                         const float* x) {
    const int64_t count = int64_t(rows.size()), width = shape_.width, kv_width = shape_.kv_width();
    const int64_t stride = layer.project.packed().panels * PANEL;
    Places<Number>& places = this->places<Number>();
    product(layer.project, x, shape_.stride(), count, projected_);
    float *projected = projected_.get(0), *heads = heads_.get(count * shape_.stride());
    for (int64_t i = 0; i < count; i++) {
        const Row& row = rows[i];
        float* query = projected + i * stride;
        positions_.turn(query, shape_.heads, row.position);
        positions_.turn(query + width, shape_.kv_heads, row.position);
        keep(query + width, 2 * kv_width, past_keys<Number>(row, row.position, row.slot, number));
        const int64_t first = shape_.window ? std::max<int64_t>(row.position + 1 - shape_.window, 0) : 0;
        const int64_t seen = row.position + 1 - first;
        places.room(seen);
        for (int64_t t = 0; t < seen; t++) {
            const int64_t slot = first + t == row.position ? row.slot : row.path[first + t];
            places.keys[t] = past_keys<Number>(row, first + t, slot, number);
            places.values[t] = places.keys[t] + kv_width;
        }
        if (i + 1 < count) {
            const Row& next = rows[i + 1];
            for (int64_t t = std::max<int64_t>(next.position - seen, 0); t < next.position; t++)
                fetch(past_keys<Number>(next, t, next.path[t], number), 2 * kv_width);
        }
        float *bias = bias_.get(shape_.heads * seen), *out = heads + i * shape_.stride();
        const bool biased = positions_.bias(layer, query, row.position, first, seen, true, bias);
        attend<Number>(query, shape_.kv_heads, biased ? bias : nullptr, seen, out);
        positions_.values(layer, weights_.get(0), row.position, first, seen, out);
    }
    silence(heads, count, Stack::decoder, number);
    return product(layer.output, heads, shape_.stride(), count, out_);
}

// The SSRU of Kim et al. 2019 in the place of self-attention. The state after each token takes a slot of the cache.
const float* Transformer::recur(const Recurrence& layer, int64_t number, const std::vector<Row>& rows, const float* x) {
    const int64_t count = int64_t(rows.size()), stride = shape_.stride();
    const float* candidate = product(layer.candidate, x, stride, count, projected_);
    const float* forget = product(layer.forget, x, stride, count, heads_);
    float* out = out_.get(count * stride);
    for (int64_t i = 0; i < count; i++) {
        const Row& row = rows[i];
        float* state = row.cache->at(row.position, row.slot) + number * stride;
        if (row.position) {
            const float* before = row.cache->at(row.position - 1, row.path[row.position - 1]) + number * stride;
            std::copy(before, before + stride, state);
        } else {
            std::fill(state, state + stride, 0.0f);
        }
        kernels_.recur(candidate + i * stride, forget + i * stride, state, out + i * stride, shape_.width);
    }
    return out;
}

// The keys and values of a source for a layer of the decoder, [S][2K].
template <class Number> const Number* Transformer::source_keys(const Source& source, int64_t layer) const {
    const Number* numbers = reinterpret_cast<const Number*>(source.block->numbers.get(0));
    return numbers + (layer * source.block->rows + source.first) * shape_.pair();
}

// The key and the value of an earlier token of a row.
template <class Number>
Number* Transformer::past_keys(const Row& row, int64_t position, int64_t slot, int64_t layer) const {
    return reinterpret_cast<Number*>(row.cache->at(position, slot)) + layer * shape_.pair();
}

void Transformer::keep(const float* x, int64_t count, float* out) const { std::copy(x, x + count, out); }

void Transformer::keep(const float* x, int64_t count, uint16_t* out) const { kernels_.narrow(x, count, out); }

// Attention of the decoder to the encoder's output, section 3.2.3.
template <class Number>
const float* Transformer::attend_to_source(const CrossAttention& layer, int64_t number, const std::vector<Row>& rows,
                                           const float* x) {
    const int64_t count = int64_t(rows.size()), pair = shape_.pair();
    const float* queries = product(layer.query, x, shape_.stride(), count, projected_);
    float* heads = heads_.get(count * shape_.stride());
    Places<Number>& places = this->places<Number>();
    const Source* source = nullptr;
    for (int64_t i = 0; i < count; i++) {
        const Row& row = rows[i];
        const int64_t length = row.source->length();
        if (row.source != source) {  // the rows of a sentence share its keys and values
            source = row.source;
            const Number* base = source_keys<Number>(*source, number);
            places.room(length);
            for (int64_t s = 0; s < length; s++) {
                places.keys[s] = base + s * pair;
                places.values[s] = places.keys[s] + shape_.kv_width();
            }
            int64_t next = i + 1;
            while (next < count && rows[next].source == source) next++;
            if (next < count) fetch(source_keys<Number>(*rows[next].source, number), rows[next].source->length() * pair);
        }
        attend<Number>(queries + i * shape_.stride(), shape_.kv_heads, nullptr, length, heads + i * shape_.stride());
        if (row.layer != number) continue;
        const float* weights = weights_.get(0);
        for (int64_t s = 0; s < length; s++) {
            float sum = 0;
            for (int64_t h = 0; h < shape_.heads; h++) sum += weights[h * length + s];
            row.attention[s] = row.head < 0 ? sum / float(shape_.heads) : weights[row.head * length + s];
        }
    }
    silence(heads, count, Stack::cross, number);
    return product(layer.output, heads, shape_.stride(), count, out_);
}

// Attention of one query to `count` keys and values of `kv_heads` heads in their places, eq. 1. Leaves the weights_HT in weights_.
template <class Number>
void Transformer::attend(const float* query, int64_t kv_heads, const float* bias, int64_t count, float* out) {
    const float scale = float(1 / std::sqrt(double(shape_.head())));
    const Places<Number>& places = this->places<Number>();
    float* weights = weights_.get(shape_.heads * count);
    auto with = [&](auto loop) {
        loop(query, places.keys.data(), places.values.data(), bias, scale, count, shape_.heads, shape_.heads / kv_heads,
             shape_.head(), weights, out);
    };
    if constexpr (std::is_same_v<Number, float>)
        with(kernels_.attend);
    else
        with(kernels_.attend_bfloat16);
}

std::shared_ptr<SourceBlock> Transformer::free_block() {
    for (const auto& block : blocks_)
        if (block.use_count() == 1) return block;
    blocks_.push_back(std::make_shared<SourceBlock>());
    return blocks_.back();
}

}  // namespace dragoman
