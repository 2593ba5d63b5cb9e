#include "trace.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "memory.h"
#include "positions.h"

namespace dragoman {
namespace {

constexpr size_t LONGEST = 512;  // tokens of each side, because the attention of all layers is kept

using Numbers = std::vector<float>;  // rows side by side, without padding

// S source tokens, T target tokens, N rows of either, H heads, D head width, E model width, K width of a key.
class Pass {
  public:
    Pass(Trace& trace, const Model& model, const std::vector<Change>& changes, const std::vector<float>& values, double base)
        : trace_(trace), model_(model), shape_(model.shape), changes_(changes), values_(values), positions_(model, base) {}

    void run(const std::vector<int32_t>& source, const std::vector<int32_t>& target) {
        source_ = int64_t(source.size());
        Numbers x = embed(Stack::encoder, source);
        for (int32_t i = 0; i < shape_.encoder_layers; i++) {
            const EncoderLayer& layer = model_.encoder[size_t(i)];
            const std::string name = "encoder." + std::to_string(i);
            residual(x, layer.attention_norm, Stack::encoder, i, 0, name + ".attention", [&](const Numbers& in) {
                return attend_to_self(layer.attention, in, Stack::encoder, i, name + ".attention");
            });
            residual(x, layer.feed_forward_norm, Stack::encoder, i, 2, name + ".feed_forward",
                     [&](const Numbers& in) { return feed_forward(layer.feed_forward, in, name + ".feed_forward"); });
        }
        const Numbers memory = last_norm(model_.encoder_norm, x, "encoder_norm");
        x = embed(Stack::decoder, target);
        for (int32_t i = 0; i < shape_.decoder_layers; i++) {
            const DecoderLayer& layer = model_.decoder[size_t(i)];
            const std::string name = "decoder." + std::to_string(i), cross = name + ".cross_attention";
            residual(x, layer.attention_norm, Stack::decoder, i, 0, name + ".attention", [&](const Numbers& in) {
                return shape_.ssru ? recur(layer.recurrence, in, name + ".attention")
                                   : attend_to_self(layer.attention, in, Stack::decoder, i, name + ".attention");
            });
            residual(x, layer.cross_attention_norm, Stack::decoder, i, 1, cross,
                     [&](const Numbers& in) { return attend_to_source(layer.cross_attention, in, memory, i, cross); });
            residual(x, layer.feed_forward_norm, Stack::decoder, i, 2, name + ".feed_forward",
                     [&](const Numbers& in) { return feed_forward(layer.feed_forward, in, name + ".feed_forward"); });
        }
        const Numbers logits = product(model_.logits, last_norm(model_.decoder_norm, x, "decoder_norm"));
        trace_.keep("logits", {rows(x), shape_.target_vocab}, logits);
    }

  private:
    int64_t rows(const Numbers& x) const { return int64_t(x.size()) / shape_.width; }

    // The last change of a kind that applies here, or null.
    const Change* find(Intervention what, Stack stack, int32_t layer = -1, int32_t head = -1, int32_t place = -1) const {
        const Change* found = nullptr;
        for (const Change& one : changes_)
            if (one.what == what && one.stack == stack && (one.layer < 0 || one.layer == layer) &&
                (one.head < 0 || one.head == head) && (one.place < 0 || one.place == place))
                found = &one;
        return found;
    }

    const float* of(const Change& change) const { return values_.data() + change.first; }

    Numbers product(const Linear& linear, const Numbers& x) const {
        const Packed& packed = linear.packed();
        const int64_t count = int64_t(x.size()) / packed.inputs, stride = packed.panels * PANEL;
        auto input = zeros<float>(count * packed.depth), scales = zeros<float>(count), padded = zeros<float>(count * stride);
        const Input prepared = model_.kernels->prepare(packed.type, x.data(), packed.inputs, count, packed.inputs,
                                                       packed.depth, input.get(), scales.get());
        model_.kernels->product(packed, prepared, count, 0, packed.panels, padded.get(), stride);
        Numbers out;
        for (int64_t i = 0; i < count; i++)
            out.insert(out.end(), padded.get() + i * stride, padded.get() + i * stride + packed.outputs);
        return out;
    }

