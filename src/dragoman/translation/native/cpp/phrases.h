// The state of the phrases of a translation. Compare translation/search/phrases.py.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace dragoman {

// Follows one phrase: the automaton of its forms.
struct Matcher {
    struct Node {
        std::vector<std::pair<int32_t, int32_t>> next;  // token, node
        int32_t depth = 0, left = 0;  // tokens from the root, and to the nearest end
        int32_t shorter = 0;          // the node of the longest other beginning that this one ends with
        bool ends = false;
    };
    int32_t times = 0, shortest = 0, longest = 0;
    bool bounded = false;  // whether a joining token after a form undoes it
    std::vector<Node> nodes;

    int32_t child(int32_t node, int32_t token) const;
    int32_t go(int32_t node, int32_t token) const;
};

// Follows the phrases of a sentence.
class Tracker {
  public:
    struct At {  // of one matcher
        int32_t met = 0, node = 0;
    };
    struct Place {
        std::vector<At> at;
        int32_t met = 0, progress = 0, needed = 0;
    };
    // Which tokens may follow: those of `tokens`, which is sorted, and perhaps the others.
    struct Possible {
        bool all = true, others = true, joining = true;
        std::vector<int32_t> tokens, impossible;
    };

    Tracker() = default;
    // For each phrase in `numbers`: how often it must come, whether it is bounded, the number of its forms, then
    // their lengths and tokens. `joining` is sorted.
    Tracker(const std::vector<int32_t>& numbers, std::vector<int32_t> joining);

    int32_t all() const { return all_; }
    const std::vector<int32_t>& joining() const { return joining_; }
    Place start() const;
    Place step(const Place& place, int32_t token) const;
    std::vector<int32_t> wanted(const Place& place) const;  // sorted
    Possible possible(const Place& place, int64_t left) const;

  private:
    std::vector<int32_t> edges(const Place& place) const;
    void stand(Place& place) const;
    bool joins(int32_t token) const;

    std::vector<Matcher> matchers_;
    std::vector<int32_t> joining_;
    int32_t all_ = 0;
};

}  // namespace dragoman
