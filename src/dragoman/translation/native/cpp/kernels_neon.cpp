// The loops for ARM processors: every one with 64 bits has NEON.
#if defined(__aarch64__)
#include <arm_neon.h>
#include <string.h>

#include "kernels.h"

namespace dragoman {
namespace {

#include "vectors_neon.inl"

#include "kernels.inl"
#include "products_neon.inl"
#include "table.inl"

}  // namespace

const Kernels* neon_kernels() {
    static const Kernels table = table_of("neon");
    return &table;
}

}  // namespace dragoman
#endif
