#include "tokenizer.h"

#include <algorithm>

#include "utf8.h"

namespace dragoman {
namespace {

// Reads a JSON list of strings: RFC 8259.
class StringList {
  public:
    explicit StringList(std::string_view text) : rest_(text) {}

    bool read(std::vector<std::string>& out) {
        if (!next('[')) return false;
        if (next(']')) return ended();
        do {
            out.emplace_back();
            if (!string(out.back())) return false;
        } while (next(','));
        return next(']') && ended();
    }

  private:
    void skip() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }
    bool ended() {
        skip();
        return rest_.empty();
    }
    bool next(char c) {
        skip();
        if (rest_.empty() || rest_[0] != c) return false;
        rest_.remove_prefix(1);
        return true;
    }

    bool string(std::string& out) {
        if (!next('"')) return false;
        while (!rest_.empty()) {
            const char c = rest_[0];
            if (c == '"') return next('"');
            if (c == '\\') {
                rest_.remove_prefix(1);
                if (!escape(out)) return false;
                continue;
            }
            const size_t length = static_cast<unsigned char>(c) < 0x20 ? 0 : valid_length(rest_);
            if (!length) return false;
            out += rest_.substr(0, length);
            rest_.remove_prefix(length);
        }
        return false;
    }

    bool escape(std::string& out) {
        constexpr std::string_view NAMES = "\"\\/bfnrt", VALUES = "\"\\/\b\f\n\r\t";
        if (rest_.empty()) return false;
        const char c = rest_[0];
        rest_.remove_prefix(1);
        if (const size_t at = NAMES.find(c); at != NAMES.npos) {
            out += VALUES[at];
            return true;
        }
        uint32_t code = 0, low = 0;
        if (c != 'u' || !digits(code) || (code >= 0xDC00 && code < 0xE000)) return false;
        if (code >= 0xD800 && code < 0xDC00) {  // the first half of a pair
            if (rest_.substr(0, 2) != "\\u") return false;
            rest_.remove_prefix(2);
            if (!digits(low) || low < 0xDC00 || low >= 0xE000) return false;
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        }
        const auto tail = [&](int shift) { out += char(0x80 | (code >> shift & 0x3F)); };
        if (code < 0x80) {
            out += char(code);
        } else if (code < 0x800) {
            out += char(0xC0 | code >> 6), tail(0);
        } else if (code < 0x10000) {
            out += char(0xE0 | code >> 12), tail(6), tail(0);
        } else {
            out += char(0xF0 | code >> 18), tail(12), tail(6), tail(0);
        }
        return true;
    }

    bool digits(uint32_t& code) {
        if (rest_.size() < 4) return false;
        for (const char c : rest_.substr(0, 4)) {
            const char lower = char(c | 0x20);
            if (!((c >= '0' && c <= '9') || (lower >= 'a' && lower <= 'f'))) return false;
            code = 16 * code + uint32_t(c <= '9' ? c - '0' : lower - 'a' + 10);
        }
        rest_.remove_prefix(4);
        return true;
    }

    std::string_view rest_;
};

// The mark of a language, such as >>fra<<, that may begin the line, or nothing: text/tokenizers/marks.py.
std::string_view mark_of(std::string_view line) {
    if (line.size() < 3 || line.substr(0, 2) != ">>") return {};
    const size_t end = line.find("<<", 2 + character_length(line.substr(2)));
    if (end == line.npos || line.substr(0, end).find('\n') != line.npos) return {};
    return line.substr(0, end + 2);
}

// Without the spaces at both ends, as Python's str.strip.
std::string_view stripped(std::string_view text) {
    const auto length = [](std::string_view c) -> size_t {
        const unsigned char first = static_cast<unsigned char>(c[0]);
        if ((first >= 0x09 && first <= 0x0D) || (first >= 0x1C && first <= 0x20)) return 1;
        for (const char* space : {"\u0085", "\u00A0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005",
                                  "\u2006", "\u2007", "\u2008", "\u2009", "\u200A", "\u2028", "\u2029", "\u202F", "\u205F",
                                  "\u3000"}) {
            const std::string_view one = space;
            if (c.substr(0, one.size()) == one) return one.size();
        }
        return 0;
    };
    while (!text.empty() && length(text)) text.remove_prefix(length(text));
    while (!text.empty()) {
        size_t last = text.size() - 1;
        while (last > 0 && (static_cast<unsigned char>(text[last]) & 0xC0) == 0x80) last--;
        if (length(text.substr(last)) != text.size() - last) break;
        text.remove_suffix(text.size() - last);
    }
    return text;
}

}  // namespace

