// How SentencePiece normalises text before it cuts it: characters by a compiled table, and spaces.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trie.h"

namespace dragoman {

// U+2581, as which SentencePiece writes a space.
constexpr std::string_view SPACE = "\xE2\x96\x81", REPLACEMENT = "\xEF\xBF\xBD";

struct Normalised {
    std::string text;
    std::vector<int32_t> origin;  // for each byte of the text and for its end, the place in the input
};

class Normaliser {
  public:
    bool dummy_prefix = true, remove_extra_spaces = true, escape_spaces = true, space_as_suffix = false;
    const Trie* kept = nullptr;  // symbols that stay as they are

    // Read a NormalizerSpec, over what is set. The bytes must outlive this object. Returns what is wrong, or null.
    const char* read(std::string_view message);

    void normalise(std::string_view input, Normalised& out) const;
    bool has_table() const { return !units_.empty(); }

  private:
    struct Prefix {
        std::string_view text;  // what stands for the beginning of the input
        size_t length;          // of that beginning
    };
    Prefix prefix(std::string_view input) const;
    uint32_t unit(size_t at) const;

    std::string_view units_, replacements_;  // a double array (Darts), and the texts that it points to
};

}  // namespace dragoman
