// Read messages of Protocol Buffers. Damage ends the reading; nothing is read beyond the end.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace dragoman {

struct Field {
    uint32_t number = 0;
    enum class Kind { integer, fixed64, bytes, fixed32 } kind = Kind::integer;
    uint64_t integer = 0;    // of the first three kinds of numbers
    std::string_view bytes;  // text, bytes or a message

    bool is(uint32_t wanted, Kind of) const { return number == wanted && kind == of; }
    float real() const {
        const uint32_t bits = uint32_t(integer);
        float out;
        std::memcpy(&out, &bits, sizeof out);
        return out;
    }
};

class Message {
  public:
    explicit Message(std::string_view bytes) : rest_(bytes) {}

    // The next field. False at the end, and at damage.
    bool next(Field& field) {
        if (rest_.empty() || damaged_) return false;
        uint64_t tag = 0;
        if (!varint(tag) || tag >> 32 || tag >> 3 == 0) return fail();
        field = {};
        field.number = uint32_t(tag >> 3);
        switch (tag & 7) {
            case 0:
                field.kind = Field::Kind::integer;
                return varint(field.integer) || fail();
            case 1:
                field.kind = Field::Kind::fixed64;
                return fixed(8, field.integer) || fail();
            case 2: {
                uint64_t length = 0;
                if (!varint(length) || length > rest_.size()) return fail();
                field.kind = Field::Kind::bytes;
                field.bytes = rest_.substr(0, size_t(length));
                rest_.remove_prefix(size_t(length));
                return true;
            }
            case 5:
                field.kind = Field::Kind::fixed32;
                return fixed(4, field.integer) || fail();
            default:
                return fail();  // groups, which no model has
        }
    }

    bool damaged() const { return damaged_; }

  private:
    bool fail() {
        damaged_ = true;
        return false;
    }

    bool varint(uint64_t& out) {
        for (size_t i = 0; i < 10 && i < rest_.size(); i++) {
            const uint64_t byte = static_cast<unsigned char>(rest_[i]);
            out |= (byte & 0x7F) << (7 * i);
            if (byte < 0x80) {
                rest_.remove_prefix(i + 1);
                return true;
            }
        }
        return false;
    }

    bool fixed(size_t bytes, uint64_t& out) {
        if (rest_.size() < bytes) return false;
        for (size_t i = 0; i < bytes; i++) out |= uint64_t(static_cast<unsigned char>(rest_[i])) << (8 * i);
        rest_.remove_prefix(bytes);
        return true;
    }

    std::string_view rest_;
    bool damaged_ = false;
};

}  // namespace dragoman