    // x = embedding * sqrt(E) + position, sections 3.4 and 3.5.
    Numbers embed(Stack stack, const std::vector<int32_t>& tokens) {
        const bool source = stack == Stack::encoder;
        const std::string side = source ? "source" : "target";
        const Weights& embedding = source ? model_.source_embedding : model_.target_embedding;
        const float scale = shape_.scale_embeddings ? float(std::sqrt(double(shape_.width))) : 1.0f;
        const int64_t width = shape_.width, count = int64_t(tokens.size());
        Numbers x(size_t(count * width));
        for (int64_t i = 0; i < count; i++) {
            float* row = x.data() + i * width;
            read_rounded(model_.type, embedding, tokens[size_t(i)], row);
            for (int64_t e = 0; e < width; e++) row[e] *= scale;
            if (const Change* other = find(Intervention::embedding, stack, -1, -1, int32_t(i)))
                std::copy(of(*other), of(*other) + width, row);
        }
        trace_.keep(side + ".embedding", {count, width}, x);
        const bool none = find(Intervention::no_positions, stack);
        const bool number = shape_.positions == Positions::index || shape_.positions == Positions::fraction;
        int64_t later = 0;
        for (const Change& one : changes_)
            if (one.what == Intervention::shift && one.stack == stack) later = one.place;
        for (int64_t i = 0; i < count; i++) {
            float* row = x.data() + i * width;
            if (!none) positions_.embed(row, i + later, source_);
            else if (number) row[width - 1] = 0;  // the number has the last dimension for itself
        }
        trace_.keep(side + ".input", {count, width}, x);
        return x;
    }

    Numbers normalise(const Norm& norm, const Numbers& x) const {
        Numbers out(x.size());
        model_.kernels->normalise(x.data(), norm.gain.data(), shape_.rms_norm ? nullptr : norm.shift.data(), shape_.epsilon,
                                  rows(x), shape_.width, shape_.width, out.data());
        return out;
    }

    Numbers last_norm(const Norm& norm, const Numbers& x, const std::string& name) {
        Numbers out = norm.gain.empty() ? x : normalise(norm, x);
        trace_.keep(name, {rows(x), shape_.width}, out);
        return out;
    }

    // x = LayerNorm(x + Sublayer(x)), section 3.1, or x + Sublayer(LayerNorm(x)).
    template <class Sublayer>
    void residual(Numbers& x, const Norm& norm, Stack stack, int32_t layer, int32_t number, const std::string& name,
                  Sublayer sublayer) {
        const auto keep = [&](const std::string& end, const Numbers& numbers) {
            trace_.keep(name + end, {rows(x), shape_.width}, numbers);
        };
        const auto normalised = [&] {
            Numbers out = normalise(norm, x);
            keep("_residual.norm", out);
            return out;
        };
        Numbers out = sublayer(shape_.pre_norm ? normalised() : x);
        keep("", out);
        if (!find(Intervention::no_residual, stack, layer, -1, number))
            for (size_t i = 0; i < x.size(); i++) out[i] += x[i];
        x = std::move(out);
        if (!shape_.pre_norm) x = normalised();
        keep("_residual", x);
    }

    // FFN(x) = activation(x W_1 + b_1) W_2 + b_2, eq. 2.
    Numbers feed_forward(const FeedForward& layer, const Numbers& x, const std::string& name) {
        const int64_t count = rows(x), width = shape_.hidden, inner = layer.inner.packed().outputs;
        Numbers gates = product(layer.inner, x), hidden;
        model_.kernels->activate(Activation(shape_.activation), gates.data(), count, width, inner);
        for (int64_t i = 0; i < count; i++)
            hidden.insert(hidden.end(), gates.data() + i * inner, gates.data() + i * inner + width);
        trace_.keep(name + ".hidden", {count, width}, hidden);
        return product(layer.outer, hidden);
    }

