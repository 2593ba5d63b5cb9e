// What functions for other languages share: messages as C strings, and no exceptions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string_view>

namespace dragoman {

// The result of `work`, or `failure` if memory runs out. A library without exceptions ends the program instead.
template <class Work> auto guarded(Work work, decltype(work()) failure) -> decltype(work()) {
#if defined(__cpp_exceptions)
    try {
        return work();
    } catch (const std::exception&) {
        return failure;
    }
#else
    (void)failure;
    return work();
#endif
}

inline void copy_message(std::string_view message, char* out, int64_t size) {
    if (size <= 0) return;
    const size_t count = std::min(message.size(), size_t(size) - 1);
    std::memcpy(out, message.data(), count);
    out[count] = 0;
}

}  // namespace dragoman
