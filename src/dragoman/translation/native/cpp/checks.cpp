#include "checks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

namespace dragoman {
namespace {

constexpr int64_t MOST = int64_t(1) << 48;      // numbers of a weight: more than memory has, so that no product overflows
constexpr int32_t MOST_INPUTS = 1 << 16;        // of a product in int8: sums have 32 bits
constexpr int32_t MOST_ROWS = 1000000, MOST_TOKENS = 1 << 30;  // of a request, as in translation/native/message.py

void require(bool holds, const char* what) {
    if (!holds) throw Unusable(what);
}

bool within(int64_t number, int64_t least, int64_t most) { return number >= least && number <= most; }

void check_ids(const std::vector<int32_t>& ids, int32_t vocab, bool sorted) {
    const auto inside = [&](int32_t id) { return within(id, 0, vocab - 1); };
    require(std::all_of(ids.begin(), ids.end(), inside), "a token is not in the vocabulary");
    require(!sorted || std::is_sorted(ids.begin(), ids.end()), "a list of tokens is not sorted");
}

// As `Tracker` in phrases.cpp reads them.
void check_phrases(const std::vector<int32_t>& numbers, int32_t vocab) {
    int64_t all = 0;
    for (size_t at = 0; at < numbers.size();) {
        const size_t left = numbers.size() - at;
        require(left > 3 && numbers[at] > 0 && numbers[at + 2] > 0, "a phrase without forms");
        const int64_t times = numbers[at], forms = numbers[at + 2];
        int64_t longest = 0;
        at += 3;
        for (int64_t form = 0; form < forms; form++) {
            require(at < numbers.size() && within(numbers[at], 1, int64_t(numbers.size() - at) - 1), "a phrase is cut");
            const auto first = numbers.begin() + int64_t(at) + 1;
            check_ids({first, first + numbers[at]}, vocab, false);
            longest = std::max<int64_t>(longest, numbers[at]);
            at += size_t(numbers[at]) + 1;
        }
        all += times * longest;
        require(all <= MOST_TOKENS, "phrases are too long");
    }
}

}  // namespace

void check(const Shape& shape, Type type, size_t weights) {
    const int32_t sizes[] = {shape.source_vocab, shape.target_vocab,   shape.width,         shape.hidden,
                             shape.heads,        shape.encoder_layers, shape.decoder_layers, shape.kv_heads};
    require(*std::min_element(std::begin(sizes), std::end(sizes)) >= 1, "a size of the model is less than 1");
    require(shape.width % shape.heads == 0, "the heads do not divide the width of the model");
    require(shape.heads % shape.kv_heads == 0, "the heads of keys do not divide the heads");
    require(int64_t(shape.encoder_layers) + shape.decoder_layers <= int64_t(weights), "the model has more layers than weights");
    const int32_t ids[] = {shape.pad, shape.start, shape.end};
    for (const int32_t id : ids) require(within(id, 0, shape.target_vocab - 1), "a special id is not in the vocabulary");
    require(shape.end < shape.source_vocab, "the end is not in the source vocabulary");
    require(within(int32_t(type), 0, int32_t(Type::int8)), "unknown type");
    require(within(int32_t(shape.tie), 0, int32_t(Tie::none)), "unknown kind of tied weights");
    require(within(int32_t(shape.positions), 0, int32_t(Positions::rotary)), "unknown positions");
    require(within(shape.activation, 0, int32_t(Activation::swiglu)), "unknown activation");
    require(shape.tie != Tie::all || shape.source_vocab == shape.target_vocab, "tied embeddings of different vocabularies");
    require(shape.positions != Positions::rotary || shape.head() % 2 == 0, "rotary positions with heads of an odd width");
    require(shape.window >= 0, "the window is negative");
    require(std::isfinite(shape.epsilon) && shape.epsilon >= 0, "epsilon is not a number that normalisation can add");
    require(type != Type::int8 || std::max(shape.width, shape.hidden) <= MOST_INPUTS, "too wide for int8");
}

void check(const std::string& name, const Weights& weights) {
    const bool possible = weights.rows > 0 && weights.columns > 0 && weights.columns <= MOST / weights.rows;
    const bool known = within(int64_t(weights.stored), 0, int64_t(Stored::int8));
    if (!possible || !known || !weights.data || (weights.stored == Stored::int8 && !weights.scale))
        throw Unusable("weight " + name + " has " + (!possible ? "an impossible size" : "an unknown type"));
    if (!weights.multipliers) return;
    if (weights.stored != Stored::int8 || !within(weights.blocks, 1, weights.rows) || weights.rows % weights.blocks)
        throw Unusable(name + ".input_multiplier does not fit its matrix");
    for (int64_t block = 0; block < weights.blocks; block++) {
        float one;
        std::memcpy(&one, reinterpret_cast<const char*>(weights.multipliers) + 4 * block, 4);  // aligned to nothing
        if (!(one > 0 && std::isfinite(one) && std::isfinite(1 / one)))
            throw Unusable(name + ".input_multiplier is not positive and finite");
    }
}

void check(const Request& request, const Shape& shape) {
    const bool beam = request.kind == Kind::beam, sample = request.kind == Kind::sample;
    require(within(int32_t(request.kind), 0, 2) && within(int32_t(request.stop), 0, 3), "unknown kind of search");
    require(within(int32_t(request.normalization), 0, 1), "unknown normalisation");
    require(request.size > 0 && within(request.wide, request.size, MOST_ROWS), "a beam of an impossible size");
    require(within(request.n_best, 1, MOST_ROWS), "an impossible number of translations");
    require(std::isfinite(request.length_penalty) && request.top_k >= 0, "a penalty or top_k that cannot be used");
    require(request.temperature > 0 && request.top_p > 0, "a temperature or top_p that cannot be used");  // NaN is neither
    require(within(request.limit, 0, MOST_TOKENS) && request.minimum >= 0, "a limit that cannot be used");
    require(within(request.layer, -1, shape.decoder_layers - 1) && within(request.head, -1, shape.heads - 1),
            "attention that the model does not have");
    require(!request.source.empty(), "no source");
    check_ids(request.source, shape.source_vocab, false);
    check_ids(request.prefix, shape.target_vocab, false);
    for (const auto* ids : {&request.banned, &request.required, &request.joining, &request.never, &request.shortlist})
        check_ids(*ids, shape.target_vocab, true);
    for (const int32_t length : request.ngrams) require(length > 0, "n-grams without tokens");
    require(request.phrases.empty() || beam, "phrases without a beam");
    check_phrases(request.phrases, shape.target_vocab);
    require(!sample || request.draws.size() == size_t(request.n_best), "a draw without random numbers");
}

}  // namespace dragoman