    Numbers recur(const Recurrence& layer, const Numbers& x, const std::string& name) {
        const int64_t width = shape_.width, count = rows(x);
        const Numbers candidate = product(layer.candidate, x), forget = product(layer.forget, x);
        Numbers state(size_t(width), 0.0f), states, out(x.size());
        for (int64_t i = 0; i < count; i++) {
            const int64_t at = i * width;
            model_.kernels->recur(candidate.data() + at, forget.data() + at, state.data(), out.data() + at, width);
            states.insert(states.end(), state.begin(), state.end());
        }
        trace_.keep(name + ".candidate", {count, width}, candidate);
        trace_.keep(name + ".forget", {count, width}, forget);
        trace_.keep(name + ".states", {count, width}, states);
        return out;
    }

    // Columns first .. first + count - 1 of a matrix of rows.
    static Numbers columns(const Numbers& x, int64_t rows, int64_t first, int64_t count) {
        const int64_t width = int64_t(x.size()) / rows;
        Numbers out;
        for (int64_t i = 0; i < rows; i++)
            out.insert(out.end(), x.data() + i * width + first, x.data() + i * width + first + count);
        return out;
    }

    Numbers attend_to_self(const SelfAttention& layer, const Numbers& x, Stack stack, int32_t number,
                           const std::string& name) {
        const int64_t width = shape_.width, count = rows(x);
        const Numbers projected = product(layer.project, x);
        const int64_t kv_width = (int64_t(projected.size()) / count - width) / 2, kv_heads = kv_width / shape_.head();
        Numbers q = columns(projected, count, 0, width), k = columns(projected, count, width, kv_width);
        const Numbers v = columns(projected, count, width + kv_width, kv_width);
        const bool placed = !find(Intervention::no_positions, stack);
        for (int64_t i = 0; i < count && placed; i++) {
            positions_.turn(q.data() + i * width, shape_.heads, i);
            positions_.turn(k.data() + i * kv_width, kv_heads, i);
        }
        return product(layer.output, attend(q, k, v, stack, number, name, placed ? &layer : nullptr));
    }

    // Attention of the decoder to the encoder's output, section 3.2.3.
    Numbers attend_to_source(const CrossAttention& layer, const Numbers& x, const Numbers& memory, int32_t number,
                             const std::string& name) {
        const int64_t kv_width = shape_.kv_width(), count = rows(memory);
        const Numbers q = product(layer.query, x), kv = product(layer.keys_values, memory);
        const Numbers k = columns(kv, count, 0, kv_width), v = columns(kv, count, kv_width, kv_width);
        return product(layer.output, attend(q, k, v, Stack::cross, number, name, nullptr));
    }

    // Whether a query sees a key.
    bool sees(Stack stack, int32_t layer, int64_t query, int64_t key) const {
        if (stack == Stack::cross || find(Intervention::no_mask, stack, layer)) return true;
        if (stack == Stack::decoder) return key <= query && (!shape_.window || key > query - shape_.window);
        const int64_t before = shape_.window / 2, after = shape_.window - 1 - before;
        return !shape_.window || (key >= query - before && key <= query + after);
    }

