#include "trace.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "memory.h"
#include "positions.h"

namespace dragoman {
namespace {

constexpr size_t LONGEST = 512;        // tokens of each side, because the attention of all layers is kept
constexpr size_t MOST_TERMS = 40'000;  // numbers of a stack; those of the first layer are always kept

using Numbers = std::vector<float>;  // rows side by side, without padding

// x = content + position + constant + rest, where the rest comes from earlier sub-layers: inspection/terms.py.
struct Parts {
    Numbers content, position, constant;
};

// S source tokens, T target tokens, N rows of either, H heads, D head width, E model width, K width of a key.
class Pass {
  public:
    Pass(Trace& trace, const Model& model, const std::vector<Change>& changes, const std::vector<float>& values)
        : trace_(trace), model_(model), shape_(model.shape), changes_(changes), values_(values),
          positions_{{model, changes, Stack::encoder}, {model, changes, Stack::decoder}} {}

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

    // `part`: of an input, which may be beyond what a multiplier of inputs allows.
    Numbers product(const Linear& linear, const Numbers& x, bool part = false) const {
        Packed packed = linear.packed();
        if (part) packed.multiplier = 0;
        const int64_t count = int64_t(x.size()) / packed.inputs, stride = packed.panels * PANEL;
        auto input = zeros<float>(count * packed.depth), scales = zeros<float>(count), padded = zeros<float>(count * stride);
        const Input prepared = model_.kernels->prepare(packed, x.data(), packed.inputs, count, input.get(), scales.get());
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
        Numbers content = x;
        PositionalEncoding& positions = positions_[int32_t(stack)];
        for (int64_t i = 0; i < count; i++) positions.embed(x.data() + i * width, i, source_);
        trace_.keep(side + ".input", {count, width}, x);
        for (int64_t i = 0; i < count && positions.replaces(); i++) content[size_t((i + 1) * width - 1)] = 0;
        parts_ = {content, x, Numbers(x.size(), 0.0f)};
        for (size_t i = 0; i < x.size(); i++) parts_.position[i] -= content[i];
        terms_ = 0;
        if (!shape_.norm_embeddings) return x;
        const Norm& norm = source ? model_.source_embedding_norm : model_.target_embedding_norm;
        parts_ = through(parts_, norm, x);
        return last_norm(norm, x, side + "_embedding_norm");
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

    // The parts after a normalisation that has the mean and scale of x.
    Parts through(Parts parts, const Norm& norm, const Numbers& x) const {
        const int64_t width = shape_.width;
        for (int64_t i = 0; i < rows(x); i++) {
            double mean = 0, square = 0;
            for (int64_t e = 0; e < width && !shape_.rms_norm; e++) mean += x[size_t(i * width + e)] / double(width);
            for (int64_t e = 0; e < width; e++) square += std::pow(x[size_t(i * width + e)] - mean, 2) / double(width);
            const double scale = 1 / std::sqrt(square + double(shape_.epsilon));
            for (Numbers* part : {&parts.content, &parts.position, &parts.constant}) {
                float* row = part->data() + i * width;
                double own = 0;
                for (int64_t e = 0; e < width && !shape_.rms_norm; e++) own += row[e] / double(width);
                for (int64_t e = 0; e < width; e++) row[e] = float((row[e] - own) * scale * norm.gain[size_t(e)]);
            }
            for (int64_t e = 0; e < width && !shape_.rms_norm; e++) parts.constant[size_t(i * width + e)] += norm.shift[size_t(e)];
        }
        return parts;
    }

    // x = LayerNorm(x + Sublayer(x)), section 3.1, or x + Sublayer(LayerNorm(x)).
    template <class Sublayer>
    void residual(Numbers& x, const Norm& norm, Stack stack, int32_t layer, int32_t number, const std::string& name,
                  Sublayer sublayer) {
        const auto keep = [&](const std::string& end, const Numbers& numbers) {
            trace_.keep(name + end, {rows(x), shape_.width}, numbers);
        };
        const Parts before = parts_;
        const auto normalised = [&] {
            Numbers out = normalise(norm, x);
            parts_ = through(parts_, norm, x);
            keep("_residual.norm", out);
            return out;
        };
        Numbers out = sublayer(shape_.pre_norm ? normalised() : x);
        if (shape_.pre_norm) parts_ = before;
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
        const int64_t kv_width = (layer.project.packed().outputs - width) / 2;
        const Numbers projected = product(layer.project, x);
        const QueriesKeys qk = queries_keys(projected, count, stack);
        const Numbers v = columns(projected, count, width + kv_width, kv_width);
        const Numbers heads = attend(qk.queries, qk.keys, v, stack, number, name, &layer);
        keep_terms(layer, qk, stack, number, name);
        return product(layer.output, heads);
    }

    struct QueriesKeys {
        Numbers queries, keys;
    };

    // The first columns of what self-attention projects, with their positions.
    QueriesKeys queries_keys(const Numbers& projected, int64_t count, Stack stack) {
        const int64_t width = shape_.width, kv_width = (int64_t(projected.size()) / count - width) / 2;
        QueriesKeys qk{columns(projected, count, 0, width), columns(projected, count, width, kv_width)};
        for (int64_t i = 0; i < count; i++) {
            positions_[int32_t(stack)].turn(qk.queries.data() + i * width, shape_.heads, i);
            positions_[int32_t(stack)].turn(qk.keys.data() + i * kv_width, kv_width / shape_.head(), i);
        }
        return qk;
    }

    // The logits as a sum of six terms: content·content, content·position, position·content, position·position, bias and
    // remainder, as inspection/terms.py has them.
    void keep_terms(const SelfAttention& layer, const QueriesKeys& whole, Stack stack, int32_t number, const std::string& name) {
        const int64_t heads = shape_.heads, width = shape_.width, head = shape_.head(), count = rows(whole.queries);
        const int64_t kv_width = int64_t(whole.keys.size()) / count, shared = width / kv_width;
        const size_t size = size_t(heads * count * count);
        if (number && terms_ + 6 * size > MOST_TERMS) return;
        terms_ += 6 * size;
        const Numbers bias = product(layer.project, Numbers(size_t(width), 0.0f));
        const auto projected = [&](const Numbers& part, bool biased) {
            Numbers out = product(layer.project, part, true);
            for (size_t i = 0; i < out.size() && !biased; i++) out[i] -= bias[i % bias.size()];
            return queries_keys(out, count, stack);
        };
        const QueriesKeys content = projected(parts_.content, false), position = projected(parts_.position, false);
        QueriesKeys known = projected(parts_.constant, true);
        for (const QueriesKeys* part : {&content, &position}) {
            for (size_t i = 0; i < known.queries.size(); i++) known.queries[i] += part->queries[i];
            for (size_t i = 0; i < known.keys.size(); i++) known.keys[i] += part->keys[i];
        }
        Numbers terms(6 * size, 0.0f), added(size_t(heads * count), 0.0f);
        for (int64_t t = 0; t < count; t++) {
            const float* query = whole.queries.data() + t * width;
            positions_[int32_t(stack)].bias(layer, query, t, 0, count, stack == Stack::decoder, added.data());
            for (int64_t h = 0; h < heads; h++) {
                const bool scaled = !find(Intervention::unscaled, stack, number, int32_t(h));
                const double root = scaled ? std::sqrt(double(head)) : 1;
                for (int64_t s = 0; s < count; s++) {
                    if (!sees(stack, number, t, s)) continue;
                    const auto product_of = [&](const Numbers& q, const Numbers& k) {
                        const float *a = q.data() + t * width + h * head, *b = k.data() + s * kv_width + h / shared * head;
                        double sum = 0;
                        for (int64_t d = 0; d < head; d++) sum += double(a[d]) * b[d];
                        return sum / root;
                    };
                    float* term = terms.data() + (h * count + t) * count + s;
                    double sum = 0;
                    int64_t i = 0;
                    for (const QueriesKeys* q : {&content, &position})
                        for (const QueriesKeys* k : {&content, &position}) {
                            const double one = product_of(q->queries, k->keys);
                            term[size * size_t(i++)] = float(one);
                            sum += one;
                        }
                    const double explained = product_of(known.queries, known.keys);
                    term[size * 4] = float(explained + added[size_t(h * count + s)] * of_bias(scaled) - sum);
                    term[size * 5] = float(product_of(whole.queries, whole.keys) - explained);
                }
            }
        }
        trace_.keep(name + ".terms", {6, heads, count, count}, terms);
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

    // The biases of Shaw et al. are divided by sqrt(D), too: what undoes that where logits are not scaled.
    double of_bias(bool scaled) const {
        return scaled || shape_.positions != Positions::relative ? 1 : std::sqrt(double(shape_.head()));
    }

    // softmax(QK^T / sqrt(D) + bias) V, eq. 1, of all heads side by side. `self` is self-attention, or null.
    Numbers attend(const Numbers& q, const Numbers& k, const Numbers& v, Stack stack, int32_t layer, const std::string& name,
                   const SelfAttention* self) {
        const int64_t heads = shape_.heads, width = shape_.width, head = shape_.head(), queries = rows(q);
        const int64_t shared = stack == Stack::encoder ? 1 : heads / shape_.kv_heads, kv_width = width / shared;
        const int64_t keys = int64_t(k.size()) / kv_width;
        const double root = std::sqrt(double(head));
        Numbers logits(size_t(heads * queries * keys), 0.0f), weights = logits, out(q.size(), 0.0f);
        for (int64_t t = 0; t < queries; t++) {
            Numbers bias(size_t(heads * keys), 0.0f), of_query(size_t(heads * keys), 0.0f);
            if (self) positions_[int32_t(stack)].bias(*self, q.data() + t * width, t, 0, keys, stack == Stack::decoder, bias.data());
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
                    row[s] = float((scaled ? sum / root : sum) + bias[size_t(h * keys + s)] * of_bias(scaled));
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
            if (self) positions_[int32_t(stack)].values(*self, of_query.data(), t, 0, keys, out.data() + t * width);
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
    PositionalEncoding positions_[2];  // of encoder and decoder
    int64_t source_ = 0;
    Parts parts_;       // of the states of the stack so far
    size_t terms_ = 0;  // numbers of them that are kept in this stack
};

bool within(int64_t number, int64_t count) { return number >= -1 && number < count; }

}  // namespace

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
    for (size_t i = 0; i < changes.size(); i++) {
        const std::string wrong = fault(changes[i], shape, read.size(), inputs.size(), values.size());
        if (!wrong.empty()) return "intervention " + std::to_string(i + 1) + ": " + wrong;
    }
    Pass(*this, model, changes, values).run(read, inputs);
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
