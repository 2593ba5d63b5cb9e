// Buffers that are used again, because new pages are slow.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <utility>

#include "system.h"

namespace dragoman {

struct Free {
    void operator()(void* memory) const { free_aligned(memory); }
};

template <class Number> using Aligned = std::unique_ptr<Number[], Free>;

// `count` numbers, all zero, aligned to 64 bytes.
template <class Number> Aligned<Number> zeros(int64_t count) {
    const size_t bytes = (size_t(count) * sizeof(Number) + 63) / 64 * 64 + 64;
    void* memory = allocate_aligned(64, bytes);
    if (!memory) throw std::bad_alloc();
    std::memset(memory, 0, bytes);
    return Aligned<Number>(static_cast<Number*>(memory));
}

// A buffer that grows. Growing loses its contents.
template <class Number> class Buffer {
  public:
    Number* get(int64_t count) {
        if (count > capacity_) {
            memory_.reset();
            capacity_ = 0;  // in case memory runs out
            memory_ = zeros<Number>(count + count / 4);
            capacity_ = count + count / 4;
        }
        return memory_.get();
    }
    // Free the memory if it is larger than most sentences need.
    void shrink() {
        constexpr int64_t LARGE = int64_t(16) << 20;  // bytes
        if (capacity_ * int64_t(sizeof(Number)) > LARGE) memory_.reset(), capacity_ = 0;
    }

  private:
    Aligned<Number> memory_;
    int64_t capacity_ = 0;
};

// Blocks of numbers, each handed out again after it was given back. A new block takes the place of unused ones of other
// sizes, so that there is never more memory than was once in use. For one thread.
class Pool {
  public:
    Aligned<float> take(int64_t count) {
        auto block = free_.extract(count);
        if (block) return std::move(block.mapped());
        free_.clear();
        return zeros<float>(count);
    }
    void give(int64_t count, Aligned<float> block) { free_.emplace_hint(free_.lower_bound(count), count, std::move(block)); }
    void clear() { free_.clear(); }

  private:
    std::multimap<int64_t, Aligned<float>> free_;  // by size, the one that was used last first
};

}  // namespace dragoman
