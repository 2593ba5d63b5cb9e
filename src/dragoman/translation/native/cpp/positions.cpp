#include "positions.h"

#include <algorithm>
#include <cmath>

namespace dragoman {
namespace {

constexpr int64_t BLOCK = 256;

void sinusoids(Positions layout, int64_t width, double base, int64_t position, float* out) {
    const bool t2t = layout == Positions::sinusoidal_t2t, paper = layout == Positions::sinusoidal;
    const int64_t pairs = t2t ? width / 2 : (width + 1) / 2;
    const double slowest = t2t ? std::max<int64_t>(width / 2 - 1, 1) : width / 2.0;
    std::fill(out, out + width, 0.0f);  // t2t: 0 in a column left over
    for (int64_t i = 0; i < pairs; i++) {
        const double angle = position * std::pow(base, -i / slowest);
        const int64_t sine = paper ? 2 * i : i, cosine = paper ? 2 * i + 1 : pairs + i;
        if (sine < width) out[sine] = float(std::sin(angle));
        if (cosine < width) out[cosine] = float(std::cos(angle));
    }
}

// Press et al. 2022: 2^(-8/H), 2^(-16/H), ..., and every other one of the next power of two for the heads left over.
std::vector<float> alibi_slopes(int64_t heads) {
    int64_t whole = 1;
    while (2 * whole <= heads) whole *= 2;
    std::vector<float> slopes;
    for (int64_t h = 0; h < whole; h++) slopes.push_back(float(std::pow(2.0, -8.0 * (h + 1) / whole)));
    for (int64_t h = 0; whole + h < heads; h++)
        slopes.push_back(float(std::pow(2.0, -8.0 * (2 * h + 1) / (2 * whole))));
    return slopes;
}

// Raffel et al. 2020, section 2.1: half of the buckets hold one distance each, the others grow with the logarithm.
int64_t t5_bucket(int64_t distance, bool both_ways) {
    constexpr float FARTHEST_T5 = 128;
    const int64_t buckets = both_ways ? T5_BUCKETS / 2 : T5_BUCKETS;
    const int64_t first = both_ways && distance > 0 ? buckets : 0;
    const int64_t far = both_ways ? std::abs(distance) : std::max<int64_t>(-distance, 0), single = buckets / 2;
    if (far < single) return first + far;
    // In float32, as PyTorch computes it: at the edge of a bucket the rounding decides.
    const float growth = std::log(float(far) / float(single)) / float(std::log(double(FARTHEST_T5) / single));
    return first + std::min<int64_t>(single + int64_t(growth * float(buckets - single)), buckets - 1);
}

}  // namespace

const float* Sinusoids::row(int64_t position) {
    while (int64_t(blocks_.size()) * BLOCK <= position) {
        std::vector<float> block(BLOCK * width_);
        const int64_t first = int64_t(blocks_.size()) * BLOCK;
        for (int64_t i = 0; i < BLOCK; i++) sinusoids(layout_, width_, base_, first + i, block.data() + i * width_);
        blocks_.push_back(std::move(block));
    }
    return blocks_[position / BLOCK].data() + position % BLOCK * width_;
}

PositionalEncoding::PositionalEncoding(const Model& model, const std::vector<Change>& changes, Stack stack)
    : model_(model),
      kind_(model.shape.positions),
      learned_(kind_ == Positions::learned_apart && stack == Stack::decoder ? model.learned_apart : model.learned),
      sinusoids_(kind_, model.shape.width, 10000),
      angles_(Positions::sinusoidal, model.shape.head(), 10000) {
    for (const Change& one : changes) {
        if (one.what == Intervention::base)
            sinusoids_ = {kind_, model.shape.width, one.number}, angles_ = {Positions::sinusoidal, model.shape.head(), one.number};
        if (one.what == Intervention::shift && one.stack == stack) later_ = one.place;
        placed_ &= one.what != Intervention::no_positions || one.stack != stack;
    }
    if (!placed_ && !replaces()) kind_ = Positions::none;
    if (kind_ == Positions::alibi) slopes_ = alibi_slopes(model.shape.heads);
}

void PositionalEncoding::embed(float* x, int64_t position, int64_t source) {
    const int64_t width = model_.shape.width;
    const float* row = nullptr;
    position = placed_ ? position + later_ : 0;
    switch (kind_) {
        case Positions::sinusoidal:
        case Positions::sinusoidal_halves:
        case Positions::sinusoidal_t2t:
            row = sinusoids_.row(position);
            break;
        case Positions::learned:
        case Positions::learned_apart:
            row = learned_.data() + std::min(position, LONGEST_LEARNED - 1) * width;
            break;
        case Positions::index:
            x[width - 1] = float(position);
            return;
        case Positions::fraction:
            x[width - 1] = float(position) / float(source);
            return;
        default:
            return;
    }
    for (int64_t i = 0; i < width; i++) x[i] += row[i];
}

void PositionalEncoding::turn(float* x, int64_t heads, int64_t position) {
    if (!turns()) return;
    const int64_t head = model_.shape.head();
    const float* row = angles_.row(position);
    for (int64_t h = 0; h < heads; h++, x += head) {
        for (int64_t i = 0; i < head; i += 2) {
            const float even = x[i], odd = x[i + 1], sine = row[i], cosine = row[i + 1];
            x[i] = even * cosine - odd * sine;
            x[i + 1] = even * sine + odd * cosine;
        }
    }
}

bool PositionalEncoding::bias(const SelfAttention& layer, const float* query, int64_t position, int64_t first,
                              int64_t count, bool decoder, float* out) const {
    const int64_t heads = model_.shape.heads, head = model_.shape.head();
    switch (kind_) {
        case Positions::relative: {
            const float scale = float(1 / std::sqrt(double(head)));
            for (int64_t h = 0; h < heads; h++, query += head) {
                float logits[DISTANCES];
                for (int64_t r = 0; r < DISTANCES; r++) {
                    const float* vector = layer.relative.of_keys.data() + r * head;
                    float sum = 0;
                    for (int64_t d = 0; d < head; d++) sum += query[d] * scale * vector[d];
                    logits[r] = sum;
                }
                for (int64_t t = 0; t < count; t++)
                    *out++ = logits[std::clamp(first + t - position, -FARTHEST, FARTHEST) + FARTHEST];
            }
            return true;
        }
        case Positions::t5: {
            const auto& table = decoder ? model_.t5_decoder : model_.t5_encoder;
            for (int64_t t = 0; t < count; t++) {
                const float* row = table.data() + t5_bucket(first + t - position, !decoder) * heads;
                for (int64_t h = 0; h < heads; h++) out[h * count + t] = row[h];
            }
            return true;
        }
        case Positions::alibi:
            for (int64_t h = 0; h < heads; h++)
                for (int64_t t = 0; t < count; t++)
                    out[h * count + t] = -slopes_[h] * float(std::abs(first + t - position));
            return true;
        default:
            return false;
    }
}

void PositionalEncoding::values(const SelfAttention& layer, const float* weights, int64_t position, int64_t first,
                                int64_t count, float* out) const {
    if (kind_ != Positions::relative) return;
    const int64_t head = model_.shape.head();
    for (int64_t h = 0; h < model_.shape.heads; h++, out += head) {
        float sums[DISTANCES] = {};
        for (int64_t t = 0; t < count; t++)
            sums[std::clamp(first + t - position, -FARTHEST, FARTHEST) + FARTHEST] += *weights++;
        for (int64_t r = 0; r < DISTANCES; r++) {
            if (sums[r] == 0) continue;
            const float* vector = layer.relative.of_values.data() + r * head;
            for (int64_t d = 0; d < head; d++) out[d] += sums[r] * vector[d];
        }
    }
}

}  // namespace dragoman