    // softmax(QK^T / sqrt(D) + bias) V, eq. 1, of all heads side by side. `placed` has positions within attention, or is null.
    Numbers attend(const Numbers& q, const Numbers& k, const Numbers& v, Stack stack, int32_t layer, const std::string& name,
                   const SelfAttention* placed) {
        const int64_t heads = shape_.heads, width = shape_.width, head = shape_.head(), queries = rows(q);
        const int64_t shared = stack == Stack::encoder ? 1 : heads / shape_.kv_heads, kv_width = width / shared;
        const int64_t keys = int64_t(k.size()) / kv_width;
        const double root = std::sqrt(double(head));
        Numbers logits(size_t(heads * queries * keys), 0.0f), weights = logits, out(q.size(), 0.0f);
        for (int64_t t = 0; t < queries; t++) {
            Numbers bias(size_t(heads * keys), 0.0f), of_query(size_t(heads * keys), 0.0f);
            if (placed) positions_.bias(*placed, q.data() + t * width, t, 0, keys, stack == Stack::decoder, bias.data());
            for (int64_t h = 0; h < heads; h++) {
                const float* query = q.data() + t * width + h * head;
                const bool scaled = !find(Intervention::unscaled, stack, layer, int32_t(h));
                float *row = logits.data() + (h * queries + t) * keys, *weight = of_query.data() + h * keys;
                float most = -std::numeric_limits<float>::infinity();
                for (int64_t s = 0; s < keys; s++) {
                    if (!sees(stack, layer, t, s)) continue;
                    const float* key = k.data() + s * kv_width + h / shared * head;
                    double sum = 0;
                    for (int64_t d = 0; d < head; d++) sum += double(query[d]) * key[d];
                    // The biases of Shaw et al. are divided by sqrt(D), too.
                    const double more = bias[size_t(h * keys + s)] * (scaled || shape_.positions != Positions::relative ? 1 : root);
                    row[s] = float((scaled ? sum / root : sum) + more);
                    most = std::max(most, row[s]);
                }
                double total = 0;
                for (int64_t s = 0; s < keys; s++)
                    if (sees(stack, layer, t, s)) total += weight[s] = std::exp(row[s] - most);
                for (int64_t s = 0; s < keys; s++) weight[s] = float(weight[s] / total);
                if (const Change* other = find(Intervention::weights, stack, layer, int32_t(h), int32_t(t)))
                    std::copy(of(*other), of(*other) + keys, weight);
                std::copy(weight, weight + keys, weights.data() + (h * queries + t) * keys);
                for (int64_t d = 0; d < head; d++) {
                    double sum = 0;
                    for (int64_t s = 0; s < keys; s++) sum += double(weight[s]) * v[size_t(s * kv_width + h / shared * head + d)];
                    out[size_t(t * width + h * head + d)] = float(sum);
                }
            }
            if (placed) positions_.values(*placed, of_query.data(), t, 0, keys, out.data() + t * width);
        }
        for (int32_t h = 0; h < heads; h++)
            for (int64_t t = 0; t < queries && find(Intervention::without, stack, layer, h); t++)
                std::fill_n(out.begin() + t * width + h * head, head, 0.0f);
        keep_heads(name + ".queries", q, heads);
        keep_heads(name + ".keys", k, heads / shared);
        keep_heads(name + ".values", v, heads / shared);
        trace_.keep(name + ".logits", {heads, queries, keys}, logits);
        trace_.keep(name + ".weights", {heads, queries, keys}, weights);
        keep_heads(name + ".heads", out, heads);
        return out;
    }

    // Keep rows of heads side by side as an array [heads][rows][D].
    void keep_heads(const std::string& name, const Numbers& x, int64_t heads) {
        const int64_t head = shape_.head(), count = int64_t(x.size()) / (heads * head);
        Numbers apart;
        for (int64_t h = 0; h < heads; h++) {
            const Numbers one = columns(x, count, h * head, head);
            apart.insert(apart.end(), one.begin(), one.end());
        }
        trace_.keep(name, {heads, count, head}, apart);
    }

