// The Transformer (compare models/transformer.py): encoder, and one step of the decoder for many rows.
//
// E model width, F feed-forward width, H heads, D head width, K width of a key: E, or less if heads share keys,
// S source length, T tokens so far, L decoder layers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "memory.h"
#include "model.h"
#include "positions.h"
#include "team.h"

namespace dragoman {

// The keys and values of several sources for every layer of the decoder, from one product: [L][rows][2K]. They are
// float32 in a float32 model, otherwise bfloat16: most of the time of attention is reading them. A model with fixed
// multipliers keeps float32, as the programs do whose results it repeats.
struct SourceBlock {
    Buffer<float> numbers;
    int64_t rows = 0;
};

// One encoded source: its rows in a block that it shares with the sources that were encoded with it.
struct Source {
    std::vector<int32_t> tokens;  // the end included
    std::shared_ptr<SourceBlock> block;
    int64_t first = 0;
    int64_t length() const { return int64_t(tokens.size()); }
};

// The decoder's cache for the tokens of one sentence, by position and slot: keys and values of self-attention
// [L][2K], as those of a source, or the states of an SSRU [L][E]. A slot is never copied. Each row of a beam has a path: the slot of each
// earlier token.
class Cache {
  public:
    Cache(Pool& pool, int64_t slots, int64_t size) : pool_(&pool), count_(slots * size), size_(size) {}
    Cache(const Cache&) = delete;
    ~Cache() {
        for (auto& block : blocks_) pool_->give(count_, std::move(block));
    }
    float* at(int64_t position, int64_t slot) { return blocks_[position].get() + slot * size_; }
    void grow(int64_t positions) {
        while (int64_t(blocks_.size()) < positions) blocks_.push_back(pool_->take(count_));
    }

  private:
    Pool* pool_;
    int64_t count_, size_;
    std::vector<Aligned<float>> blocks_;
};

// The engine closes: what is under way ends without a result.
struct Closing {};

// One row of a decoding step: the next token of one translation.
struct Row {
    int32_t token;
    int64_t position;
    int64_t slot;         // of this token in the cache
    const int32_t* path;  // slots of the tokens at positions 0 .. position - 1
    const Source* source;
    Cache* cache;
    int32_t layer = -1, head = -1;  // whose cross-attention to write, or layer -1; head -1 for the mean
    float* attention = nullptr;     // S numbers
};

class Transformer {
  public:
    // Raises Closing in the middle of its work as soon as `closing` is set. With `changes`, if only to no head, it computes
    // what a trace shows: without heads, with other positions of the source, and with keys and values in float32.
    Transformer(const Model& model, const std::atomic<bool>& closing, const std::vector<Change>* changes = nullptr);

    // Room of a slot of a cache, in float32 numbers.
    int64_t slot_size() const;

    // Encode several sources together, without padding between them.
    void encode(const std::vector<Source*>& sources);

    // Return states_ME of the next token of each row, Shape::stride() numbers apart. They are valid until the next call.
    const float* step(const std::vector<Row>& rows);

    // Write the logits of panels first .. last - 1 for the rows of the last step.
    void prepare_logits(int64_t rows);
    void logits(int64_t rows, int64_t first, int64_t last, float* out, int64_t stride) const;

    // Free large buffers, and the keys and values of sources, of which none may be left.
    void shrink();

    // Share products with these helpers from now on, or with none.
    void use(Team* team) { team_ = team; }

    const Model& model() const { return model_; }
    void check_open() const {
        if (closing_) throw Closing();
    }

  private:
    float* embed(const Weights& embedding, PositionalEncoding& positions, const Norm& norm, int64_t rows);
    void silence(float* heads, int64_t rows, Stack stack, int64_t layer) const;
    template <class Sublayer> void residual(const Norm& norm, int64_t rows, Sublayer sublayer);
    void normalise(const Norm& norm, const float* x, int64_t rows, float* out) const;
    Input prepare(const Linear& linear, const float* x, int64_t stride, int64_t rows);
    const float* product(const Linear& linear, const float* x, int64_t stride, int64_t rows, Buffer<float>& out);
    void multiply(const Packed& packed, const Input& input, int64_t rows, int64_t first, int64_t last, float* out,
                  int64_t stride) const;
    const float* feed_forward(const FeedForward& layer, const float* x, int64_t rows);
    const float* attend_to_all(int64_t number, const std::vector<Source*>& sources, const float* x, int64_t rows);
    template <class Number>
    const float* attend_to_past(const SelfAttention& layer, int64_t number, const std::vector<Row>& rows,
                                const float* x);
    const float* recur(const Recurrence& layer, int64_t number, const std::vector<Row>& rows, const float* x);
    template <class Number>
    const float* attend_to_source(const CrossAttention& layer, int64_t number, const std::vector<Row>& rows,
                                  const float* x);
    template <class Number>
    void attend(const float* query, int64_t kv_heads, const float* bias, int64_t count, float* out);
    template <class Number> const Number* source_keys(const Source& source, int64_t layer) const;
    template <class Number> Number* past_keys(const Row& row, int64_t position, int64_t slot, int64_t layer) const;
    void keep(const float* x, int64_t count, float* out) const;
    void keep(const float* x, int64_t count, uint16_t* out) const;
    std::shared_ptr<SourceBlock> free_block();

    const Model& model_;
    const std::atomic<bool>& closing_;
    const Shape& shape_;
    const Kernels& kernels_;
    const std::vector<Change>* changes_;
    PositionalEncoding source_positions_, positions_;
    Team* team_ = nullptr;
    Buffer<float> x_, normed_, projected_, heads_, out_, hidden_, scales_, bias_, weights_, states_;
    Buffer<unsigned char> input_, logits_input_;
    Buffer<float> logits_scales_;
    Input prepared_;
    std::vector<std::shared_ptr<SourceBlock>> blocks_;  // those that only this list holds are free
    bool narrow_;  // whether keys and values are bfloat16
    // Where the keys and values of one query are.
    template <class Number> struct Places {
        std::vector<const Number*> keys, values;
        void room(int64_t count) {
            if (int64_t(keys.size()) < count) keys.resize(count), values.resize(count);
        }
    };
    template <class Number> Places<Number>& places();
    Places<float> wide_places_;
    Places<uint16_t> narrow_places_;
    std::vector<int32_t> tokens_;
    std::vector<int64_t> position_, length_;
};

}  // namespace dragoman
