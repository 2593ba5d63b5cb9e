// Opens a tokenizer from bytes, cuts a line with it and joins what came out. The input is: 2 bits for the kind, the sizes of
// a list of pieces and of a line in two bytes each, the list, the line, and the model.
#include <cstdlib>
#include <vector>

#include "bytes.h"

struct Tokenizer;

extern "C" {
Tokenizer* dragoman_tokenizer_open(const char*, const char*, int32_t, const char*, int32_t, const int32_t*, char*, int32_t);
void dragoman_tokenizer_close(Tokenizer*);
int32_t dragoman_tokenizer_size(const Tokenizer*);
const char* dragoman_tokenizer_piece(const Tokenizer*, int32_t, int32_t*);
int32_t dragoman_tokenizer_encode(const Tokenizer*, const char*, int32_t, int32_t*, int32_t*, int32_t);
int32_t dragoman_tokenizer_decode(const Tokenizer*, const int32_t*, int32_t, char*, int32_t);
extern int64_t opened, answered;
}

int64_t opened, answered;

namespace {

// An array of its own, so that a read beyond its end is seen.
std::vector<char> part(Bytes& bytes, size_t size) {
    std::vector<char> out(size < bytes.left() ? size : bytes.left());
    for (char& c : out) c = char(bytes.raw<uint8_t>());
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    constexpr const char* KINDS[] = {"bpe", "mapped", "unigram", "words"};
    Bytes bytes(data, size);
    const char* kind = KINDS[bytes.upto(3)];
    const size_t list_size = bytes.raw<uint16_t>(), line_size = bytes.raw<uint16_t>();
    const std::vector<char> list = part(bytes, list_size), line = part(bytes, line_size), model = part(bytes, bytes.left());
    const int32_t specials[4] = {0, 0, 0, 0};
    char message[100] = "";
    Tokenizer* tokenizer = dragoman_tokenizer_open(kind, model.data(), int32_t(model.size()), list.data(), int32_t(list.size()), specials,
                                                   message, sizeof message);
    if (!tokenizer) {
        if (!*message) std::abort();
        return 0;
    }
    opened++;
    const int32_t count = dragoman_tokenizer_encode(tokenizer, line.data(), int32_t(line.size()), nullptr, nullptr, 0);
    if (count < 0) std::abort();
    std::vector<int32_t> ids(size_t(count), 0), ends(size_t(count), 0);
    dragoman_tokenizer_encode(tokenizer, line.data(), int32_t(line.size()), ids.data(), ends.data(), count);
    int32_t before = 0;
    for (size_t i = 0; i < ids.size(); i++) {
        if (ids[i] < 0 || ids[i] >= dragoman_tokenizer_size(tokenizer)) std::abort();
        if (ends[i] < before || ends[i] > int32_t(line.size())) std::abort();
        before = ends[i];
        int32_t length = -1;
        if (!dragoman_tokenizer_piece(tokenizer, ids[i], &length) && length) std::abort();
    }
    const int32_t room = dragoman_tokenizer_decode(tokenizer, ids.data(), count, nullptr, 0);
    if (room < 0) std::abort();
    std::vector<char> text(size_t(room), 0);
    dragoman_tokenizer_decode(tokenizer, ids.data(), count, text.data(), room);
    answered++;
    dragoman_tokenizer_close(tokenizer);
    return 0;
}