    Trace& trace_;
    const Model& model_;
    const Shape& shape_;
    const std::vector<Change>& changes_;
    const std::vector<float>& values_;
    PositionalEncoding positions_;
    int64_t source_ = 0;
};

bool within(int64_t number, int64_t count) { return number >= -1 && number < count; }

// What is wrong with a change, or an empty string.
std::string fault(const Change& change, const Shape& shape, size_t source, size_t target, size_t values) {
    const bool heads = change.stack != Stack::decoder || !shape.ssru;
    const int64_t layers = change.stack == Stack::encoder ? shape.encoder_layers : shape.decoder_layers;
    const int64_t queries = int64_t(change.stack == Stack::encoder ? source : target);
    const int64_t keys = int64_t(change.stack == Stack::decoder ? target : source);
    if (int32_t(change.stack) < 0 || change.stack > Stack::cross) return "a stack that does not exist";
    if (change.first < 0 || change.count < 0 || size_t(change.first) + size_t(change.count) > values)
        return "values that were not given";
    if (!within(change.layer, layers)) return "layer " + std::to_string(change.layer) + " of " + std::to_string(layers);
    if (!within(change.head, shape.heads)) return "head " + std::to_string(change.head) + " of " + std::to_string(shape.heads);
    const Positions kind = shape.positions;
    const bool sides = change.stack != Stack::cross, sines = kind <= Positions::sinusoidal_t2t || kind == Positions::rotary;
    const bool whole = change.what == Intervention::shift || change.what == Intervention::no_positions ||
                       change.what == Intervention::base || change.what == Intervention::embedding;
    if (whole && (change.layer >= 0 || change.head >= 0)) return "a change of the input has no layer and no head";
    switch (change.what) {
        case Intervention::without:
        case Intervention::unscaled:
            return heads ? "" : "the decoder has no heads of self-attention";
        case Intervention::shift:
            if (!sides || change.place < 0 || change.place > int32_t(LONGEST)) return "a shift is from 0 to 512";
            return kind < Positions::none ? "" : "positions cannot be shifted: this model has none on its input";
        case Intervention::no_positions:
            return sides && kind != Positions::none ? "" : "this model has no positions to change";
        case Intervention::base:
            if (!sines) return "this model has no sines and cosines";
            return std::isfinite(change.number) && change.number > 1 ? "" : "a base is a number above 1";
        case Intervention::no_residual:
            return sides && within(change.place, 3) && (change.place != 1 || change.stack == Stack::decoder)
                       ? ""
                       : "a sub-layer that does not exist";
        case Intervention::no_mask:
            return sides && heads ? "" : "only self-attention has a mask to remove";
        case Intervention::embedding:
            if (!sides || !within(change.place, queries)) return "a token that does not exist";
            return change.count == shape.width ? "" : "an embedding of another width";
        case Intervention::weights:
            if (!heads) return "the decoder has no heads of self-attention";
            if (!within(change.place, queries)) return "a token that does not exist";
            return change.count == keys ? "" : "weights for another number of tokens";
    }
    return "an intervention that does not exist";
}

}  // namespace

std::string Trace::run(const Model& model, const std::vector<int32_t>& source, const std::vector<int32_t>& target,
                       const std::vector<Change>& changes, const std::vector<float>& values) {
    const Shape& shape = model.shape;
    std::vector<int32_t> read = source, inputs = {shape.start};
    read.push_back(shape.end);
    inputs.insert(inputs.end(), target.begin(), target.end());
    if (source.size() > LONGEST || target.size() > LONGEST) return "at most 512 tokens of each side can be traced";
    for (const int32_t token : read)
        if (token < 0 || token >= shape.source_vocab) return "a source token that is not in the vocabulary";
    for (const int32_t token : inputs)
        if (token < 0 || token >= shape.target_vocab) return "a target token that is not in the vocabulary";
    double base = 10000;
    for (size_t i = 0; i < changes.size(); i++) {
        const std::string wrong = fault(changes[i], shape, read.size(), inputs.size(), values.size());
        if (!wrong.empty()) return "intervention " + std::to_string(i + 1) + ": " + wrong;
        if (changes[i].what == Intervention::base) base = double(changes[i].number);
    }
    Pass(*this, model, changes, values, base).run(read, inputs);
    return "";
}

void Trace::keep(const std::string& name, const std::vector<int64_t>& shape, const std::vector<float>& numbers) {
    arrays_.push_back({name, shape, numbers_.size()});
    numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
}

std::string Trace::directory() const {
    std::string text = "[";
    for (const Array& one : arrays_) {
        text += (text.size() > 1 ? ",\n{\"name\":\"" : "{\"name\":\"") + one.name + "\",\"shape\":[";
        for (size_t i = 0; i < one.shape.size(); i++) text += (i ? "," : "") + std::to_string(one.shape[i]);
        text += "],\"first\":" + std::to_string(one.first) + "}";
    }
    return text + "]";
}

}  // namespace dragoman
