// Characters of UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace dragoman {

// The bytes of a character by its first one, but no more than the text has. It may be malformed.
inline size_t character_length(std::string_view text) {
    const unsigned char first = static_cast<unsigned char>(text[0]);
    const size_t length = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    return length < text.size() ? length : text.size();
}

// The bytes of the character that begins the text, or 0 if it is malformed (RFC 3629, section 4).
inline size_t valid_length(std::string_view text) {
    if (text.empty()) return 0;
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    if (byte(0) < 0x80) return 1;
    const size_t length = byte(0) < 0xC2 ? 0 : byte(0) < 0xE0 ? 2 : byte(0) < 0xF0 ? 3 : byte(0) < 0xF5 ? 4 : 0;
    if (length == 0 || length > text.size()) return 0;
    for (size_t i = 1; i < length; i++)
        if ((byte(i) & 0xC0) != 0x80) return 0;
    const bool too_long = (byte(0) == 0xE0 && byte(1) < 0xA0) || (byte(0) == 0xF0 && byte(1) < 0x90);
    const bool surrogate = byte(0) == 0xED && byte(1) >= 0xA0, beyond = byte(0) == 0xF4 && byte(1) >= 0x90;
    return too_long || surrogate || beyond ? 0 : length;
}

}  // namespace dragoman
