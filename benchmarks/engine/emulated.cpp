// Calls functions of a shared library for another process, which sends commands and memory: see emulation.py.
//
// Numbers are 64-bit, little endian. Whole numbers and addresses are passed in the integer registers and the stack, and
// floating-point numbers in those registers, so one function type serves all functions of the library, on x86-64 and
// on aarch64.
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int WHOLE = 14, FRACTIONS = 2;

typedef int64_t I;
typedef I Function(I, I, I, I, I, I, I, I, I, I, I, I, I, I, double, double);

void read(void* to, size_t bytes) {
    if (bytes && std::fread(to, bytes, 1, stdin) != 1) std::exit(0);  // the other process has ended
}

I number() {
    I value;
    read(&value, sizeof value);
    return value;
}

void write(const void* from, size_t bytes) {
    if (bytes) std::fwrite(from, bytes, 1, stdout);
    std::fflush(stdout);
}

void answer(I value) { write(&value, sizeof value); }

void call(I function) {
    I whole[WHOLE];
    double fractions[FRACTIONS];
    read(whole, sizeof whole);
    read(fractions, sizeof fractions);
    I* w = whole;
    answer(reinterpret_cast<Function*>(function)(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11],
                                                 w[12], w[13], fractions[0], fractions[1]));
}

}  // namespace

int main(int, char** arguments) {
    void* library = dlopen(arguments[1], RTLD_NOW | RTLD_GLOBAL);
    if (!library) return std::fprintf(stderr, "%s\n", dlerror()), 1;
    while (true) {
        const I command = number();
        if (command == 'f') {  // find a function
            std::vector<char> name(size_t(number()) + 1);
            read(name.data(), name.size() - 1);
            answer(reinterpret_cast<I>(dlsym(RTLD_DEFAULT, name.data())));
        } else if (command == 'c') {
            call(number());
        } else {  // read or write memory
            void* memory = reinterpret_cast<void*>(number());
            const size_t bytes = size_t(number());
            if (command == 'r') write(memory, bytes);
            else read(memory, bytes);
        }
    }
}
