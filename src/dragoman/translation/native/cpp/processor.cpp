// Which instructions the processor and the operating system support.
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>

#include "kernels.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#elif defined(__aarch64__) && defined(_WIN32)
#include <windows.h>
#endif

namespace dragoman {

#if defined(__wasm__)
const Kernels* wasm_kernels();
#else
const Kernels* portable_kernels();
#endif
#if defined(__x86_64__)
const Kernels* avx2_kernels();
const Kernels* avx_vnni_kernels();  // null if the compiler does not know the instruction
const Kernels* avx512_kernels();
const Kernels* avx512_bf16_kernels();
const Kernels* amx_kernels();
#elif defined(__aarch64__)
const Kernels* neon_kernels();
const Kernels* neon_dotprod_kernels();
const Kernels* neon_i8mm_kernels();
const Kernels* neon_bf16_kernels();
#endif

namespace {

#if defined(__x86_64__)

struct Leaf {
    unsigned a = 0, b = 0, c = 0, d = 0;
};

Leaf cpuid(unsigned leaf, unsigned part) {
    Leaf r;
    __get_cpuid_count(leaf, part, &r.a, &r.b, &r.c, &r.d);  // zeros if the processor has no such leaf
    return r;
}

bool bit(unsigned word, int at) { return word >> at & 1; }

// The parts of a thread's state that the operating system saves (XCR0).
uint64_t saved_state() {
    if (!bit(cpuid(1, 0).c, 27)) return 0;  // OSXSAVE
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return uint64_t(high) << 32 | low;
}

bool saves(uint64_t parts) { return (saved_state() & parts) == parts; }

bool has_avx2() {
    Leaf one = cpuid(1, 0), seven = cpuid(7, 0);
    return saves(0x6) && bit(one.c, 12) && bit(one.c, 28) && bit(one.c, 29) && bit(seven.b, 5);  // FMA AVX F16C AVX2
}

bool has_avx_vnni() {
#if defined(DRAGOMAN_EMULATE_AVX_VNNI)
    return has_avx2();
#else
    return has_avx2() && bit(cpuid(7, 1).a, 4) && avx_vnni_kernels();
#endif
}

bool has_avx512() {
    Leaf seven = cpuid(7, 0);  // F DQ BW VL VNNI
    return has_avx2() && saves(0xe6) && bit(seven.b, 16) && bit(seven.b, 17) && bit(seven.b, 30) && bit(seven.b, 31) &&
           bit(seven.c, 11);
}

bool has_avx512_bf16() { return has_avx512() && bit(cpuid(7, 1).a, 5); }

// Linux grants the 8 KB of tiles to a process that asks.
bool allows_tiles() {
#if defined(__linux__)
    constexpr int ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18;
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
#else
    return false;
#endif
}

bool has_amx() {
    Leaf seven = cpuid(7, 0);  // BF16 TILE INT8
    return has_avx512_bf16() && saves(0x60000) && bit(seven.d, 22) && bit(seven.d, 24) && bit(seven.d, 25) &&
           allows_tiles();
}

#elif defined(__aarch64__)

// What macOS, Linux and Windows call a feature. The bit counts in AT_HWCAP, and from 32 on in AT_HWCAP2. Numbers, because
// older headers have no names for all of them.
struct Feature {
    const char* name;
    int bit;
    unsigned number;
};

constexpr Feature DOTPROD = {"hw.optional.arm.FEAT_DotProd", 20, 43};
constexpr Feature I8MM = {"hw.optional.arm.FEAT_I8MM", 32 + 13, 66};
constexpr Feature BF16 = {"hw.optional.arm.FEAT_BF16", 32 + 14, 68};

bool has([[maybe_unused]] const Feature& feature) {
#if defined(__linux__)
    return getauxval(feature.bit < 32 ? AT_HWCAP : AT_HWCAP2) >> feature.bit % 32 & 1;
#elif defined(__APPLE__)
    int value = 0;
    size_t size = sizeof value;
    return sysctlbyname(feature.name, &value, &size, nullptr, 0) == 0 && value;
#elif defined(_WIN32)
    return IsProcessorFeaturePresent(feature.number);
#else
    return false;
#endif
}

// A level has all instructions of the levels below.
bool has_neon() { return true; }

bool has_neon_dotprod() { return has(DOTPROD); }

bool has_neon_i8mm() { return has_neon_dotprod() && has(I8MM); }

bool has_neon_bf16() { return has_neon_i8mm() && has(BF16); }

#endif

[[maybe_unused]] bool never() { return false; }

struct Level {
    const char* name;
    bool (*supported)();
    const Kernels* (*kernels)();
};

constexpr Level LEVELS[] = {
#if defined(__wasm__)
    {"simd128", [] { return true; }, wasm_kernels},
#else
    {"portable", [] { return true; }, portable_kernels},
#endif
#if defined(__x86_64__)
    {"avx2", has_avx2, avx2_kernels},
    {"avx-vnni", has_avx_vnni, avx_vnni_kernels},
    {"avx512", has_avx512, avx512_kernels},
    {"avx512-bf16", has_avx512_bf16, avx512_bf16_kernels},
    {"amx", has_amx, amx_kernels},
#else
    {"avx2", never, nullptr},
    {"avx-vnni", never, nullptr},
    {"avx512", never, nullptr},
    {"avx512-bf16", never, nullptr},
    {"amx", never, nullptr},
#endif
#if defined(__aarch64__)
    {"neon", has_neon, neon_kernels},
    {"neon-dotprod", has_neon_dotprod, neon_dotprod_kernels},
    {"neon-i8mm", has_neon_i8mm, neon_i8mm_kernels},
    {"neon-bf16", has_neon_bf16, neon_bf16_kernels},
#else
    {"neon", never, nullptr},
    {"neon-dotprod", never, nullptr},
    {"neon-i8mm", never, nullptr},
    {"neon-bf16", never, nullptr},
#endif
};

std::string names(bool all) {
    std::string list;
    for (const Level& level : LEVELS)
        if (all || level.supported()) list += (list.empty() ? "" : ", ") + std::string(level.name);
    return list;
}

}  // namespace

const Kernels* find_kernels(const char* name, const char** message) {
    static thread_local std::string error;
    const Kernels* best = nullptr;
    for (const Level& level : LEVELS) {
        bool chosen = name && !std::strcmp(name, level.name);
        if ((chosen || !name) && level.supported()) best = level.kernels();
        if (chosen && !best) error = "this processor does not support " + std::string(name) + "; use " + names(false);
        if (chosen) break;
        if (name && &level == std::end(LEVELS) - 1)
            error = "unknown instructions \"" + std::string(name) + "\"; known are " + names(true);
    }
    if (!best) *message = error.c_str();
    return best;
}

const Kernels* choose_kernels(const char** message) {
    const char* name = std::getenv("DRAGOMAN_INSTRUCTIONS");
    return find_kernels(name && *name ? name : nullptr, message);
}

}  // namespace dragoman
