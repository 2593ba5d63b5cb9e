// Damages a SentencePiece model and a list of pieces at random places, many times, and uses what still loads. Prints how
// often it did.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

struct Tokenizer;

extern "C" {
Tokenizer* dragoman_tokenizer_open(const char*, const char*, int32_t, const char*, int32_t, const int32_t*, char*, int32_t);
void dragoman_tokenizer_close(Tokenizer*);
int32_t dragoman_tokenizer_size(const Tokenizer*);
const char* dragoman_tokenizer_piece(const Tokenizer*, int32_t, int32_t*);
int32_t dragoman_tokenizer_encode(const Tokenizer*, const char*, int32_t, int32_t*, int32_t*, int32_t);
int32_t dragoman_tokenizer_decode(const Tokenizer*, const int32_t*, int32_t, char*, int32_t);
}

namespace {

std::string read(const char* path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string damaged(std::string bytes, std::mt19937& random) {
    const auto place = [&] { return bytes.empty() ? 0 : size_t(random() % bytes.size()); };
    const int count = random() % 4 ? int(random() % 6) : int(random() % 1000);
    for (int i = 0; i < count && !bytes.empty(); i++) {
        // Half of the places near the ends, where the headers are.
        const size_t near = random() % 2 ? place() : random() % 2 ? place() % 200 % bytes.size() : bytes.size() - 1 - place() % 200 % bytes.size();
        bytes[near] = random() % 2 ? char(random()) : char(bytes[near] ^ 1 << random() % 8);
    }
    if (random() % 4 == 0) bytes.resize(place());
    return bytes;
}

// An array of its own for each text, so that a read beyond its end is seen.
std::vector<char> exact(const std::string& text) { return {text.begin(), text.end()}; }

}  // namespace

int main(int, char** arguments) {
    const std::string model = read(arguments[1]), list = read(arguments[2]);
    std::mt19937 random(1);
    int loaded = 0;
    for (int i = 0; i < std::atoi(arguments[3]); i++) {
        const bool mapped = random() % 3 == 0;
        const std::vector<char> bytes = exact(damaged(model, random)), pieces = exact(mapped ? damaged(list, random) : "");
        const int32_t specials[4] = {0, 0, 0, int32_t(random() % 3)};
        char message[100];
        Tokenizer* tokenizer = dragoman_tokenizer_open(mapped ? "mapped" : "bpe", bytes.data(), int32_t(bytes.size()), pieces.data(),
                                                       int32_t(pieces.size()), specials, message, sizeof message);
        if (!tokenizer) continue;
        loaded++;
        for (int line = 0; line < 20; line++) {
            std::string text;
            for (int n = int(random() % 20); n >= 0; n--) {
                int32_t size = 0;
                if (random() % 3) {
                    const char* piece = dragoman_tokenizer_piece(tokenizer, int32_t(random() % uint32_t(dragoman_tokenizer_size(tokenizer))), &size);
                    text.append(piece, size_t(size));
                } else {
                    text += random() % 2 ? " " : std::string(1, char(random()));
                }
            }
            const std::vector<char> exactly = exact(text);
            const int32_t count = dragoman_tokenizer_encode(tokenizer, exactly.data(), int32_t(exactly.size()), nullptr, nullptr, 0);
            std::vector<int32_t> ids(size_t(count), 0), ends(size_t(count), 0);
            dragoman_tokenizer_encode(tokenizer, exactly.data(), int32_t(exactly.size()), ids.data(), ends.data(), count);
            std::vector<char> out(size_t(dragoman_tokenizer_decode(tokenizer, ids.data(), count, nullptr, 0)));
            dragoman_tokenizer_decode(tokenizer, ids.data(), count, out.data(), int32_t(out.size()));
            for (const int32_t end : ends)
                if (end < 0 || end > int32_t(exactly.size())) return 1;
        }
        dragoman_tokenizer_close(tokenizer);
    }
    std::printf("%d\n", loaded);
    return 0;
}
