// The product of int8, four bytes at a time. Included after products.inl. It needs one more operation:
// add_products(sum, w, x), the sum with the products of the bytes of w and x.

struct DotInt8 {
    static constexpr int REGISTERS = OFFSET ? SUMS : SUMS * 2 / 3;
    typedef Int Sum;
    static Sum add(Sum sum, Int w, Int x) { return add_products(sum, w, x); }
    static Float finish(Sum sum, const Packed& w, const Input& input, int64_t row, int64_t output) {
        return scale_sums(sum, w, input, row, output);
    }
};
