#include "model.h"

#include <atomic>
#include <cmath>
#include <exception>
#include <functional>
#include <set>
#include <system_error>

#include "positions.h"
#include "threads.h"

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace dragoman {
namespace {

// Give back the pages of a mapped file. The system reads them again if they are needed again.
void give_back(const Weights& weights) {
#if defined(__linux__)
    constexpr int64_t SIZES[] = {4, 8, 2, 2, 1};  // of a number, in the order of Stored
    const int64_t bytes = weights.rows * weights.columns * SIZES[int(weights.stored)];
    const uintptr_t page = uintptr_t(sysconf(_SC_PAGESIZE)), start = uintptr_t(weights.data);
    const uintptr_t first = (start + page - 1) / page * page, last = (start + uintptr_t(bytes)) / page * page;
    if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
#else
    (void)weights;
#endif
}

std::string shape_text(int64_t rows, int64_t columns) {
    return columns == 1 ? std::to_string(rows) : std::to_string(rows) + " x " + std::to_string(columns);
}

// Collects what is to be packed, so that several threads can do it.
class Packer {
  public:
    // With an adapter, packs only the layers that it is on.
    Packer(Type type, const NamedWeights& weights, bool mapped, const Adapter* adapter = nullptr)
        : type_(type), weights_(weights), mapped_(mapped), adapter_(adapter) {}

    const Weights& find(const std::string& name, int64_t rows, int64_t columns = 1) {
        used_.insert(name);
        auto found = weights_.find(name);
        if (found == weights_.end()) throw Unusable("weight " + name + " is missing");
        const Weights& weights = found->second;
        if (weights.rows != rows || weights.columns != columns)
            throw Unusable("weight " + name + " is " + shape_text(weights.rows, weights.columns) +
                           ", the model needs " + shape_text(rows, columns));
        return weights;
    }

    std::vector<float> numbers(const std::string& name, int64_t rows, int64_t columns = 1) {
        const Weights& weights = find(name, rows, columns);
        std::vector<float> out(rows * columns);
        for (int64_t row = 0; row < rows; row++) weights.read(row, out.data() + row * columns);
        return out;
    }

    Norm norm(const std::string& name, const Shape& shape) {
        Norm norm{numbers(name + ".weight", shape.width), {}};
        if (!shape.rms_norm) norm.shift = numbers(name + ".bias", shape.width);
        return norm;
    }

    // Pack rows first .. first + count - 1 of a layer with `outputs` outputs.
    void linear(Linear& out, const std::string& name, int64_t outputs, int64_t inputs, bool biased, int64_t first,
                int64_t count) {
        Weights weights = find(name + ".weight", outputs, inputs);
        const Weights* bias = biased ? &find(name + ".bias", outputs) : nullptr;
        weights.added = added_to(name, outputs, inputs);
        pack(out, name, weights, bias, first, count);
    }

    void pack(Linear& out, const std::string& name, const Weights& weights, const Weights* bias, int64_t first, int64_t count) {
        if (adapter_ && !weights.added) return;  // the base has packed it
        if (type_ == Type::int8 && std::isnan(weights.multiplier(first, count)))
            throw Unusable(name + ".weight.input_multiplier differs between rows that the engine multiplies at once");
        tasks_.push_back([=, &out] {
            out = Linear(type_, weights, first, count, bias);
            if (mapped_) give_back(weights);
        });
    }

    void linear(Linear& out, const std::string& name, int64_t outputs, int64_t inputs, bool biased = true) {
        linear(out, name, outputs, inputs, biased, 0, outputs);
    }

    // Raise Unusable if there are weights that the model has no use for.
    void check_all_used() const {
        for (const auto& [name, weights] : weights_)
            if (!used_.count(name)) throw Unusable("the model has no weight " + name);
        if (!adapter_) return;
        for (const auto& [name, part] : *adapter_)
            if (!used_.count(name)) throw Unusable("the model has no layer " + name);
    }

    void run(int threads) {
        std::atomic<size_t> next{0};
        std::exception_ptr failure;
        std::mutex mutex;
        auto work = [&] {
            try {
                for (size_t i; (i = next++) < tasks_.size();) tasks_[i]();
            } catch (...) {
                std::lock_guard lock(mutex);
                failure = std::current_exception();
            }
        };
        std::vector<std::thread> others;
        try {
            for (int i = 1; i < threads; i++) others.emplace_back(work);
        } catch (const std::system_error&) {  // the system gives no more threads: continue with those
        }
        work();
        for (auto& other : others) other.join();
        if (failure) std::rethrow_exception(failure);
    }

  private:
    // The part of the adapter for a layer, or null.
    const LowRank* added_to(const std::string& name, int64_t outputs, int64_t inputs) {
        if (!adapter_) return nullptr;
        auto found = adapter_->find(name);
        if (found == adapter_->end()) return nullptr;
        used_.insert(name);
        const LowRank& part = found->second;
        if (part.outputs != outputs || part.inputs != inputs || !part.fits())
            throw Unusable("the adapter's part of " + name + " is for " + shape_text(part.outputs, part.inputs) +
                           ", the model has " + shape_text(outputs, inputs));
        return &part;
    }

    Type type_;
    const NamedWeights& weights_;
    bool mapped_;
    const Adapter* adapter_;
    std::set<std::string> used_;
    std::vector<std::function<void()>> tasks_;
};

}  // namespace

Adapter read_adapter(const NamedWeights& weights, double scale) {
    const std::string down = ".lora.down", up = ".lora.up";
    Adapter adapter;
    for (const auto& [name, one] : weights) {
        if (name.size() <= down.size() || name.compare(name.size() - down.size(), down.size(), down)) continue;
        const std::string layer = name.substr(0, name.size() - down.size());
        auto other = weights.find(layer + up);
        if (other == weights.end()) throw Unusable("weight " + layer + up + " is missing");
        const int64_t rank = other->second.columns;
        if (rank < 1 || one.rows < rank || one.rows % rank)
            throw Unusable("weight " + name + " has " + std::to_string(one.rows) + " rows, and " + layer + up + " " +
                           std::to_string(rank) + " columns");
        adapter.emplace(layer, LowRank(one, other->second, scale));
    }
    if (2 * adapter.size() != weights.size()) throw Unusable("the adapter has weights that are not of a layer");
    return adapter;
}

Model::Model(const Shape& shape_, Type type_, const Kernels* kernels_, const NamedWeights& weights, bool mapped,
             int threads)
    : shape(shape_), type(type_), kernels(kernels_), encoder(shape_.encoder_layers), decoder(shape_.decoder_layers) {
    Packer packer(type, weights, mapped);
    read(packer);
    packer.run(threads);
}

Model::Model(const Model& base, const NamedWeights& weights, bool mapped, const Adapter& adapter, int threads)
    : Model(base) {
    Packer packer(type, weights, mapped, &adapter);
    read(packer);
    packer.run(threads);
}

// Read small weights, and let the packer find the large ones.
template <class Packer> void Model::read(Packer& packer) {
    const int64_t width = shape.width, hidden = shape.hidden;
    const int64_t gates = Activation(shape.activation) == Activation::swiglu ? 2 : 1;
    const bool biased = shape.attention_bias;

    const int64_t keys_values = 2 * shape.kv_width();  // of the decoder
    auto self_attention = [&](SelfAttention& attention, const std::string& name, int64_t keys_values) {
        packer.linear(attention.project, name + ".project", width + keys_values, width, biased);
        packer.linear(attention.output, name + ".output", width, width, biased);
        if (shape.positions == Positions::relative) {
            attention.relative.of_keys = packer.numbers(name + ".positions.of_keys.weight", DISTANCES, shape.head());
            attention.relative.of_values = packer.numbers(name + ".positions.of_values.weight", DISTANCES, shape.head());
        }
    };
    auto feed_forward = [&](FeedForward& layer, const std::string& name) {
        packer.linear(layer.inner, name + ".inner", gates * hidden, width);
        packer.linear(layer.outer, name + ".outer", width, hidden);
    };

    target_embedding = packer.find("target_embedding.weight", shape.target_vocab, width);
    source_embedding = shape.tie == Tie::all ? target_embedding
                                             : packer.find("source_embedding.weight", shape.source_vocab, width);
    // The output layer first: it is the largest.
    const Weights& output = shape.tie == Tie::none ? packer.find("logits.weight", shape.target_vocab, width)
                                                   : packer.find("target_embedding.weight", shape.target_vocab, width);
    const Weights* bias = shape.output_bias ? &packer.find("logits.bias", shape.target_vocab) : nullptr;
    packer.pack(logits, shape.tie == Tie::none ? "logits" : "target_embedding", output, bias, 0, shape.target_vocab);

    for (int32_t i = 0; i < shape.encoder_layers; i++) {
        EncoderLayer& layer = encoder[i];
        const std::string name = "encoder." + std::to_string(i);
        self_attention(layer.attention, name + ".attention", 2 * width);
        feed_forward(layer.feed_forward, name + ".feed_forward");
        layer.attention_norm = packer.norm(name + ".attention_residual.norm", shape);
        layer.feed_forward_norm = packer.norm(name + ".feed_forward_residual.norm", shape);
    }
    for (int32_t i = 0; i < shape.decoder_layers; i++) {
        DecoderLayer& layer = decoder[i];
        const std::string name = "decoder." + std::to_string(i), cross = name + ".cross_attention";
        if (shape.ssru) {
            packer.linear(layer.recurrence.candidate, name + ".attention.candidate", width, width, false);
            packer.linear(layer.recurrence.forget, name + ".attention.forget", width, width);
        } else {
            self_attention(layer.attention, name + ".attention", keys_values);
        }
        const int64_t all = width + keys_values;
        packer.linear(layer.cross_attention.query, cross + ".project", all, width, biased, 0, width);
        packer.linear(layer.cross_attention.keys_values, cross + ".project", all, width, biased, width, keys_values);
        packer.linear(layer.cross_attention.output, cross + ".output", width, width, biased);
        feed_forward(layer.feed_forward, name + ".feed_forward");
        layer.attention_norm = packer.norm(name + ".attention_residual.norm", shape);
        layer.cross_attention_norm = packer.norm(name + ".cross_attention_residual.norm", shape);
        layer.feed_forward_norm = packer.norm(name + ".feed_forward_residual.norm", shape);
    }
    if (shape.pre_norm && shape.final_norm) {
        encoder_norm = packer.norm("encoder_norm", shape);
        decoder_norm = packer.norm("decoder_norm", shape);
    }
    if (shape.norm_embeddings) {
        source_embedding_norm = packer.norm("source_embedding_norm", shape);
        target_embedding_norm = packer.norm("target_embedding_norm", shape);
    }
    if (shape.positions == Positions::learned || shape.positions == Positions::learned_apart)
        learned = packer.numbers("positions.table.weight", LONGEST_LEARNED, width);
    if (shape.positions == Positions::learned_apart)
        learned_apart = packer.numbers("target_positions.table.weight", LONGEST_LEARNED, width);
    if (shape.positions == Positions::t5) {  // the layers of a stack share their biases
        t5_encoder = packer.numbers("encoder.0.attention.positions.table.weight", T5_BUCKETS, shape.heads);
        if (!shape.ssru)
            t5_decoder = packer.numbers("decoder.0.attention.positions.table.weight", T5_BUCKETS, shape.heads);
    }
    packer.check_all_used();
}

}  // namespace dragoman
