// The table of a set of instructions that has every loop of kernels.inl and a Dot for every type.

void product(const Packed& w, const Input& input, int64_t rows, int64_t first, int64_t last, float* out,
             int64_t stride) {
    switch (w.type) {
        case Type::float32: return multiply<DotFloat32>(w, input, rows, first, last, out, stride);
        case Type::bfloat16: return multiply<DotBfloat16>(w, input, rows, first, last, out, stride);
        case Type::int8: return multiply<DotInt8>(w, input, rows, first, last, out, stride);
    }
}

inline Kernels table_of(const char* name) {
    return {name,   prepare,         product, normalise,        add,       activate,
            attend, attend_bfloat16, narrow,  sum_exponentials, find_best, recur};
}
