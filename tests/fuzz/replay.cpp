// Runs a fuzzer's function on files, and on random bytes, without a fuzzer. Arguments: how many random inputs, then files.
// Prints how often a model was opened and a request answered.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" int64_t opened, answered;

int main(int count, char** arguments) {
    for (int i = 2; i < count; i++) {
        std::ifstream file(arguments[i], std::ios::binary);
        const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
        std::fprintf(stderr, "%s\n", arguments[i]);
        LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    }
    std::mt19937 random(1);
    for (int i = 0; i < std::atoi(arguments[1]); i++) {
        std::vector<uint8_t> bytes(random() % 400);
        for (uint8_t& byte : bytes) byte = uint8_t(random());
        LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    }
    std::printf("%lld %lld\n", static_cast<long long>(opened), static_cast<long long>(answered));
    return 0;
}
