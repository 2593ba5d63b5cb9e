// The search of a trace: that of the engine, for one sentence, with every candidate kept.
#include <atomic>
#include <cmath>
#include <deque>

#include "search.h"
#include "trace.h"

namespace dragoman {

std::string Trace::search(const Model& model, Request request, const std::vector<Change>& changes) {
    const std::string wrong = fault(changes, model.shape, request.source.size(), 0, 0);
    if (!wrong.empty()) return wrong;
    for (const Change& one : changes)
        if (one.what > Intervention::no_positions || (one.what != Intervention::without && one.stack != Stack::encoder))
            return "a search can be without heads, and with other positions of the source";
    std::vector<Seen> seen;
    request.seen = &seen;
    const int64_t source = int64_t(request.source.size());
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
    if (search.failed() >= 0) return "the model gives no probabilities: its weights are damaged";
    const std::vector<Hypothesis> found = search.finish();
    if (found.empty()) return "the model gives every translation of the sentence probability 0";
    std::vector<float> tree;
    for (const Seen& one : seen)
        tree.insert(tree.end(), {float(one.parent), float(one.token), one.logp, one.total, float(one.fate), float(one.cut)});
    keep("tree", {int64_t(seen.size()), 6}, tree);
    keep_positions(model, std::max(source, int64_t(found[0].tokens.size()) + 1),
                   !find(changes, Intervention::no_positions, Stack::encoder));
    return "";
}

void Trace::keep_positions(const Model& model, int64_t length, bool encoder) {
    const Shape& shape = model.shape;
    const int64_t width = shape.width, heads = shape.heads, head = shape.head(), distances = 2 * length - 1;
    PositionalEncoding positions(model);
    if (shape.positions <= Positions::learned) {
        std::vector<float> rows(size_t(length * width));
        for (int64_t i = 0; i < length; i++) positions.embed(rows.data() + i * width, i, length);
        keep("source.positions", {length, width}, rows);
    }
    for (const bool decoder : {false, true}) {
        if (decoder ? shape.ssru : !encoder) continue;
        const SelfAttention& layer = decoder ? model.decoder[0].attention : model.encoder[0].attention;
        const std::string name = decoder ? "decoder.positions" : "encoder.positions";
        if (shape.positions == Positions::rotary) {
            std::vector<float> angles(size_t(length * head));
            for (int64_t i = 0; i < length * head; i += 2) angles[size_t(i)] = 1;
            for (int64_t i = 0; i < length; i++) positions.turn(angles.data() + i * head, 1, i);
            for (int64_t i = 0; i < length * head; i += 2) std::swap(angles[size_t(i)], angles[size_t(i + 1)]);
            keep(name, {length, head}, angles);
        } else if (shape.positions == Positions::relative) {
            keep(name + ".of_keys", {DISTANCES, head}, layer.relative.of_keys);
            keep(name + ".of_values", {DISTANCES, head}, layer.relative.of_values);
        } else if (shape.positions == Positions::t5 || shape.positions == Positions::alibi) {
            std::vector<float> bias(size_t(heads * distances)), rows;
            positions.bias(layer, nullptr, length - 1, 0, distances, decoder, bias.data());
            for (int64_t i = 0; i < distances * heads; i++) rows.push_back(bias[size_t(i % heads * distances + i / heads)]);
            keep(name, {distances, heads}, rows);
        }
    }
}

}  // namespace dragoman
