// What the standard library leaves to the page: there are no exceptions in WebAssembly here, so `throw` and missing memory
// call `dragoman_fail`, which throws a JavaScript error through the calls in between. The page then drops the instance.
#if defined(__wasm__)
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <typeinfo>

#include "system.h"

extern "C" __attribute__((import_module("dragoman"), import_name("fail"))) [[noreturn]] void dragoman_fail(const char* message, size_t size);

namespace {

[[noreturn]] void fail(const char* message) { dragoman_fail(message, std::strlen(message)); }

}  // namespace

extern "C" void* __cxa_allocate_exception(size_t size) { return std::malloc(size); }

// All that the engine throws here begins with a std::exception.
extern "C" [[noreturn]] void __cxa_throw(void* thrown, std::type_info* type, void (*)(void*)) {
    if (*type == typeid(std::bad_alloc)) fail("out of memory");
    fail(static_cast<std::exception*>(thrown)->what());
}

// The only thread never ends.
extern "C" int __cxa_thread_atexit(void (*)(void*), void*, void*) { return 0; }

void* operator new(size_t size) {
    void* memory = std::malloc(size ? size : 1);
    if (!memory) fail("out of memory");
    return memory;
}

void operator delete(void* memory) noexcept { std::free(memory); }

void operator delete(void* memory, size_t) noexcept { std::free(memory); }

// Memory for what the page passes. Aligned to 64 bytes.
EXPORT void* dragoman_allocate(size_t size) {
    void* memory = dragoman::allocate_aligned(64, size / 64 * 64 + 64);
    if (!memory) fail("out of memory");
    return memory;
}

EXPORT void dragoman_release(void* memory) { dragoman::free_aligned(memory); }
#endif
