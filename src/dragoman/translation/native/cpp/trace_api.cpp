// Traces as C functions, for a page in a browser.
#include <algorithm>
#include <memory>

#include "batch.h"
#include "checks.h"
#include "guarded.h"
#include "system.h"
#include "trace.h"

using namespace dragoman;

namespace {

constexpr int32_t MOST_STEPS = 512;  // that rules name

struct KeptTrace {
    Trace trace;
    std::string directory;
};

size_t size(int32_t number) { return size_t(std::max(number, 0)); }

// Keep what `work` traces of an engine's only model, or return null and the message that it returns.
template <class Work>
KeptTrace* traced(const std::shared_ptr<Engine>& engine, char* message, int32_t message_size, Work work) {
    copy_message("out of memory", message, message_size);
    return guarded(
        [&]() -> KeptTrace* {
            auto kept = std::make_unique<KeptTrace>();
            const Models& models = engine->models();
            const std::string wrong = models.size() == 1 ? work(kept->trace, *models[0]) : "an ensemble cannot be traced";
            copy_message(wrong, message, message_size);
            kept->directory = kept->trace.directory();
            return wrong.empty() ? kept.release() : nullptr;
        },
        nullptr);
}

// Keep what the model has for positions from 0, and for distances from 1 - length, in each stack: inspection/positions.py.
void keep_positions(Trace& trace, const Model& model, int64_t length) {
    const Shape& shape = model.shape;
    const int64_t head = shape.head(), distances = 2 * length - 1;
    PositionalEncoding positions(model, {}, Stack::encoder), apart(model, {}, Stack::decoder);
    std::vector<float> input(size_t(length * shape.width)), target = input, angles(size_t(length * head)), query(size_t(shape.width));
    for (int64_t i = 0; i < length; i++) {
        positions.embed(input.data() + i * shape.width, i, length);
        apart.embed(target.data() + i * shape.width, i, length);
        for (int64_t d = 0; d < head; d += 2) angles[size_t(i * head + d)] = 1;
        positions.turn(angles.data() + i * head, 1, i);
    }
    trace.keep("positions.input", {length, shape.width}, input);
    trace.keep("positions.target", {length, shape.width}, target);  // the same, unless they are apart
    trace.keep("positions.angles", {length, head}, angles);  // their cosines and sines
    for (int32_t decoder = 0; decoder < (shape.ssru ? 1 : 2); decoder++) {
        const SelfAttention& layer = decoder ? model.decoder[0].attention : model.encoder[0].attention;
        const std::string name = decoder ? "decoder.positions" : "encoder.positions";
        std::vector<float> bias(size_t(shape.heads * distances));
        positions.bias(layer, query.data(), length - 1, 0, distances, decoder, bias.data());
        trace.keep(name + ".bias", {shape.heads, distances}, bias);
        trace.keep(name + ".of_keys", {int64_t(layer.relative.of_keys.size()) / head, head}, layer.relative.of_keys);
        trace.keep(name + ".of_values", {int64_t(layer.relative.of_values.size()) / head, head}, layer.relative.of_values);
    }
}

// Search for one sentence, apart from the engine's batches. Keeps the candidates as `tree`.
std::string search(Trace& trace, const Model& model, Request request, const std::vector<Change>& changes) {
    for (const Change& one : changes) {
        const std::string wrong = fault(one, model.shape, request.source.size(), 0, 0);
        if (!wrong.empty()) return wrong;
        if (one.what > Intervention::no_positions || (one.what != Intervention::without && one.stack != Stack::encoder))
            return "a search may be without heads, and with other positions of the source";
    }
    std::vector<float> tree;
    request.seen = &tree;
    const std::atomic<bool> closing{false};
    std::deque<Transformer> transformers;
    transformers.emplace_back(model, closing, &changes);
    Vocabulary vocabulary(transformers, {});
    Pool pool;
    Search search(std::move(request), transformers, pool);
    transformers[0].encode({&search.source(0)});
    do {
        std::vector<std::vector<Row>> rows(1);
        std::vector<Scan*> scans;
        search.ask(rows, scans);
        transformers[0].step(rows[0]);
        vocabulary.answer(scans);
    } while (search.advance());
    trace.keep("tree", {int64_t(tree.size() / 6), 6}, tree);
    if (search.failed() >= 0) return "the model gives no probabilities: its weights are damaged";
    const std::vector<Hypothesis> found = search.finish();
    if (found.empty()) return "the model gives every translation of the sentence probability 0";
    keep_positions(trace, model, int64_t(std::max(search.request().source.size(), found[0].tokens.size() + 1)));
    return "";
}

}  // namespace

// Return the trace of a source and a target without start and end, or null and a message. The `count` changes share `values`.
EXPORT KeptTrace* dragoman_trace(const std::shared_ptr<Engine>* engine, const int32_t* source, int32_t source_size,
                                 const int32_t* target, int32_t target_size, const Change* changes, int32_t count,
                                 const float* values, int32_t values_size, char* message, int32_t message_size) {
    return traced(*engine, message, message_size, [&](Trace& trace, const Model& model) {
        return trace.run(model, {source, source + size(source_size)}, {target, target + size(target_size)},
                         {changes, changes + size(count)}, {values, values + size(values_size)});
    });
}

// Return the trace of a search, or null and a message. The request is as in `dragoman_submit`. `rules` are pairs of a position,
// or -1 for all, and a token: the first `forced` force it, the others ban it.
EXPORT KeptTrace* dragoman_trace_search(const std::shared_ptr<Engine>* engine, const int32_t* numbers, const double* fractions,
                                        const int32_t* rules, int32_t forced, int32_t banned, const Change* changes,
                                        int32_t count, char* message, int32_t message_size) {
    return traced(*engine, message, message_size, [&](Trace& trace, const Model& model) -> std::string {
        Request request = read_request(numbers, fractions);
        check(request, model.shape);
        for (int32_t i = 0; i < forced + banned; i++) {
            const int32_t position = rules[2 * i], token = rules[2 * i + 1];
            if (position >= MOST_STEPS || token < 0 || token >= model.shape.target_vocab)
                return "a forced or banned token that does not exist";
            if (i >= forced) {
                request.banned_at.emplace_back(position, token);
            } else {  // the translation does not end before
                request.prefix.resize(std::max(request.prefix.size(), size(position) + 1), -1);
                request.prefix[size(position)] = token;
                request.minimum = int32_t(request.prefix.size()) - 1;
                request.limit = std::max(request.limit, request.minimum + (request.prefix.back() != model.shape.end));
                const auto place = std::lower_bound(request.shortlist.begin(), request.shortlist.end(), token);
                if (request.listed && (place == request.shortlist.end() || *place != token)) request.shortlist.insert(place, token);
            }
        }
        request.ruled |= forced + banned > 0;
        return search(trace, model, std::move(request), {changes, changes + size(count)});
    });
}

// Return the names, shapes and places of its arrays as JSON, ended by 0. It belongs to the trace.
EXPORT const char* dragoman_trace_directory(const KeptTrace* kept) { return kept->directory.c_str(); }

// Return the numbers of all arrays. They belong to the trace.
EXPORT const float* dragoman_trace_numbers(const KeptTrace* kept) { return kept->trace.numbers().data(); }

EXPORT void dragoman_trace_free(KeptTrace* kept) { delete kept; }