std::string Tokenizer::read(std::string_view kind, std::string_view model, std::string_view list,
                            const int32_t specials[4]) {
    mapped_ = kind == "mapped";
    if (!mapped_ && kind != "bpe" && kind != "unigram" && kind != "characters")
        return "the engine has no tokenizer of the kind " + std::string(kind) + ", but bpe, unigram, characters and mapped";
    std::string wrong = model_.read(model);
    if (!wrong.empty()) return wrong;
    if (!mapped_) {
        for (int32_t id = 0; id < size(); id++)
            if (model_.is_control(id) && mark_of(piece(id)) == piece(id)) ids_.insert(piece(id), id);
        return "";
    }
    if (!StringList(list).read(list_) || list_.size() > INT32_MAX) return "not a list of pieces";
    size_t total = 0;
    for (const std::string& piece : list_) total += piece.size();
    if (total > Trie::MOST) return "more than 16 MB of pieces";
    for (int32_t id = 0; id < size(); id++)
        if (!ids_.insert(list_[size_t(id)], id)) return "the piece " + list_[size_t(id)] + " is listed twice";
    for (int i = 0; i < 4; i++) {
        specials_[i] = specials[i];
        if (specials[i] < 0 || specials[i] >= size()) return "a special id is not in the vocabulary";
    }
    return "";
}

void Tokenizer::encode(std::string_view line, std::vector<Token>& out) const {
    CutLine cut;
    int32_t begin = 0;
    while (true) {
        const std::string_view rest = line.substr(size_t(begin)), mark = mark_of(rest);
        const int32_t token = mark.empty() ? -1 : ids_.find(mark);
        if (token < 0) break;
        begin += int32_t(mark.size() + (rest.substr(mark.size(), 1) == " "));
        out.push_back({token, begin});
    }
    model_.cut(line.substr(size_t(begin)), cut);
    for (const Cut& piece : cut.pieces) {
        int32_t id = piece.id;
        if (mapped_ && (id = ids_.find(piece.text)) < 0) id = specials_[3];
        out.push_back({id, begin + piece.end});
    }
}

// Whether an id of several models' vocabulary stands for no text, as in text/tokenizers/mapped.py.
bool Tokenizer::silent(int32_t id) const {
    const std::string_view text = piece(id), none = "<no piece ";
    return std::find(specials_, specials_ + 4, id) != specials_ + 4 || text == "<mask>" || text.substr(0, none.size()) == none;
}

std::string Tokenizer::decode(const int32_t* ids, size_t count) const {
    std::vector<std::string_view> pieces;
    for (size_t i = 0; i < count; i++)
        if (!mapped_ || !silent(ids[i])) pieces.push_back(piece(ids[i]));
    const std::string text = model_.join(pieces);
    if (!mapped_) return text;
    std::string spaced;  // a vocabulary of both sides has pieces that this side's model lacks: their spaces are left
    for (std::string_view rest = text; !rest.empty();) {
        const size_t space = std::min(rest.find(SPACE), rest.size());
        spaced += rest.substr(0, space);
        if (space < rest.size()) spaced += ' ';
        rest.remove_prefix(std::min(space + SPACE.size(), rest.size()));
    }
    return std::string(stripped(spaced));
}

}  // namespace dragoman
