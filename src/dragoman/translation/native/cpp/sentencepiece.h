// Models of SentencePiece (Kudo and Richardson 2018): text to pieces and back, as version 0.2 of it cuts text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "normaliser.h"
#include "trie.h"

namespace dragoman {

struct Cut {
    std::string_view text;  // of the piece
    int32_t id, end;        // its end in the line, in bytes
};

// A line as pieces. Their texts are valid until the line is cut again.
struct CutLine {
    Normalised normalised;
    std::vector<Cut> pieces;
};

class SentencePiece {
  public:
    SentencePiece() = default;
    SentencePiece(const SentencePiece&) = delete;

    // Read a model, once. Returns what is wrong, or an empty string.
    std::string read(std::string_view model);

    int32_t size() const { return int32_t(pieces_.size()); }
    std::string_view piece(int32_t id) const { return pieces_[size_t(id)].text; }
    // Whether no text is cut into a piece.
    bool is_control(int32_t id) const { return is(id, Kind::control); }

    // Bytes that are not UTF-8 are U+FFFD.
    void cut(std::string_view line, CutLine& out) const;
    // The text of pieces, which need not be in the model.
    std::string join(const std::vector<std::string_view>& pieces) const;

  private:
    enum class Kind { normal = 1, unknown = 2, control = 3, symbol = 4, unused = 5, byte = 6 };
    enum class Algorithm { unigram = 1, bpe = 2, words = 3, characters = 4 };
    struct Piece {
        std::string_view text;
        float score = 0;
        Kind kind = Kind::normal;
    };
    using Pieces = std::vector<Cut>;  // without ends

    std::string read_pieces();
    bool read_training(std::string_view message);
    int32_t id_of(std::string_view piece) const;
    bool is(int32_t id, Kind kind) const { return pieces_[size_t(id)].kind == kind; }
    void cut_unigram(std::string_view text, Pieces& out) const;
    void cut_bpe(std::string_view text, Pieces& out) const;
    void cut_characters(std::string_view text, Pieces& out) const;
    void append_bytes(std::string& bytes, std::string& out) const;

    std::string bytes_;  // of the model; the texts lie in them
    std::vector<Piece> pieces_;
    Trie cutting_, special_, symbols_;  // pieces that text is cut into; control, unknown and bytes; symbols kept whole
    Algorithm algorithm_ = Algorithm::unigram;
    Normaliser normaliser_, denormaliser_;
    int32_t unknown_ = -1, byte_ids_[256];
    bool byte_fallback_ = false;
    std::string unknown_text_ = " \xE2\x81\x87 ";
    float unknown_score_ = 0, best_score_ = 0;  // unigram
};

}  // namespace dragoman
