#include "vectors.h"

const i64 lanes = LANES; // for Python, which allocates whole vectors

float *scratch(size_t floats) {
    static _Thread_local float *memory;
    static _Thread_local size_t size;
    if (floats > size) {
        free(memory);
        size = (floats + 1023) / 1024 * 1024;
        memory = aligned_alloc(64, size * sizeof(float));
        if (!memory) abort();
    }
    return memory;
}
