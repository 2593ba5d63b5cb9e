// Runs all loops of one instruction set on odd sizes. Arrays end at a page that must not be touched, because the
// sanitizers do not see the loads and stores of tiles.
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels.h"
#include "matrix.h"

using namespace dragoman;

namespace {

template <class T> class Array {
  public:
    explicit Array(int64_t count) : count_(count) {
        const size_t page = size_t(sysconf(_SC_PAGESIZE)), bytes = size_t(count) * sizeof(T);
        size_ = (bytes + page - 1) / page * page + page;
        base_ = static_cast<char*>(mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        mprotect(base_ + size_ - page, page, PROT_NONE);
        data_ = reinterpret_cast<T*>(base_ + size_ - page - bytes);
        for (int64_t i = 0; i < count; i++) data_[i] = T(std::sin(double(i * 7 + count)) * 3);
    }
    Array(const Array&) = delete;
    Array& operator=(const Array&) = delete;
    ~Array() { munmap(base_, size_); }
    T* data() { return data_; }
    int64_t count() const { return count_; }

  private:
    char* base_;
    T* data_;
    size_t size_;
    int64_t count_;
};

const int64_t SIZES[] = {1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 70, 127, 130};

double total;  // of results, so that none is optimised away

void take(Array<float>& x) {
    for (int64_t i = 0; i < x.count(); i++)
        if (std::isfinite(x.data()[i])) total += x.data()[i];
}

void products(const Kernels& kernels, bool spoil, float multiplier) {
    for (Type type : {Type::float32, Type::bfloat16, Type::int8})
        for (int64_t inputs : SIZES)
            for (int64_t outputs : {1, 17, 64, 90}) {
                Array<float> weights(outputs * inputs), bias(outputs);
                if (spoil) weights.data()[0] = std::numeric_limits<float>::quiet_NaN();
                const Weights w{Stored::float32, outputs, inputs, weights.data(), nullptr};
                const Weights b{Stored::float32, outputs, 1, bias.data(), nullptr};
                const Linear linear(type, w, 0, outputs, inputs % 2 ? &b : nullptr), copy = linear;
                Packed packed = copy.packed();
                packed.multiplier = multiplier;
                for (int64_t rows : {1, 2, 3, 6, 11, 13, 15, 16, 17, 33, 70}) {
                    const int64_t size = type == Type::float32 ? 4 : type == Type::bfloat16 ? 2 : 1;
                    Array<float> x(rows * inputs), scales(rows), out(rows * packed.panels * PANEL);
                    if (spoil) x.data()[inputs / 2] = -std::numeric_limits<float>::infinity();
                    Array<char> buffer(rows * packed.depth * 4);
                    const Input input = kernels.prepare(packed, x.data(), inputs, rows, buffer.data(), scales.data());
                    kernels.product(packed, input, rows, 0, packed.panels, out.data(), packed.panels * PANEL);
                    take(out);
                    Array<float> part(rows * PANEL);
                    kernels.product(packed, input, rows, packed.panels - 1, packed.panels, part.data(), PANEL);
                    take(part);
                }
            }
}

void rows(const Kernels& kernels) {
    for (int64_t width : SIZES) {
        Array<float> x(3 * width), y(3 * width), gain(width), shift(width), wide(6 * width);
        kernels.normalise(x.data(), gain.data(), nullptr, 1e-5f, 3, width, width, y.data());
        kernels.normalise(x.data(), gain.data(), shift.data(), 1e-5f, 3, width, width, y.data());
        kernels.add(x.data(), y.data(), 3 * width);
        for (Activation kind : {Activation::relu, Activation::gelu, Activation::quick_gelu, Activation::swish})
            kernels.activate(kind, y.data(), 3, width, width);
        kernels.activate(Activation::swiglu, wide.data(), 3, width, 2 * width);
        kernels.recur(x.data(), y.data(), gain.data(), shift.data(), width);
        for (Array<float>* a : {&x, &y, &gain, &shift, &wide}) take(*a);
    }
}

void attention(const Kernels& kernels) {
    for (int64_t count : {1, 3, 4, 5, 16, 17, 40, 3000})
        for (auto [heads, shared] : {std::pair<int64_t, int64_t>{1, 1}, {3, 1}, {8, 1}, {8, 2}, {8, 8}})
            for (int64_t width : {1, 5, 8, 16, 24, 32, 64, 128}) {
                if (count == 3000 && width > 8) continue;
                const int64_t size = heads / shared * width;
                Array<float> query(heads * width), keys(count * size), values(count * size);
                Array<float> bias(heads * count), weights(heads * count), out(heads * width);
                std::vector<const float*> k, v;
                for (int64_t t = 0; t < count; t++) {
                    k.push_back(keys.data() + t * size);
                    v.push_back(values.data() + t * size);
                }
                kernels.attend(query.data(), k.data(), v.data(), count % 2 ? bias.data() : nullptr, 0.5f, count, heads,
                               shared, width, weights.data(), out.data());
                take(weights);
                take(out);
                std::vector<uint16_t> narrow_keys(keys.count()), narrow_values(values.count());
                kernels.narrow(keys.data(), keys.count(), narrow_keys.data());
                kernels.narrow(values.data(), values.count(), narrow_values.data());
                std::vector<const uint16_t*> nk, nv;
                for (int64_t t = 0; t < count; t++) {
                    nk.push_back(narrow_keys.data() + t * size);
                    nv.push_back(narrow_values.data() + t * size);
                }
                kernels.attend_bfloat16(query.data(), nk.data(), nv.data(), nullptr, 0.5f, count, heads, shared, width,
                                        weights.data(), out.data());
                take(out);
            }
}

void logits(const Kernels& kernels) {
    for (int64_t count : {0, 1, 15, 16, 17, 63, 64, 65, 1000, 1024, 1025})
        for (int64_t best : {1, 3, 100}) {
            Array<float> x(count), values(best);
            Array<int32_t> ids(best);
            for (int64_t i = 0; i < best; i++) values.data()[i] = -std::numeric_limits<float>::infinity();
            float max = -std::numeric_limits<float>::infinity(), sum = 0;
            kernels.sum_exponentials(x.data(), count, &max, &sum);
            kernels.find_best(x.data(), count, 7, best, values.data(), ids.data());
            total += sum;
            take(values);
        }
}

}  // namespace

int main(int, char** arguments) {
    const char* message = nullptr;
    const Kernels* kernels = find_kernels(arguments[1], &message);
    if (!kernels) return std::puts(message), 0;
    for (float multiplier : {0.0f, 90.0f}) {
        products(*kernels, false, multiplier);
        products(*kernels, true, multiplier);
    }
    rows(*kernels);
    attention(*kernels);
    logits(*kernels);
    std::printf("%s: %g\n", kernels->name, total);
}
