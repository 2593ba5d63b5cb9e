#include "normaliser.h"

#include "protobuf.h"
#include "utf8.h"

namespace dragoman {
namespace {

bool ends_with(std::string_view text, std::string_view end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

const char* Normaliser::read(std::string_view message) {
    Message fields(message);
    for (Field field; fields.next(field);) {
        if (field.is(2, Field::Kind::bytes)) {
            const std::string_view blob = field.bytes;
            units_ = replacements_ = {};
            if (blob.empty()) continue;
            uint64_t size = 0;
            for (size_t i = 0; i < 4 && i < blob.size(); i++) size |= uint64_t(static_cast<unsigned char>(blob[i])) << (8 * i);
            if (blob.size() < 4 || size > blob.size() - 4) return "its table of characters is damaged";
            units_ = blob.substr(4, size_t(size));
            replacements_ = blob.substr(4 + size_t(size));
        } else if (field.is(3, Field::Kind::integer)) {
            dummy_prefix = field.integer != 0;
        } else if (field.is(4, Field::Kind::integer)) {
            remove_extra_spaces = field.integer != 0;
        } else if (field.is(5, Field::Kind::integer)) {
            escape_spaces = field.integer != 0;
        }
    }
    return fields.damaged() ? "its normaliser is damaged" : nullptr;
}

// Unit `at` of the double array, or one that no character leads to if there are fewer.
uint32_t Normaliser::unit(size_t at) const {
    if (at >= units_.size() / 4) return 1u << 31;
    uint32_t unit = 0;
    for (size_t i = 0; i < 4; i++) unit |= uint32_t(static_cast<unsigned char>(units_[4 * at + i])) << (8 * i);
    return unit;
}

Normaliser::Prefix Normaliser::prefix(std::string_view input) const {
    if (kept)
        if (const size_t length = kept->longest(input)) return {input.substr(0, length), length};
    // A unit holds a label (8 bits, and bit 31 for a value), bit 8 if a value follows, and the offset of its children:
    // bits 10 to 31, times 256 with bit 9.
    const auto offset = [](uint32_t unit) { return size_t(unit >> 10) << ((unit & 1u << 9) >> 6); };
    size_t longest = 0, value = 0;
    if (has_table()) {
        size_t at = offset(unit(0));
        for (size_t i = 0; i < input.size(); i++) {
            const uint32_t byte = static_cast<unsigned char>(input[i]), next = unit(at ^ byte);
            if ((next & (1u << 31 | 0xFF)) != byte) break;
            at ^= byte ^ offset(next);
            if (next >> 8 & 1) longest = i + 1, value = unit(at) & ~(1u << 31);
        }
    }
    if (longest && value < replacements_.size()) {
        const std::string_view text = replacements_.substr(value);
        return {text.substr(0, text.find('\0')), longest};
    }
    const size_t length = valid_length(input);
    return length ? Prefix{input.substr(0, length), length} : Prefix{REPLACEMENT, 1};
}

void Normaliser::normalise(std::string_view input, Normalised& out) const {
    out.text.clear(), out.origin.clear();
    const std::string_view space = escape_spaces ? SPACE : std::string_view(" ");
    size_t consumed = 0;
    const auto add = [&](std::string_view text) {
        out.text.append(text);
        out.origin.insert(out.origin.end(), text.size(), int32_t(consumed));
    };
    if (remove_extra_spaces) {
        while (consumed < input.size()) {
            const Prefix first = prefix(input.substr(consumed));
            if (first.text != " ") break;
            consumed += first.length;
        }
    }
    if (consumed == input.size()) {
        out.origin.push_back(int32_t(consumed));
        return;
    }
    if (dummy_prefix && !space_as_suffix) add(space);
    bool after_space = remove_extra_spaces;
    while (consumed < input.size()) {
        const Prefix one = prefix(input.substr(consumed));
        std::string_view text = one.text;
        while (after_space && !text.empty() && text[0] == ' ') text.remove_prefix(1);
        for (size_t i = 0; i < text.size(); i++) add(text[i] == ' ' ? space : text.substr(i, 1));
        if (!text.empty()) after_space = remove_extra_spaces && text.back() == ' ';
        consumed += one.length;
    }
    while (remove_extra_spaces && ends_with(out.text, space)) {
        out.text.resize(out.text.size() - space.size());
        consumed = size_t(out.origin[out.text.size()]);
        out.origin.resize(out.text.size());
    }
    if (dummy_prefix && space_as_suffix) add(space);
    out.origin.push_back(int32_t(consumed));
}

}  // namespace dragoman
