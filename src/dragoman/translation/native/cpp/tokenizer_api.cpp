// The tokenizers as C functions, for a page in a browser. Sizes have 32 bits, because JavaScript's numbers do not hold 64.
#include <memory>

#include "guarded.h"
#include "system.h"
#include "tokenizer.h"

using namespace dragoman;

// Return the vocabulary of one side, or null and a message. `kind` is that of the tokenizer in tokenizer.json. `model` are
// the bytes of the .spm file and, for mapped, `list` those of the .vocab.json file; `specials` are the ids of pad, start,
// end and unknown. The bytes are copied.
EXPORT Tokenizer* dragoman_tokenizer_open(const char* kind, const char* model, int32_t size, const char* list,
                                          int32_t list_size, const int32_t* specials, char* message,
                                          int32_t message_size) {
    copy_message("out of memory", message, message_size);
    return guarded(
        [&]() -> Tokenizer* {
            auto tokenizer = std::make_unique<Tokenizer>();
            const std::string wrong =
                tokenizer->read(kind, {model, size_t(std::max(size, 0))}, {list, size_t(std::max(list_size, 0))}, specials);
            copy_message(wrong, message, message_size);
            return wrong.empty() ? tokenizer.release() : nullptr;
        },
        nullptr);
}

EXPORT void dragoman_tokenizer_close(Tokenizer* tokenizer) { delete tokenizer; }

// Return the number of ids.
EXPORT int32_t dragoman_tokenizer_size(const Tokenizer* tokenizer) { return tokenizer->size(); }

// Return the piece of an id and set its size in bytes, or null if there is no such id. It belongs to the tokenizer.
EXPORT const char* dragoman_tokenizer_piece(const Tokenizer* tokenizer, int32_t id, int32_t* size) {
    if (id < 0 || id >= tokenizer->size()) return nullptr;
    const std::string_view piece = tokenizer->piece(id);
    *size = int32_t(piece.size());
    return piece.data();
}

// Return the number of tokens of a line, and write the first `room` ids and ends, which are places in the line in bytes.
// The line is normalised: lower-cased if the tokenizer says so. Returns -1 if memory ran out.
EXPORT int32_t dragoman_tokenizer_encode(const Tokenizer* tokenizer, const char* line, int32_t size, int32_t* ids,
                                         int32_t* ends, int32_t room) {
    return guarded(
        [&] {
            std::vector<Token> tokens;
            tokenizer->encode({line, size_t(std::max(size, 0))}, tokens);
            for (size_t i = 0; i < tokens.size() && int64_t(i) < room; i++) ids[i] = tokens[i].id, ends[i] = tokens[i].end;
            return int32_t(tokens.size());
        },
        -1);
}

// Return the size of the text of ids in bytes, and write its first `room` bytes. Returns -1 if memory ran out, -2 if an id is
// not in the vocabulary.
EXPORT int32_t dragoman_tokenizer_decode(const Tokenizer* tokenizer, const int32_t* ids, int32_t count, char* text,
                                         int32_t room) {
    for (int32_t i = 0; i < count; i++)
        if (ids[i] < 0 || ids[i] >= tokenizer->size()) return -2;
    return guarded(
        [&] {
            const std::string whole = tokenizer->decode(ids, size_t(std::max(count, 0)));
            std::copy_n(whole.data(), std::min(whole.size(), size_t(std::max(room, 0))), text);
            return int32_t(whole.size());
        },
        -1);
}
