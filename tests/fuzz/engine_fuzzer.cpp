// Opens a small model whose shape and weights are partly wrong, an adapter for it, and translates and traces with
// requests that are partly wrong. With zeros alone everything is right.
#include <cstdio>
#include <cstdlib>
#include <algorithm>
#include <string>
#include <vector>

#include "bytes.h"
#include "shape.h"
#include "trace.h"

using namespace dragoman;

struct NamedWeight {
    const char* name;
    const void* data;
    const float *scale, *multipliers;
    int64_t rows, columns;
    int32_t stored, blocks;
};
struct Collected {
    int64_t answers;
};
struct Opened;
struct Handle;
struct Kept;

extern "C" {
Opened* dragoman_open(const Shape*, const NamedWeight*, int64_t, int32_t, int32_t, int32_t, char*, int64_t);
Opened* dragoman_adapt(const Opened*, const NamedWeight*, int64_t, int32_t, const NamedWeight*, int64_t, double, int32_t, char*, int64_t);
Opened* dragoman_ensemble(const Opened* const*, int32_t, int32_t, int32_t, char*, int64_t);
void dragoman_close(Opened*);
Handle* dragoman_begin(Opened*, int64_t);
void dragoman_end(Handle*);
int32_t dragoman_submit(Handle*, int64_t, const int32_t*, const double*);
Collected* dragoman_collect(Handle*, int64_t, int32_t);
void dragoman_free(Collected*);
Kept* dragoman_trace(const Opened*, const int32_t*, int32_t, const int32_t*, int32_t, const Change*, int32_t, const float*, int32_t, char*, int32_t);
const char* dragoman_trace_directory(const Kept*);
void dragoman_trace_free(Kept*);

int64_t opened, adapted, answered, refused, traced;  // for replay.cpp: whether the inputs are of use
}

