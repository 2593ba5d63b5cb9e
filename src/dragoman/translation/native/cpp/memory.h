// Buffers that are used again, because new pages are slow.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <vector>

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

  private:
    Aligned<Number> memory_;
    int64_t capacity_ = 0;
};

// Blocks of numbers of a few sizes, each handed out again after it was given back. For one thread.
class Pool {
  public:
    float* take(int64_t count) {
        auto& free = free_[count];
        if (free.empty()) {
            blocks_.push_back(zeros<float>(count));
            return blocks_.back().get();
        }
        float* block = free.back();
        free.pop_back();
        return block;
    }
    void give(int64_t count, float* block) { free_[count].push_back(block); }

  private:
    std::map<int64_t, std::vector<float*>> free_;
    std::vector<Aligned<float>> blocks_;
};

}  // namespace dragoman
