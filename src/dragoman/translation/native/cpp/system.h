// What differs between operating systems.
#pragma once

#include <cstddef>
#include <cstdlib>

// A function that Python calls.
#if defined(_WIN32)
#define EXPORT extern "C" __attribute__((dllexport))
#else
#define EXPORT extern "C" __attribute__((visibility("default")))
#endif

namespace dragoman {

// Memory at a multiple of `alignment`, a power of 2 that divides `bytes`, or null. For `free_aligned`.
inline void* allocate_aligned(size_t alignment, size_t bytes) {
#if defined(_WIN32)
    return _aligned_malloc(bytes, alignment);
#else
    return std::aligned_alloc(alignment, bytes);
#endif
}

inline void free_aligned(void* memory) {
#if defined(_WIN32)
    _aligned_free(memory);
#else
    std::free(memory);
#endif
}

}  // namespace dragoman