namespace {

constexpr int64_t LARGEST = 1 << 16;  // numbers of a weight that the harness can hold
constexpr int64_t IMPOSSIBLE = int64_t(1) << 48;  // numbers of a weight that no memory can hold

struct One {
    std::string name;
    int64_t rows, columns;
    int32_t stored = 0;
    std::vector<char> data;
    std::vector<char> scale, multipliers;
    int32_t blocks = 0;
    size_t skip = 0;  // bytes before the data, which is aligned to nothing
};
using Many = std::vector<One>;

// The weights that a model of this shape has.
Many needed(const Shape& s) {
    Many all;
    const auto add = [&](const std::string& name, int64_t rows, int64_t columns = 1) { all.push_back({name, rows, columns, 0, {}, {}, {}, 0, 0}); };
    const int64_t width = s.width, gates = s.activation == 4 ? 2 : 1;
    const auto linear = [&](const std::string& name, int64_t rows, int64_t columns, bool biased) {
        add(name + ".weight", rows, columns);
        if (biased) add(name + ".bias", rows);
    };
    const auto norm = [&](const std::string& name) {
        add(name + ".weight", width);
        if (!s.rms_norm) add(name + ".bias", width);
    };
    const auto attention = [&](const std::string& name, int64_t keys_values, bool self) {
        linear(name + ".project", width + keys_values, width, s.attention_bias);
        linear(name + ".output", width, width, s.attention_bias);
        if (!self || s.positions != Positions::relative) return;
        add(name + ".positions.of_keys.weight", 33, s.head());
        add(name + ".positions.of_values.weight", 33, s.head());
    };
    const auto layer = [&](const std::string& name, bool decoder) {
        if (decoder && s.ssru) {
            linear(name + ".attention.candidate", width, width, false);
            linear(name + ".attention.forget", width, width, true);
        } else {
            attention(name + ".attention", 2 * (decoder ? s.kv_width() : width), true);
        }
        if (decoder) attention(name + ".cross_attention", 2 * s.kv_width(), false), norm(name + ".cross_attention_residual.norm");
        linear(name + ".feed_forward.inner", gates * s.hidden, width, true);
        linear(name + ".feed_forward.outer", width, s.hidden, true);
        norm(name + ".attention_residual.norm"), norm(name + ".feed_forward_residual.norm");
    };
    add("target_embedding.weight", s.target_vocab, width);
    if (s.tie != Tie::all) add("source_embedding.weight", s.source_vocab, width);
    if (s.tie == Tie::none) add("logits.weight", s.target_vocab, width);
    if (s.output_bias) add("logits.bias", s.target_vocab);
    for (int i = 0; i < s.encoder_layers && i < 3; i++) layer("encoder." + std::to_string(i), false);
    for (int i = 0; i < s.decoder_layers && i < 3; i++) layer("decoder." + std::to_string(i), true);
    if (s.pre_norm && s.final_norm) norm("encoder_norm"), norm("decoder_norm");
    if (s.norm_embeddings) norm("source_embedding_norm"), norm("target_embedding_norm");
    if (s.positions == Positions::learned || s.positions == Positions::learned_apart) add("positions.table.weight", 1024, width);
    if (s.positions == Positions::learned_apart) add("target_positions.table.weight", 1024, width);
    if (s.positions == Positions::t5) {
        add("encoder.0.attention.positions.table.weight", 32, s.heads);
        if (!s.ssru) add("decoder.0.attention.positions.table.weight", 32, s.heads);
    }
    return all;
}

// Numbers of any kind, in arrays of their own, so that a read beyond the end is seen.
void fill(One& one, Bytes& bytes, uint32_t& random) {
    constexpr int64_t SIZES[] = {4, 8, 2, 2, 1};
    const __int128 count = __int128(one.rows) * one.columns;
    const bool holds = one.rows > 0 && one.columns > 0 && count <= LARGEST && one.stored >= 0 && one.stored < 5;
    one.data.assign(size_t(holds ? int64_t(count) * SIZES[one.stored] : 0) + one.skip, 0);
    const float odd = bytes.one_in(32) ? bytes.raw<float>() : 0.5f;
    for (size_t i = one.skip; holds && i < one.data.size(); i += size_t(SIZES[one.stored])) {
        random = random * 1664525 + 1013904223;
        const float x = odd * (float(random >> 8) / float(1 << 23) - 1);
        const double wide = x;
        uint32_t bits;
        std::memcpy(&bits, &x, 4);
        const uint16_t half = one.stored == 2 ? uint16_t((bits >> 16 & 0x8000) | 0x3000 | (bits >> 13 & 0x3ff)) : uint16_t(bits >> 16);
        if (one.stored == 0) std::memcpy(&one.data[i], &x, 4);
        if (one.stored == 1) std::memcpy(&one.data[i], &wide, 8);
        if (one.stored == 2 || one.stored == 3) std::memcpy(&one.data[i], &half, 2);
        if (one.stored == 4) one.data[i] = char(bits >> 8);
    }
    one.scale.clear(), one.multipliers.clear(), one.blocks = 0;
    if (one.stored != 4 || !holds) return;
    const float scale = bytes.one_in(32) ? bytes.raw<float>() : 0.01f;
    one.scale.assign(size_t(one.rows) * 4 + one.skip % 4, 0);
    for (size_t i = one.skip % 4; i < one.scale.size(); i += 4) std::memcpy(&one.scale[i], &scale, 4);
    if (!bytes.one_in(4)) return;
    const float multiplier = bytes.one_in(8) ? bytes.raw<float>() : 20.0f;
    one.blocks = bytes.one_in(8) ? int32_t(bytes.odd()) : one.rows % 3 ? 1 : 3;
    one.multipliers.assign(size_t(one.blocks > 0 && one.blocks <= one.rows ? one.blocks : 1) * 4 + one.skip % 4, 0);
    for (size_t i = one.skip % 4; i < one.multipliers.size(); i += 4) std::memcpy(&one.multipliers[i], &multiplier, 4);
    if (bytes.one_in(8)) std::memset(&one.multipliers[one.skip % 4], 1, 4);
}

// Spoil some weights, then give all their numbers.
void spoil(Many& all, Bytes& bytes, uint32_t random) {
    const int32_t stored = int32_t(bytes.upto(5)) % 5;
    for (One& one : all)
        if (one.columns > 1) one.stored = stored;
    for (int64_t n = bytes.one_in(3) ? 1 + bytes.upto(3) : 0; n > 0 && !all.empty(); n--) {
        const size_t place = size_t(bytes.raw<uint16_t>()) % all.size();
        One& one = all[place];
        switch (bytes.upto(6)) {
            case 0: one.rows = bytes.odd(); break;
            case 1: one.columns = bytes.odd(); break;
            case 2: one.rows = bytes.odd(), one.columns = bytes.odd(); break;
            case 3: one.stored = int32_t(bytes.odd()); break;
            case 4: one.skip = size_t(bytes.upto(7)); break;
            case 5: one.name += "x"; break;
            default: all.erase(all.begin() + int64_t(place)); break;
        }
    }
    for (One& one : all) {
        // The library cannot know how much memory there is: a caller must have what it promises, unless none can.
        const __int128 count = __int128(one.rows) * one.columns;
        if (one.rows > 0 && one.columns > 0 && count > LARGEST && count <= IMPOSSIBLE) one.rows = one.columns = 1;
        fill(one, bytes, random);
    }
}

std::vector<NamedWeight> table(const Many& all) {
    std::vector<NamedWeight> out;
    for (const One& one : all)
        out.push_back({one.name.c_str(), one.data.data() + one.skip,
                       one.scale.empty() ? nullptr : reinterpret_cast<const float*>(one.scale.data() + one.skip % 4),
                       one.multipliers.empty() ? nullptr : reinterpret_cast<const float*>(one.multipliers.data() + one.skip % 4),
                       one.rows, one.columns, one.stored, one.blocks});
    return out;
}

Shape any_shape(Bytes& bytes) {
    Shape s{9, 9, 8, 6, 2, 2, 1, 1, 0, 1, 2, Tie::all, Positions::sinusoidal, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1e-5f};
    if (bytes.one_in(2)) {  // another that is right
        s.tie = Tie(bytes.upto(2)), s.positions = Positions(bytes.upto(11)), s.activation = int32_t(bytes.upto(4));
        s.width = int32_t(4 * (1 + bytes.upto(4))), s.kv_heads = int32_t(1 + bytes.upto(1));
        for (int32_t* flag : {&s.ssru, &s.pre_norm, &s.rms_norm, &s.final_norm, &s.scale_embeddings, &s.norm_embeddings,
                              &s.attention_bias, &s.output_bias})
            *flag = int32_t(bytes.upto(1));
        s.window = int32_t(bytes.upto(3)), s.encoder_layers = int32_t(1 + bytes.upto(1)), s.decoder_layers = int32_t(1 + bytes.upto(1));
        s.hidden = int32_t(1 + bytes.upto(40));
        if (s.tie != Tie::all) s.source_vocab = int32_t(3 + bytes.upto(30));
    }
    for (int64_t n = bytes.one_in(3) ? 1 + bytes.upto(2) : 0; n > 0; n--) {
        int32_t numbers[sizeof(Shape) / 4];
        std::memcpy(numbers, &s, sizeof s);
        numbers[bytes.upto(sizeof(Shape) / 4 - 1)] = int32_t(bytes.odd());
        std::memcpy(&s, numbers, sizeof s);
    }
    return s;
}

// The weights for a shape if it can have any, or else those of the plain one.
Many weights_of(const Shape& s) {
    const bool small = s.heads > 0 && s.width > 0 && s.width <= 64 && s.hidden > 0 && s.hidden <= 128 && s.kv_heads > 0 && s.kv_heads <= 64 &&
                       s.source_vocab > 0 && s.source_vocab < 1000 && s.target_vocab > 0 && s.target_vocab < 1000;
    Bytes none(nullptr, 0);
    return needed(small ? s : any_shape(none));
}

using List = std::vector<int32_t>;

List ids(Bytes& bytes, int64_t most, int64_t vocab) {
    List out;
    for (int64_t n = bytes.upto(most); n > 0; n--) out.push_back(int32_t(bytes.upto(std::max<int64_t>(std::min<int64_t>(vocab, 256), 1) - 1)));
    return out;
}

List sorted(List list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    return list;
}

// Append a request, its fractions too.
void request(Bytes& bytes, const Shape& s, int32_t number, List& numbers, std::vector<double>& fractions) {
    const int32_t kind = int32_t(bytes.upto(2)), size = int32_t(1 + bytes.upto(3)), wide = size + int32_t(bytes.upto(2));
    const int64_t vocab = s.target_vocab;
    List lists[9] = {ids(bytes, 6, s.source_vocab), ids(bytes, 3, vocab)};
    lists[0].push_back(s.end);
    List few;
    bool listed = false;
    if (bytes.one_in(2)) {
        if (bytes.one_in(2)) lists[2] = {int32_t(1 + bytes.upto(2))};
        lists[3] = sorted(ids(bytes, 3, vocab)), lists[4] = sorted(ids(bytes, 2, vocab));
        if (kind == 0 && bytes.one_in(2)) {
            for (int64_t n = 1 + bytes.upto(1); n > 0; n--) {
                List form = ids(bytes, 3, vocab);
                form.push_back(3);
                lists[5].insert(lists[5].end(), {int32_t(1 + bytes.upto(1)), int32_t(bytes.upto(1)), 1, int32_t(form.size())});
                lists[5].insert(lists[5].end(), form.begin(), form.end());
            }
            lists[6] = sorted(ids(bytes, 4, vocab));
        }
        if (bytes.one_in(3)) listed = true, few = ids(bytes, 8, vocab), few.push_back(s.end), few = sorted(few);
    }
    lists[7] = sorted({s.pad, s.start});
    const int32_t n_best = int32_t(1 + bytes.upto(2));
    if (kind == 1)
        for (int32_t i = 0; i < 8 * n_best; i++) lists[8].push_back(bytes.raw<int32_t>());
    List head = {number, kind, size, wide, n_best, int32_t(bytes.upto(3)), int32_t(bytes.upto(1)), int32_t(bytes.upto(4)), int32_t(bytes.upto(1)),
                 int32_t(bytes.upto(8)), int32_t(bytes.upto(3)), int32_t(bytes.upto(2)) - 1, int32_t(bytes.upto(2)) - 1, 1, int32_t(bytes.upto(5)) - 1,
                 int32_t(bytes.upto(2))};
    head[13] = int32_t(bytes.upto(1));
    double real[3] = {double(bytes.upto(8)) / 4, 0.5 + double(bytes.upto(4)), 1.0 / double(1 + bytes.upto(2))};
    if (bytes.one_in(3)) {  // something wrong, which must not run for ever
        if (const size_t place = 1 + size_t(bytes.upto(14)); place == 9)
            head[place] = -int32_t(bytes.upto(2));
        else
            head[place] = int32_t(bytes.odd());
    }
    if (bytes.one_in(3)) {
        List& list = lists[bytes.upto(8)];
        if (!list.empty()) list[size_t(bytes.upto(int64_t(list.size()) - 1))] = int32_t(bytes.odd());
    }
    if (bytes.one_in(8)) real[bytes.upto(2)] = bytes.raw<double>();
    // Large beams are right, but slow.
    for (int i = 2; i <= 4; i++)
        if (head[size_t(i)] > 20 && head[size_t(i)] <= 1000000) head[size_t(i)] = 20;
    for (const List& list : lists) head.push_back(int32_t(list.size()));
    head.push_back(listed ? int32_t(few.size()) : -1);
    numbers.insert(numbers.end(), head.begin(), head.end());
    for (const List& list : lists) numbers.insert(numbers.end(), list.begin(), list.end());
    numbers.insert(numbers.end(), few.begin(), few.end());
    fractions.insert(fractions.end(), real, real + 3);
}

void translate(Opened* engine, const Shape& s, Bytes& bytes) {
    Handle* session = dragoman_begin(engine, bytes.one_in(8) ? bytes.odd() : 64);
    int64_t left = 0;
    for (int64_t n = 1 + bytes.upto(2); n > 0; n--) {
        List numbers;
        std::vector<double> fractions;
        const int64_t count = 1 + bytes.upto(1);
        for (int64_t i = 0; i < count; i++) request(bytes, s, int32_t(i), numbers, fractions);
        numbers.shrink_to_fit();
        if (dragoman_submit(session, count, numbers.data(), fractions.data()))
            refused++;
        else
            left += count;
    }
    for (int waits = 0; left > 0; waits++) {
        if (waits > 200) std::fputs("no answer\n", stderr), std::abort();
        Collected* collected = dragoman_collect(session, 1024, 100);
        left -= collected->answers, answered += collected->answers;
        dragoman_free(collected);
    }
    dragoman_end(session);
}

void trace(Opened* engine, const Shape& s, Bytes& bytes) {
    const List source = ids(bytes, 4, s.source_vocab), target = ids(bytes, 4, s.target_vocab);
    std::vector<float> values(size_t(bytes.upto(20)), 0.25f);
    std::vector<Change> changes;
    for (int64_t n = bytes.upto(2); n > 0; n--) {
        Change change{Intervention(bytes.upto(8)), Stack(bytes.upto(2)), int32_t(bytes.upto(2)) - 1, int32_t(bytes.upto(2)) - 1,
                      int32_t(bytes.upto(4)) - 1, 0, int32_t(values.size()), float(bytes.upto(9))};
        if (bytes.one_in(3)) {
            int32_t numbers[sizeof(Change) / 4];
            std::memcpy(numbers, &change, sizeof change);
            numbers[bytes.upto(sizeof(Change) / 4 - 1)] = int32_t(bytes.odd());
            std::memcpy(&change, numbers, sizeof change);
        }
        changes.push_back(change);
    }
    char message[200];
    Kept* kept = dragoman_trace(engine, source.data(), int32_t(source.size()), target.data(), int32_t(target.size()), changes.data(),
                                int32_t(changes.size()), values.data(), int32_t(values.size()), message, sizeof message);
    if (!kept) return;
    traced += dragoman_trace_directory(kept)[0] == '[';
    dragoman_trace_free(kept);
}

Many adapter_of(const Many& weights, Bytes& bytes) {
    Many parts;
    for (const One& one : weights) {
        const std::string end = ".weight", name = one.name.substr(0, one.name.size() - std::min(end.size(), one.name.size()));
        if (one.columns < 2 || one.name != name + end || name.find("embedding") != name.npos || name.find("positions") != name.npos || name == "logits")
            continue;
        if (!parts.empty() && bytes.one_in(2)) continue;
        const int64_t rank = 1 + bytes.upto(1), blocks = one.rows > one.columns && one.rows % one.columns == 0 && bytes.one_in(2) ? 3 : 1;
        parts.push_back({name + ".lora.down", rank * blocks, one.columns, 0, {}, {}, {}, 0, 0});
        parts.push_back({name + ".lora.up", one.rows, rank, 0, {}, {}, {}, 0, 0});
    }
    return parts;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Bytes bytes(data, size);
    const Shape shape = any_shape(bytes);
    Many all = weights_of(shape);
    const int32_t type = bytes.one_in(16) ? int32_t(bytes.odd()) : int32_t(bytes.upto(2));
    spoil(all, bytes, 1);
    const std::vector<NamedWeight> weights = table(all);
    char message[100] = "";
    Opened* engine = dragoman_open(&shape, weights.data(), int64_t(weights.size()), type, 0, 1, message, sizeof message);
    if (!engine) {
        if (!*message) std::fputs("no message\n", stderr), std::abort();
        return 0;
    }
    opened++;
    std::vector<Opened*> engines = {engine};
    Many parts;
    if (bytes.one_in(3)) {
        parts = adapter_of(all, bytes);
        spoil(parts, bytes, 2);
        const std::vector<NamedWeight> added = table(parts);
        const double scale = bytes.one_in(8) ? bytes.raw<double>() : 0.5;
        Opened* other = dragoman_adapt(engine, weights.data(), int64_t(weights.size()), 0, added.data(), int64_t(added.size()), scale, 1, message,
                                       sizeof message);
        if (other) engines.push_back(other), adapted++;
    }
    if (bytes.one_in(4)) {
        Opened* other = dragoman_ensemble(engines.data(), int32_t(engines.size()), int32_t(bytes.upto(1)), 1, message, sizeof message);
        if (other) engines.push_back(other);
    }
    translate(engines.back(), shape, bytes);
    if (bytes.one_in(2)) trace(engine, shape, bytes);
    for (size_t i = engines.size(); i-- > 0;) dragoman_close(engines[i]);
    return 0;
}
