// Numbers drawn from the bytes of a fuzzer. When they are used up, all are 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

class Bytes {
  public:
    Bytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}

    template <class Number> Number raw() {
        Number number{};
        const size_t count = size_ < sizeof number ? size_ : sizeof number;
        if (count) std::memcpy(&number, data_, count);
        data_ += count, size_ -= count;
        return number;
    }
    // A number from 0 to most.
    int64_t upto(int64_t most) { return raw<uint8_t>() % (most + 1); }
    bool one_in(int64_t count) { return upto(count - 1) == count - 1; }
    bool empty() const { return size_ == 0; }
    const uint8_t* rest() const { return data_; }
    size_t left() const { return size_; }

    // A number that is rarely right.
    int64_t odd() {
        constexpr int64_t ODD[] = {0, -1, 1, 2, 3, 7, 255, 65537, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, int64_t(1) << 32, int64_t(1) << 61};
        return one_in(2) ? ODD[upto(int64_t(sizeof ODD / sizeof *ODD) - 1)] : one_in(2) ? raw<int8_t>() : raw<int64_t>();
    }

  private:
    const uint8_t* data_;
    size_t size_;
};
