// Measure the inner loops that a product of int8 may have with AVX2, on one core: giga-operations per second.
//
//     g++ -O3 -mavx2 -mfma benchmarks/engine/int8_loops.cpp -o int8_loops && ./int8_loops 512
//
// Each loop multiplies 60 rows of K inputs by 512 outputs, already in the form that it takes, and writes the sums.
// Median and best of 15 interleaved turns, processor time. Saturating loops and those with weights of 7 bits are
// not exact for all weights of 8 bits.
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <vector>

namespace {

typedef int32_t Int __attribute__((vector_size(32)));
constexpr int64_t ROWS = 60, OUTPUTS = 512, PANEL = 16, TURNS = 15;

double now() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

__m256i load(const char* p) { return _mm256_loadu_si256((const __m256i*)p); }

__m256i broadcast(const char* p) {
    int32_t four;
    memcpy(&four, p, 4);
    return _mm256_set1_epi32(four);
}

__m256i even(__m256i v) { return _mm256_srai_epi16(_mm256_slli_epi16(v, 8), 8); }
__m256i odd(__m256i v) { return _mm256_srai_epi16(v, 8); }
Int madd(__m256i a, __m256i b) { return (Int)_mm256_madd_epi16(a, b); }

// WEIGHTS, INPUTS: bytes of a step of 16 outputs, and of a row. DEPTH: inputs in a step.
struct Shifts {  // bytes, split into int16 in the loop
    static constexpr int WEIGHTS = 64, INPUTS = 4, DEPTH = 4;
    static void add(Int* sums, const char* w, const char* x) {
        __m256i v = broadcast(x);
#pragma GCC unroll 2
        for (int i = 0; i < 2; i++) {
            sums[i] += madd(even(load(w + 32 * i)), even(v));
            sums[i] += madd(odd(load(w + 32 * i)), odd(v));
        }
    }
};

struct Pairs {  // int16 made before
    static constexpr int WEIGHTS = 64, INPUTS = 4, DEPTH = 2;
    static void add(Int* sums, const char* w, const char* x) {
        __m256i v = broadcast(x);
#pragma GCC unroll 2
        for (int i = 0; i < 2; i++) sums[i] += madd(load(w + 32 * i), v);
    }
};

struct Winograd {  // int16 made before, half the multiplications
    static constexpr int WEIGHTS = 128, INPUTS = 8, DEPTH = 4;
    static void add(Int* sums, const char* w, const char* x) {
        __m256i a = broadcast(x), b = broadcast(x + 4);
#pragma GCC unroll 2
        for (int i = 0; i < 2; i++)
            sums[i] += madd(_mm256_add_epi16(a, load(w + 64 + 32 * i)), _mm256_add_epi16(b, load(w + 32 * i)));
    }
};

struct Bytes {  // vpmaddubsw: saturates, or has weights of 7 bits
    static constexpr int WEIGHTS = 64, INPUTS = 4, DEPTH = 4;
    static void add(Int* sums, const char* w, const char* x) {
        __m256i v = broadcast(x), one = _mm256_set1_epi16(1);
#pragma GCC unroll 2
        for (int i = 0; i < 2; i++) sums[i] += madd(_mm256_maddubs_epi16(v, load(w + 32 * i)), one);
    }
};

template <class Loop, int BLOCK> void multiply(const char* w, const char* x, int64_t inputs, int32_t* out) {
    const int64_t steps = inputs / Loop::DEPTH, row_bytes = steps * Loop::INPUTS;
    for (int64_t panel = 0; panel < OUTPUTS / PANEL; panel++)
        for (int64_t row = 0; row < ROWS; row += BLOCK) {
            Int sums[BLOCK][2] = {};
            const char *from = w + panel * steps * Loop::WEIGHTS, *in = x + row * row_bytes;
            for (int64_t k = 0; k < steps; k++, from += Loop::WEIGHTS, in += Loop::INPUTS)
#pragma GCC unroll 8
                for (int r = 0; r < BLOCK; r++) Loop::add(sums[r], from, in + r * row_bytes);
            for (int r = 0; r < BLOCK; r++) memcpy(out + (row + r) * OUTPUTS + panel * PANEL, sums[r], sizeof sums[r]);
        }
}

}  // namespace

int main(int count, char** arguments) {
    const int64_t inputs = count > 1 ? atoll(arguments[1]) : 512;
    std::vector<char> w(size_t(OUTPUTS * inputs * 4), 1), x(size_t(ROWS * inputs * 4), 1);
    std::vector<int32_t> out(size_t(ROWS * OUTPUTS));
    struct {
        const char* name;
        void (*run)(const char*, const char*, int64_t, int32_t*);
        std::vector<double> rates;
    } loops[] = {{"int8, split by shifts in the loop", multiply<Shifts, 4>, {}},
                 {"int8 as int16", multiply<Pairs, 6>, {}},
                 {"int8 as int16, half the multiplications", multiply<Winograd, 4>, {}},
                 {"int8 by bytes, saturating or 7 bits", multiply<Bytes, 4>, {}}};
    for (int64_t turn = 0; turn < TURNS; turn++)
        for (auto& loop : loops) {
            const double begin = now();
            for (int i = 0; i < 3; i++) loop.run(w.data(), x.data(), inputs, out.data());
            loop.rates.push_back(3 * 2e-9 * double(ROWS * inputs * OUTPUTS) / (now() - begin));
        }
    for (auto& loop : loops) {
        std::sort(loop.rates.begin(), loop.rates.end());
        printf("%-42s median %4.0f, best %4.0f\n", loop.name, loop.rates[TURNS / 2], loop.rates.back());
    }
}
