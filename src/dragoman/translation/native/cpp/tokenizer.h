// Text to ids and back with the vocabulary of one side, as `Subwords` and `Mapped` in text/tokenizers do it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sentencepiece.h"

namespace dragoman {

struct Token {
    int32_t id, end;  // its end in the line, in bytes
};

class Tokenizer {
  public:
    // Read the vocabulary of a tokenizer of this kind: a SentencePiece model and, for mapped, a JSON list of its pieces
    // by id. Those ids of pad, start, end and unknown are then `specials`. Returns what is wrong, or an empty string.
    std::string read(std::string_view kind, std::string_view model, std::string_view list, const int32_t specials[4]);

    int32_t size() const { return mapped_ ? int32_t(list_.size()) : model_.size(); }
    bool silent(int32_t id) const;
    std::string_view piece(int32_t id) const { return mapped_ ? std::string_view(list_[size_t(id)]) : model_.piece(id); }

    // Append the tokens of a line, without start and end.
    void encode(std::string_view line, std::vector<Token>& out) const;
    // All ids are from 0 to size() - 1.
    std::string decode(const int32_t* ids, size_t count) const;

  private:
    SentencePiece model_;
    bool mapped_ = false;
    std::vector<std::string> list_;
    Trie ids_;  // of the list, or of the marks of languages
    int32_t specials_[4] = {};
};

}  // namespace dragoman
