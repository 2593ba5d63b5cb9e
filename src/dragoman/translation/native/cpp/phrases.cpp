#include "phrases.h"

#include <algorithm>
#include <numeric>

namespace dragoman {
namespace {

constexpr int32_t OTHER = -1, JOINING = -2;  // stand for tokens outside all phrases; the second continues a word

Matcher matcher_of(const int32_t*& numbers) {
    Matcher matcher;
    matcher.times = *numbers++;
    matcher.bounded = *numbers++;
    matcher.nodes.resize(1);
    std::vector<Matcher::Node>& nodes = matcher.nodes;
    std::vector<std::vector<int32_t>> paths;  // the nodes of each form
    for (int32_t forms = *numbers++; forms > 0; forms--) {
        int32_t node = 0;
        paths.emplace_back();
        for (int32_t length = *numbers++; length > 0; length--) {
            const int32_t token = *numbers++;
            int32_t child = matcher.child(node, token);
            if (!child) {
                child = int32_t(nodes.size());
                nodes[node].next.push_back({token, child});
                nodes.emplace_back();
                nodes[child].depth = nodes[node].depth + 1;
            }
            paths.back().push_back(node = child);
        }
        nodes[node].ends = true;
    }
    auto shorter = [](const auto& a, const auto& b) { return a.size() < b.size(); };
    const auto [least, most] = std::minmax_element(paths.begin(), paths.end(), shorter);
    matcher.shortest = int32_t(least->size()), matcher.longest = int32_t(most->size());
    for (Matcher::Node& node : nodes) node.left = matcher.shortest;
    for (const std::vector<int32_t>& path : paths)
        for (const int32_t node : path)
            nodes[node].left = std::min(nodes[node].left, int32_t(path.size()) - nodes[node].depth);
    std::vector<int32_t> order(nodes.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return nodes[a].depth < nodes[b].depth; });
    for (const int32_t node : order) {
        if (!node) continue;
        for (const auto& [token, child] : nodes[node].next) nodes[child].shorter = matcher.go(nodes[node].shorter, token);
        nodes[node].left = std::min(nodes[node].left, nodes[nodes[node].shorter].left);
        nodes[node].ends |= nodes[nodes[node].shorter].ends;
    }
    return matcher;
}

}  // namespace

// The node below, or 0.
int32_t Matcher::child(int32_t node, int32_t token) const {
    for (const auto& [id, child] : nodes[node].next)
        if (id == token) return child;
    return 0;
}

int32_t Matcher::go(int32_t node, int32_t token) const {
    while (node && !child(node, token)) node = nodes[node].shorter;
    return child(node, token);
}

Tracker::Tracker(const std::vector<int32_t>& numbers, std::vector<int32_t> joining) : joining_(std::move(joining)) {
    for (const int32_t* next = numbers.data(); next != numbers.data() + numbers.size();) {
        matchers_.push_back(matcher_of(next));
        all_ += matchers_.back().times * matchers_.back().longest;
    }
}

bool Tracker::joins(int32_t token) const {
    return token == JOINING || std::binary_search(joining_.begin(), joining_.end(), token);
}

Tracker::Place Tracker::start() const {
    Place place;
    place.at.resize(matchers_.size());
    stand(place);
    return place;
}

Tracker::Place Tracker::step(const Place& place, int32_t token) const {
    Place after = place;
    const bool joining = joins(token);
    for (size_t i = 0; i < matchers_.size(); i++) {
        const Matcher& matcher = matchers_[i];
        auto& [met, node] = after.at[i];
        if (met == matcher.times) continue;
        if (matcher.nodes[node].ends && !joining) {
            met++, node = 0;
            if (met == matcher.times) continue;
        }
        node = matcher.go(node, token);
        if (matcher.nodes[node].ends && !matcher.bounded) met++, node = 0;
    }
    stand(after);
    return after;
}

// Count the tokens that the place has met, begun and needs.
void Tracker::stand(Place& place) const {
    int32_t begun = 0, saved = 0;
    place.met = place.needed = 0;
    for (size_t i = 0; i < matchers_.size(); i++) {
        const Matcher& matcher = matchers_[i];
        const Matcher::Node& node = matcher.nodes[place.at[i].node];
        const int32_t met = place.at[i].met + node.ends;
        place.met += met * matcher.longest;
        place.needed += (matcher.times - met) * matcher.shortest;
        if (node.ends) continue;
        // Only one phrase is certain to continue, because the next token may break the others.
        begun = std::max(begun, node.depth);
        saved = std::max(saved, matcher.shortest - node.left);
    }
    place.progress = place.met + begun;
    place.needed -= saved;
}

// The tokens that may change a node; sorted.
std::vector<int32_t> Tracker::edges(const Place& place) const {
    std::vector<int32_t> tokens;
    for (size_t i = 0; i < matchers_.size(); i++) {
        if (place.at[i].met == matchers_[i].times) continue;
        for (int32_t node = place.at[i].node;; node = matchers_[i].nodes[node].shorter) {
            for (const auto& [token, child] : matchers_[i].nodes[node].next) tokens.push_back(token);
            if (!node) break;
        }
    }
    std::sort(tokens.begin(), tokens.end());
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    return tokens;
}

std::vector<int32_t> Tracker::wanted(const Place& place) const {
    std::vector<int32_t> tokens = edges(place);
    auto useless = [&](int32_t token) {
        const Place after = step(place, token);
        return after.progress <= place.progress && after.needed >= place.needed;
    };
    tokens.erase(std::remove_if(tokens.begin(), tokens.end(), useless), tokens.end());
    return tokens;
}

Tracker::Possible Tracker::possible(const Place& place, int64_t left) const {
    Possible possible;
    if (left >= all_) return possible;
    left = std::max(left, int64_t(place.needed) - 1);
    for (const int32_t token : edges(place))
        (step(place, token).needed <= left ? possible.tokens : possible.impossible).push_back(token);
    possible.others = step(place, OTHER).needed <= left;
    possible.joining = step(place, JOINING).needed <= left;
    const bool none = possible.tokens.empty() && !possible.others && !possible.joining;
    possible.all = none || (possible.impossible.empty() && possible.others && possible.joining);
    return possible;
}

}  // namespace dragoman
