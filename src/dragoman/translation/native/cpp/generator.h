// Random numbers, drawn one at a time: PCG64 as NumPy has it, so that both engines draw the same.
#pragma once

#include <cstdint>

namespace dragoman {

// PCG XSL RR 128/64 (O'Neill 2014, section 6.3): a linear congruential generator of 128 bits, of which each
// number shows 64.
class Generator {
  public:
    // State and increment, each as four words, the lowest first.
    Generator(const int32_t* state, const int32_t* increment) : state_(joined(state)), increment_(joined(increment)) {}

    // The next number in [0, 1).
    double next() {
        state_ = state_ * ((Whole(2549297995355413924u) << 64) + 4865540595714422341u) + increment_;
        const uint64_t mixed = uint64_t(state_ >> 64) ^ uint64_t(state_);
        const unsigned turn = unsigned(state_ >> 122);
        const uint64_t number = mixed >> turn | mixed << (-turn & 63);
        return double(number >> 11) * 0x1p-53;
    }

  private:
    __extension__ using Whole = unsigned __int128;

    static Whole joined(const int32_t* words) {
        Whole whole = 0;
        for (int i = 3; i >= 0; i--) whole = whole << 32 | uint32_t(words[i]);
        return whole;
    }

    Whole state_, increment_;
};

}  // namespace dragoman
