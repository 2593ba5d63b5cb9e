// Strings and a number for each: to find all that begin a text.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace dragoman {

// Edges lie in a hash table with open addressing. It is at most half full.
class Trie {
  public:
    static constexpr size_t MOST = (size_t(1) << 24) - 1;  // bytes of all keys together

    // Returns false if the key is there already. Values are at least 0.
    bool insert(std::string_view key, int32_t value) {
        int32_t node = 0;
        for (const char c : key) {
            const uint32_t edge = edge_of(node, c);
            size_t at = place(edge);
            if (edges_[at].child < 0) {
                if (2 * values_.size() >= edges_.size()) {
                    grow();
                    at = place(edge);
                }
                edges_[at] = {edge, int32_t(values_.size())};
                values_.push_back(-1);
            }
            node = edges_[at].child;
        }
        if (values_[size_t(node)] >= 0) return false;
        values_[size_t(node)] = value;
        return true;
    }

    // The node after a byte, or -1. The root is 0.
    int32_t step(int32_t node, char byte) const { return edges_[place(edge_of(node, byte))].child; }
    // The value of the key that ends in the node, or -1.
    int32_t value(int32_t node) const { return values_[size_t(node)]; }

    // The value of a key, or -1.
    int32_t find(std::string_view key) const {
        int32_t node = 0;
        for (const char c : key)
            if ((node = step(node, c)) < 0) return -1;
        return value(node);
    }

    // The length of the longest key that begins the text, or 0.
    size_t longest(std::string_view text) const {
        size_t length = 0;
        int32_t node = 0;
        for (size_t i = 0; i < text.size() && (node = step(node, text[i])) >= 0; i++)
            if (value(node) >= 0) length = i + 1;
        return length;
    }

  private:
    struct Edge {
        uint32_t edge;
        int32_t child;
    };

    static uint32_t edge_of(int32_t node, char byte) { return uint32_t(node) << 8 | static_cast<unsigned char>(byte); }

    // Where the edge is, or the free place for it.
    size_t place(uint32_t edge) const {
        const size_t mask = edges_.size() - 1;
        size_t at = (edge * 0x9E3779B1u >> 4) & mask;
        while (edges_[at].child >= 0 && edges_[at].edge != edge) at = (at + 1) & mask;
        return at;
    }

    void grow() {
        std::vector<Edge> old(2 * edges_.size(), Edge{0, -1});
        old.swap(edges_);
        for (const Edge& one : old)
            if (one.child >= 0) edges_[place(one.edge)] = one;
    }

    std::vector<Edge> edges_ = std::vector<Edge>(64, Edge{0, -1});
    std::vector<int32_t> values_ = {-1};  // by node
};

}  // namespace dragoman
