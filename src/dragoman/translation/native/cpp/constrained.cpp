// Beam search with phrases: models/search/constrained.py, a sentence at a time.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <tuple>

#include "search.h"

namespace dragoman {
namespace {

constexpr float NEVER = -std::numeric_limits<float>::infinity();

}  // namespace

// Forbid what keeps the phrases of a translation from being met, and nothing that brings one further.
void Search::allow_phrases(const Live& live, Scan& scan) {
    scan.asked = tracker_.wanted(live.place);
    int64_t left = request_.limit - position_ - 1;
    if (request_.within >= 0) left = std::min(left, std::max<int64_t>(request_.within - position_ - 1, 0));
    const Tracker::Possible possible = tracker_.possible(live.place, left);
    auto holds = [](const std::vector<int32_t>& sorted, int32_t id) {
        return std::binary_search(sorted.begin(), sorted.end(), id);
    };
    auto drop = [](std::vector<int32_t>& ids, auto unwanted) {
        ids.erase(std::remove_if(ids.begin(), ids.end(), unwanted), ids.end());
    };
    drop(scan.forbidden, [&](int32_t id) { return holds(scan.asked, id); });
    if (live.place.met < tracker_.all()) scan.forbidden.push_back(end_);
    if (possible.all) return;
    drop(scan.asked, [&](int32_t id) { return holds(possible.impossible, id); });
    for (int32_t id = 0; id < vocab_; id++) {
        if (id == end_ || holds(possible.tokens, id)) continue;  // the end has its own rule
        const bool joins = !possible.joining || !possible.others ? holds(tracker_.joining(), id) : false;
        if (holds(possible.impossible, id) || !(joins ? possible.joining : possible.others)) scan.forbidden.push_back(id);
    }
}

// The best candidate of each bank, from the fullest on, then the second best. Best first.
void Search::deal(std::vector<Candidate>& candidates) const {
    auto better = [](const Candidate& a, const Candidate& b) { return a.total > b.total; };
    std::stable_sort(candidates.begin(), candidates.end(), better);
    std::map<int32_t, int32_t> before;
    std::vector<std::tuple<int32_t, int32_t, size_t>> turns;
    for (size_t i = 0; i < candidates.size(); i++) {
        const int32_t bank = candidates[i].place.progress;
        turns.emplace_back(before[bank]++, -bank, i);
    }
    std::sort(turns.begin(), turns.end());
    if (int64_t(turns.size()) > request_.rows()) turns.resize(request_.rows());
    std::vector<size_t> kept;
    for (const auto& turn : turns) kept.push_back(std::get<2>(turn));
    std::sort(kept.begin(), kept.end());
    std::vector<Candidate> dealt;
    for (const size_t i : kept) dealt.push_back(std::move(candidates[i]));
    candidates = std::move(dealt);
}

bool Search::advance_constrained() {
    const int64_t rows = int64_t(live_.size()), size = request_.size;
    if (unusable(rows)) return false;
    std::vector<Candidate> next;
    std::vector<float> end(rows), ends;
    for (int64_t r = 0; r < rows; r++) {
        end[r] = end_logp(r, true);
        if (live_[r].place.met == tracker_.all()) ends.push_back(live_[r].total + end[r]);
        for (const auto& [id, logp] : following(r)) {
            const float total = live_[r].total + logp;
            if (total > NEVER) next.push_back({total, logp, int32_t(r), id, tracker_.step(live_[r].place, id)});
        }
    }
    deal(next);

    // An end finishes among the rows that have all phrases. At the limit every row finishes.
    std::vector<float> full;
    for (const Candidate& one : next)
        if (one.place.met == tracker_.all()) full.push_back(one.total);
    const int64_t room = std::max<int64_t>(1, std::min<int64_t>(size, request_.rows() - next.size() + full.size()));
    for (int64_t r = 0; r < rows; r++) {
        const float ended = live_[r].total + end[r];
        auto better = [&](float other) { return other > ended; };
        int64_t ahead = 0;
        if (live_[r].place.met == tracker_.all())
            ahead = std::count_if(full.begin(), full.end(), better) + std::count_if(ends.begin(), ends.end(), better);
        const bool chosen = ended > NEVER && ahead < room;
        if (at_limit() && end[r] == NEVER) end[r] = end_logp(r, false);
        if (chosen || (at_limit() && live_[r].total + end[r] > NEVER)) close(r, end[r], !chosen);
    }
    if (at_limit() || next.empty() || !may_change(next[0].total)) return false;

    std::vector<Live> going;
    for (Candidate& one : next) {
        going.push_back(extended(one.row, one.id, one.logp, one.total));
        going.back().place = std::move(one.place);
    }
    live_ = std::move(going);
    return true;
}

// The best tokens after a row, then those that bring a phrase further, with their log-probabilities.
std::vector<std::pair<int32_t, float>> Search::following(int64_t row) const {
    const Scan& scan = scans_[row];
    std::vector<std::pair<int32_t, float>> tokens;
    if (forced()) {
        if (scan.wanted != end_ && !std::binary_search(request_.never.begin(), request_.never.end(), scan.wanted))
            tokens.emplace_back(scan.wanted, wanted_logp(scan));
        return tokens;
    }
    for (size_t k = 0; k < scan.ids.size(); k++)
        if (scan.ids[k] >= 0) tokens.emplace_back(scan.ids[k], scan.logp(scan.values[k]));
    for (size_t i = 0; i < scan.asked.size(); i++)
        if (std::find(scan.ids.begin(), scan.ids.end(), scan.asked[i]) == scan.ids.end())
            tokens.emplace_back(scan.asked[i], scan.logp(scan.asked_logits[i]));
    return tokens;
}

// Whether a translation that continues, with this sum of log-probabilities at most, can still change the answer.
bool Search::may_change(float best) const {
    const size_t places = request_.stop == Stop::patient ? request_.size : request_.n_best;
    std::vector<double> scores;
    for (const Hypothesis& hypothesis : finished_)
        if (hypothesis.met == tracker_.all()) scores.push_back(hypothesis.score);
    if (scores.size() < places) return true;
    int64_t length = position_ + 1;
    // The most favourable length that is still possible (Huang et al. 2017).
    if (request_.stop == Stop::exact && request_.size > 1)
        length = request_.length_penalty > 0 ? request_.limit + 1 : position_ + 2;
    std::nth_element(scores.begin(), scores.begin() + (places - 1), scores.end(), std::greater<>());
    return double(best) / request_.penalty(length) > scores[places - 1];
}

}  // namespace dragoman
