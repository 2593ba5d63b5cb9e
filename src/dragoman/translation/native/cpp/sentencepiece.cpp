#include "sentencepiece.h"

#include <algorithm>
#include <cfloat>
#include <map>
#include <queue>

#include "protobuf.h"
#include "utf8.h"

namespace dragoman {
namespace {

constexpr float UNKNOWN_PENALTY = 10;  // an unknown character scores this much below the worst piece

// The byte that a piece such as <0xE4> stands for, or -1.
int byte_of(std::string_view piece) {
    if (piece.size() != 6 || piece.substr(0, 3) != "<0x" || piece[5] != '>') return -1;
    int byte = 0;
    for (const char c : piece.substr(3, 2)) {
        if (!((c >= '0' && c <= '9') || (c >= 'A' && c <= 'F'))) return -1;
        byte = 16 * byte + (c <= '9' ? c - '0' : c - 'A' + 10);
    }
    return byte;
}

}  // namespace

std::string SentencePiece::read(std::string_view model) {
    const std::string damaged = "not a SentencePiece model";
    bytes_ = model;
    std::string_view normaliser, denormaliser;
    size_t total = 0;
    Message fields(bytes_);
    for (Field field; fields.next(field);) {
        if (field.kind != Field::Kind::bytes) continue;
        if (field.number == 1) {
            Piece piece;
            Message parts(field.bytes);
            for (Field part; parts.next(part);) {
                if (part.is(1, Field::Kind::bytes)) piece.text = part.bytes;
                if (part.is(2, Field::Kind::fixed32)) piece.score = part.real();
                if (part.is(3, Field::Kind::integer) && part.integer >= 1 && part.integer <= 6) piece.kind = Kind(part.integer);
            }
            if (parts.damaged()) return damaged;
            total += piece.text.size();
            pieces_.push_back(piece);
        } else if (field.number == 2) {
            if (!read_training(field.bytes)) return damaged;
        } else if (field.number == 3) {
            if (const char* wrong = normaliser_.read(field.bytes)) return wrong;
        } else if (field.number == 5) {
            if (const char* wrong = denormaliser_.read(field.bytes)) return wrong;
        }
    }
    if (fields.damaged() || pieces_.empty()) return damaged;
    if (total > Trie::MOST) return "more than 16 MB of pieces";
    if (algorithm_ == Algorithm::words) return "the engine cuts text by unigram, bpe and characters, not by words";
    normaliser_.kept = &symbols_;
    return read_pieces();
}

bool SentencePiece::read_training(std::string_view message) {
    Message fields(message);
    for (Field field; fields.next(field);) {
        if (field.is(3, Field::Kind::integer) && field.integer >= 1 && field.integer <= 4) algorithm_ = Algorithm(field.integer);
        if (field.is(24, Field::Kind::integer)) normaliser_.space_as_suffix = field.integer != 0;
        if (field.is(35, Field::Kind::integer)) byte_fallback_ = field.integer != 0;
        if (field.is(44, Field::Kind::bytes)) unknown_text_ = field.bytes.substr(0, field.bytes.find('\0'));
    }
    return !fields.damaged();
}

std::string SentencePiece::read_pieces() {
    std::fill(byte_ids_, byte_ids_ + 256, -1);
    float worst = FLT_MAX, best = FLT_MIN;  // not the lowest number: as in SentencePiece
    bool any = false;
    for (int32_t id = 0; id < size(); id++) {
        const Piece& piece = pieces_[size_t(id)];
        if (piece.text.empty()) return "piece " + std::to_string(id) + " is empty";
        const bool cutting = piece.kind == Kind::normal || piece.kind == Kind::symbol || piece.kind == Kind::unused;
        any |= cutting;
        if (!(cutting ? cutting_ : special_).insert(piece.text, id)) return "piece " + std::to_string(id) + " is there twice";
        if (piece.kind == Kind::normal) worst = std::min(worst, piece.score), best = std::max(best, piece.score);
        if (piece.kind == Kind::symbol) symbols_.insert(piece.text, id);
        if (piece.kind == Kind::unknown) {
            if (unknown_ >= 0) return "it has two unknown pieces";
            unknown_ = id;
        }
        if (piece.kind == Kind::byte) {
            const int byte = byte_of(piece.text);
            if (byte < 0 || !byte_fallback_) return "piece " + std::to_string(id) + " is a byte, but should not be";
            byte_ids_[byte] = id;
        }
    }
    if (unknown_ < 0) return "it has no unknown piece";
    if (!any) return "it has no pieces to cut text into";
    if (byte_fallback_ && std::count(byte_ids_, byte_ids_ + 256, -1)) return "some bytes have no piece";
    unknown_score_ = worst - UNKNOWN_PENALTY, best_score_ = best;
    return "";
}

int32_t SentencePiece::id_of(std::string_view piece) const {
    int32_t id = special_.find(piece);
    if (id < 0) id = cutting_.find(piece);
    return id < 0 ? unknown_ : id;
}

void SentencePiece::cut(std::string_view line, CutLine& out) const {
    normaliser_.normalise(line, out.normalised);
    const std::string_view text = out.normalised.text;
    const std::vector<int32_t>& origin = out.normalised.origin;
    Pieces pieces;
    if (algorithm_ == Algorithm::unigram) cut_unigram(text, pieces);
    if (algorithm_ == Algorithm::bpe) cut_bpe(text, pieces);
    if (algorithm_ == Algorithm::characters) cut_characters(text, pieces);

    out.pieces.clear();
    size_t at = 0;
    bool after_unknown = false;
    for (Cut& piece : pieces) {
        const bool unknown = piece.id == unknown_;
        const size_t begin = at;
        at += piece.text.size();
        piece.end = origin[at];
        if (unknown && byte_fallback_) {
            // The last byte stands for the character, the others for nothing.
            for (size_t i = 0; i < piece.text.size(); i++) {
                const int32_t id = byte_ids_[static_cast<unsigned char>(piece.text[i])];
                out.pieces.push_back({this->piece(id), id, i + 1 < piece.text.size() ? origin[begin] : piece.end});
            }
        } else if (unknown && after_unknown) {  // unknown characters in a row are one piece
            Cut& last = out.pieces.back();
            last.text = {last.text.data(), last.text.size() + piece.text.size()};
            last.end = piece.end;
        } else {
            out.pieces.push_back(piece);
        }
        after_unknown = unknown;
    }
}

// The best path by the sum of scores (Viterbi), in float32 as in SentencePiece. Of equal paths, the first that is found
// stays.
void SentencePiece::cut_unigram(std::string_view text, Pieces& out) const {
    struct Best {
        float score = 0;
        int32_t id = -1, start = -1;
    };
    std::vector<Best> best(text.size() + 1);  // by the end of the last piece
    const auto offer = [&](size_t start, size_t end, int32_t id, float score) {
        Best& one = best[end];
        if (one.start < 0 || score > one.score) one = {score, id, int32_t(start)};
    };
    for (size_t start = 0; start < text.size();) {
        const size_t character = character_length(text.substr(start));
        const float before = best[start].score;
        bool known = false;
        int32_t node = 0;
        for (size_t end = start; end < text.size() && (node = cutting_.step(node, text[end])) >= 0;) {
            const int32_t id = cutting_.value(node);
            end++;
            if (id < 0 || is(id, Kind::unused)) continue;
            // Symbols get a bonus, so that they are always taken.
            const float score = is(id, Kind::symbol) ? float(end - start) * best_score_ - 0.1f : pieces_[size_t(id)].score;
            offer(start, end, id, score + before);
            known |= end - start == character;
        }
        if (!known) offer(start, start + character, unknown_, unknown_score_ + before);
        start += character;
    }
    for (size_t end = text.size(); end > 0; end = size_t(best[end].start)) {
        const size_t start = size_t(best[end].start);
        out.push_back({text.substr(start, end - start), best[end].id, 0});
    }
    std::reverse(out.begin(), out.end());
}

// Merges characters pair by pair, the pair with the best score first, and of equal ones the first in the text.
void SentencePiece::cut_bpe(std::string_view text, Pieces& out) const {
    struct Symbol {
        int32_t before, after;  // -1 for none
        bool whole;             // never merged
        std::string_view text;  // empty once it was merged into the one before
    };
    struct Pair {
        float score;
        int32_t left, right;
        size_t size;
        bool operator<(const Pair& other) const {
            return score < other.score || (score == other.score && left > other.left);
        }
    };
    std::vector<Symbol> symbols;
    for (size_t at = 0; at < text.size();) {
        const std::string_view rest = text.substr(at);
        const size_t whole = symbols_.longest(rest), length = whole ? whole : character_length(rest);
        const int32_t number = int32_t(symbols.size());
        at += length;
        symbols.push_back({number - 1, at < text.size() ? number + 1 : -1, whole > 0, rest.substr(0, length)});
    }

    std::priority_queue<Pair> queue;
    std::map<std::string_view, size_t> unused;  // the length of the left part of each unused piece
    const auto add = [&](int32_t left, int32_t right) {
        if (left < 0 || right < 0) return;
        const Symbol &a = symbols[size_t(left)], &b = symbols[size_t(right)];
        if (a.whole || b.whole) return;
        const std::string_view piece(a.text.data(), a.text.size() + b.text.size());
        const int32_t id = cutting_.find(piece);
        if (id < 0) return;
        queue.push({pieces_[size_t(id)].score, left, right, piece.size()});
        if (is(id, Kind::unused)) unused[piece] = a.text.size();
    };
    for (size_t i = 1; i < symbols.size(); i++) add(int32_t(i) - 1, int32_t(i));
    while (!queue.empty()) {
        const Pair top = queue.top();
        queue.pop();
        Symbol &left = symbols[size_t(top.left)], &right = symbols[size_t(top.right)];
        if (left.text.empty() || right.text.empty() || left.text.size() + right.text.size() != top.size) continue;
        left.text = {left.text.data(), top.size};
        left.after = right.after;
        if (right.after >= 0) symbols[size_t(right.after)].before = top.left;
        right.text = {};
        add(left.before, top.left);
        add(top.left, left.after);
    }

    // An unused piece is taken apart again, down to unknown characters.
    std::vector<std::string_view> rest;
    for (int32_t i = symbols.empty() ? -1 : 0; i >= 0; i = symbols[size_t(i)].after) {
        for (rest.push_back(symbols[size_t(i)].text); !rest.empty();) {
            const std::string_view piece = rest.back();
            rest.pop_back();
            const int32_t id = id_of(piece);
            const auto parts = unused.find(piece);
            if (!is(id, Kind::unused)) {
                out.push_back({piece, id, 0});
            } else if (parts == unused.end()) {
                out.push_back({piece, unknown_, 0});
            } else {
                rest.push_back(piece.substr(parts->second));
                rest.push_back(piece.substr(0, parts->second));
            }
        }
    }
}

void SentencePiece::cut_characters(std::string_view text, Pieces& out) const {
    while (!text.empty()) {
        const size_t whole = symbols_.longest(text), length = whole ? whole : character_length(text);
        out.push_back({text.substr(0, length), id_of(text.substr(0, length)), 0});
        text.remove_prefix(length);
    }
}

std::string SentencePiece::join(const std::vector<std::string_view>& pieces) const {
    std::string text, bytes;
    const bool strips = normaliser_.dummy_prefix || normaliser_.remove_extra_spaces;
    bool at_start = true, stripped = false;
    for (std::string_view piece : pieces) {
        const int32_t id = id_of(piece);
        if (is(id, Kind::byte)) {
            bytes.push_back(char(byte_of(piece)));
            continue;
        }
        append_bytes(bytes, text);
        if (stripped || !text.empty()) at_start = false;
        stripped = false;
        if (is(id, Kind::control)) continue;
        if (id == unknown_) {
            text += this->piece(id) == piece ? std::string_view(unknown_text_) : piece;
            continue;
        }
        if (at_start && strips && piece.substr(0, SPACE.size()) == SPACE) {
            piece.remove_prefix(SPACE.size());
            stripped = !normaliser_.remove_extra_spaces;  // otherwise the spaces that follow go, too
        }
        while (!piece.empty()) {
            const size_t space = std::min(piece.find(SPACE), piece.size());
            text += piece.substr(0, space);
            if (space < piece.size()) text += ' ';
            piece.remove_prefix(std::min(space + SPACE.size(), piece.size()));
        }
    }
    append_bytes(bytes, text);
    if (!denormaliser_.has_table()) return text;
    Normalised normalised;
    denormaliser_.normalise(text, normalised);
    return normalised.text;
}

// Move bytes to the text; those that are not UTF-8 become U+FFFD.
void SentencePiece::append_bytes(std::string& bytes, std::string& out) const {
    for (std::string_view rest = bytes; !rest.empty();) {
        const size_t length = valid_length(rest);
        out += length ? rest.substr(0, length) : REPLACEMENT;
        rest.remove_prefix(std::max<size_t>(length, 1));
    }
    bytes.clear();
}

}  // namespace dragoman
