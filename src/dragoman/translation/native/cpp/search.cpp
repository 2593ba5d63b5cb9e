#include "search.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>

namespace dragoman {
namespace {

constexpr float NEVER = -std::numeric_limits<float>::infinity();

bool holds(const std::vector<int32_t>& sorted, int32_t id) {
    return std::binary_search(sorted.begin(), sorted.end(), id);
}

}  // namespace

// Wu et al. 2016, eq. 14, or a power of the length. The length counts the end.
double Request::penalty(int64_t length) const {
    const double base = normalization == Normalization::gnmt ? (5.0 + double(length)) / 6.0 : double(length);
    return std::max(std::pow(base, length_penalty), std::numeric_limits<double>::min());  // never 0
}

double Request::normalised(double logp, int64_t length) const {
    return kind == Kind::sample ? logp : logp / penalty(length);
}

Search::Search(Request request, std::deque<Transformer>& transformers, Pool& pool)
    : request_(std::move(request)),
      tracker_(request_.phrases, request_.joining),
      start_(transformers[0].model().shape.start),
      end_(transformers[0].model().shape.end),
      vocab_(transformers[0].model().shape.target_vocab),
      live_(1),
      scans_(request_.rows()) {
    for (const Transformer& transformer : transformers) {
        sides_.emplace_back(pool, request_.rows(), transformer.slot_size());
        sides_.back().source.tokens = request_.source;
    }
    live_[0].missing = request_.required;
    live_[0].place = tracker_.start();
}

void Search::ask(std::vector<std::vector<Row>>& rows, std::vector<Scan*>& scans) {
    const int64_t length = int64_t(request_.source.size());
    if (request_.layer >= 0) attention_.emplace_back(int64_t(live_.size()) * length);
    for (size_t r = 0; r < live_.size(); r++) {
        const Live& live = live_[r];
        for (size_t m = 0; m < sides_.size(); m++)
            rows[m].push_back({live.node < 0 ? start_ : nodes_[live.node].token, position_, int64_t(r), live.path.data(),
                               &sides_[m].source, &sides_[m].cache});
        if (request_.layer >= 0) {  // of the first model
            Row& row = rows[0].back();
            row.layer = request_.layer, row.head = request_.head;
            row.attention = attention_.back().data() + int64_t(r) * length;
        }

        Scan& scan = scans_[r];
        scan.end = end_;
        scan.never = &request_.never;
        scan.listed = request_.listed ? &request_.shortlist : nullptr;
        scan.renormalise = request_.renormalise;
        scan.wanted = forced() ? request_.prefix[position_] : -1;
        scan.keep = request_.kind == Kind::sample && !forced();
        scan.best = request_.kind == Kind::beam && !forced() ? request_.wide : 0;
        scan.free = request_.seen ? request_.size : 0;
        forbid(live, scan);
        scans.push_back(&scan);
    }
}

// The tokens that the rules forbid after a translation; they hold after the prefix only.
void Search::forbid(const Live& live, Scan& scan) {
    scan.forbidden.clear(), scan.asked.clear();
    if (forced() || !request_.ruled) return;
    scan.forbidden = request_.banned;
    for (const auto& [position, id] : request_.banned_at)
        if (position < 0 || position == position_) scan.forbidden.push_back(id);
    const std::vector<int32_t>&required = request_.required, &missing = live.missing;
    if (position_ < request_.minimum || !missing.empty()) scan.forbidden.push_back(end_);
    std::set_difference(required.begin(), required.end(), missing.begin(), missing.end(),
                        std::back_inserter(scan.forbidden));
    // When the rest of the limit is needed for the missing tokens, nothing else may follow.
    if (!missing.empty() && request_.limit - position_ <= int64_t(missing.size()))
        for (int32_t id = 0; id < vocab_; id++)
            if (!holds(missing, id)) scan.forbidden.push_back(id);
    if (!request_.ngrams.empty()) {
        std::vector<int32_t> tokens(position_);
        int32_t node = live.node;
        for (int64_t t = position_; t-- > 0; node = nodes_[node].parent) tokens[t] = nodes_[node].token;
        for (int64_t n : request_.ngrams) {
            if (position_ < n) continue;  // the first n-gram has nothing to repeat
            const auto context = tokens.end() - (n - 1);
            for (int64_t i = 0; i + n <= position_; i++)
                if (std::equal(context, tokens.end(), tokens.begin() + i)) scan.forbidden.push_back(tokens[i + n - 1]);
        }
    }
    if (tracker_.all()) allow_phrases(live, scan);
    std::sort(scan.forbidden.begin(), scan.forbidden.end());
}

bool Search::advance() {
    const bool goes_on = tracker_.all()                  ? advance_constrained()
                         : request_.kind == Kind::beam   ? advance_beam()
                         : request_.kind == Kind::sample ? advance_sample()
                                                         : advance_score();
    position_++;
    return goes_on;
}

// Whether one of the first `rows` rows has no probabilities. One bad logit makes its whole row NaN.
bool Search::unusable(int64_t rows) {
    for (int64_t r = 0; r < rows; r++)
        if (std::isnan(scans_[r].logp(scans_[r].end_logit))) failed_ = position_;
    return failed_ >= 0;
}

// Log-probability of the end after a row; `masked` applies the rules, which may forbid it.
float Search::end_logp(int64_t row, bool masked) const {
    const Scan& scan = scans_[row];
    const float own = scan.logp(scan.end_logit);
    if (!masked) return own;
    if (forced()) {
        if (scan.wanted == end_) return own;
        // A forced token that is impossible ends the translation.
        const bool possible = scan.wanted_logit > NEVER && !holds(request_.never, scan.wanted);
        return possible ? NEVER : own;
    }
    if (!holds(scan.forbidden, end_)) return own;
    const bool stuck = request_.kind == Kind::sample
                           ? std::all_of(scan.logits.begin(), scan.logits.end(), [](float x) { return x == NEVER; })
                           : scan.values.empty() || scan.values[0] == NEVER;
    return stuck ? own : NEVER;
}

bool Search::advance_beam() {
    const int64_t rows = int64_t(live_.size()), size = request_.size;
    if (unusable(rows)) return false;
    std::vector<Candidate> next;
    std::vector<float> ended(rows), end(rows);
    for (int64_t r = 0; r < rows; r++) {
        const Scan& scan = scans_[r];
        end[r] = end_logp(r, true);
        ended[r] = live_[r].total + end[r];
        auto add = [&](int32_t id, float logp) {
            const float total = live_[r].total + logp;
            if (total > NEVER) next.push_back({total, logp, int32_t(r), id, {}});
        };
        if (forced()) {
            if (scan.wanted != end_ && !holds(request_.never, scan.wanted)) add(scan.wanted, wanted_logp(scan));
        } else {
            for (int64_t k = 0; k < size; k++)
                if (scan.ids[k] >= 0) add(scan.ids[k], scan.logp(scan.values[k]));
        }
    }
    const std::vector<Candidate> all = request_.seen ? next : std::vector<Candidate>();
    std::stable_sort(next.begin(), next.end(), [](const Candidate& a, const Candidate& b) { return a.total > b.total; });
    if (int64_t(next.size()) > size) next.resize(size);

    // An end among the best candidates finishes. At the limit every row finishes.
    const int64_t places = request_.stop == Stop::shrinking ? size - int64_t(finished_.size()) : size;
    std::vector<bool> chosen(rows);
    std::vector<float> descending = ended;
    std::sort(descending.begin(), descending.end(), std::greater<>());
    auto better = [](const auto& sorted, float score, auto total) {
        return std::partition_point(sorted.begin(), sorted.end(), [&](const auto& one) { return total(one) > score; }) -
               sorted.begin();
    };
    for (int64_t r = 0; r < rows; r++) {
        const int64_t ahead = better(next, ended[r], [](const Candidate& one) { return one.total; }) +
                              better(descending, ended[r], [](float one) { return one; });
        chosen[r] = ahead < places && ended[r] > NEVER;
    }
    if (request_.stop == Stop::shrinking) {
        size_t kept = 0;
        for (; kept < next.size(); kept++) {
            int64_t ahead = int64_t(kept);
            for (int64_t r = 0; r < rows; r++) ahead += ended[r] >= next[kept].total;
            if (ahead >= places) break;
        }
        next.resize(kept);
    }
    for (int64_t r = 0; r < rows; r++) {
        if (at_limit() && end[r] == NEVER) end[r] = end_logp(r, false);
        const bool possible = live_[r].total + end[r] > NEVER;
        if (chosen[r] || (at_limit() && possible)) close(r, end[r], !chosen[r]);
    }
    const bool full = int64_t(finished_.size()) >= size;
    // A beam of 1 that looks beyond its first end would not be greedy search.
    const bool bounded = request_.stop == Stop::patient || (request_.stop == Stop::exact && size > 1);
    if (at_limit() || (!next.empty() && (bounded ? !may_still_win(next[0].total) : full))) next.clear();
    if (request_.seen) record(all, next, end, chosen);
    if (next.empty()) return false;

    std::vector<Live> going;
    for (const Candidate& candidate : next) {
        going.push_back(extended(candidate.row, candidate.id, candidate.logp, candidate.total));
        going.back().seen = candidate.seen;
    }
    live_ = std::move(going);
    return true;
}

// Append the candidates of a step to `seen`, as `Recorder` in inspection/inspect.py: for each row its best tokens, the end,
// and the best tokens that are forbidden. Six numbers each: the place of its parent or -1, token, log-probability, their sum,
// fate, and whether the limit cut it. `next` are those that continue.
void Search::record(const std::vector<Candidate>& all, std::vector<Candidate>& next, const std::vector<float>& end,
                    const std::vector<bool>& chosen) {
    enum Fate { KEPT, PRUNED, FINISHED, BANNED };
    std::vector<float>& seen = *request_.seen;
    for (int32_t r = 0; r < int32_t(live_.size()); r++) {
        const Scan& scan = scans_[r];
        const auto add = [&](int32_t id, float logp, Fate fate, bool cut = false) {
            seen.insert(seen.end(), {float(live_[r].seen), float(id), logp, live_[r].total + logp, float(fate), float(cut)});
        };
        for (const Candidate& one : all) {
            if (one.row != r) continue;
            const auto same = [&](const Candidate& other) { return other.row == r && other.id == one.id; };
            const auto kept = std::find_if(next.begin(), next.end(), same);
            if (kept != next.end()) kept->seen = int32_t(seen.size() / 6);
            add(one.id, one.logp, kept == next.end() ? PRUNED : KEPT);
        }
        const bool finished = chosen[r] || at_limit();
        if (end[r] > NEVER) add(end_, end[r], finished ? FINISHED : PRUNED, finished && !chosen[r]);
        for (size_t k = 0; k < scan.free_ids.size(); k++) {
            const int32_t id = scan.free_ids[k];
            const bool possible = forced() ? id == scan.wanted : !holds(scan.forbidden, id);
            if (id == end_ ? end[r] == NEVER : id >= 0 && (!possible || holds(request_.never, id)))
                add(id, scan.free_values[k] - scan.free_max - std::log(scan.free_sum), BANNED);
        }
    }
}

// Whether a translation that continues, with this sum of log-probabilities at most, can still change the answer.
bool Search::may_still_win(float best) const {
    const bool exact = request_.stop == Stop::exact;
    const size_t places = exact ? request_.n_best : request_.size;
    if (finished_.size() < places) return true;
    // patient looks at the score now; exact at the most favourable length that is still possible (Huang et al. 2017).
    int64_t length = position_ + 1;
    if (exact) length = request_.length_penalty > 0 ? request_.limit + 1 : position_ + 2;
    std::vector<double> scores;
    for (const Hypothesis& hypothesis : finished_) scores.push_back(hypothesis.score);
    std::nth_element(scores.begin(), scores.begin() + (places - 1), scores.end(), std::greater<>());
    return double(best) / request_.penalty(length) > scores[places - 1];
}

bool Search::advance_sample() {
    const int64_t rows = int64_t(live_.size());
    if (unusable(rows)) return false;
    std::vector<Live> going;
    for (int64_t i = 0; i < (position_ ? rows : request_.n_best); i++) {
        const int64_t row = position_ ? i : 0;  // the draws share their first row
        const Scan& scan = scans_[row];
        const int32_t number = position_ ? live_[i].draw : int32_t(i);
        const float end = end_logp(row, true);
        float logp = end;
        int32_t token = end_;
        const double uniform = request_.draws[number].next();  // also where the token is forced
        if (!forced()) {
            token = draw(scan, uniform, &logp);
        } else if (end == NEVER) {
            token = scan.wanted, logp = wanted_logp(scan);
        }
        const bool cut = at_limit() && token != end_;
        if (at_limit()) token = end_, logp = end > NEVER ? end : end_logp(row, false);
        if (token != end_)
            going.push_back(extended(row, token, logp, live_[row].total + logp, number));
        else if (logp > NEVER)
            close(row, logp, cut);
    }
    live_ = std::move(going);
    return !live_.empty();
}

// Draw a token from softmax(logp / temperature): models/search/sampling.py.
int32_t Search::draw(const Scan& scan, double uniform, float* logp) const {
    struct Choice {
        double p;
        int32_t id;
    };
    auto probability = [&](int64_t id) {
        float one = scan.logits[id] == NEVER ? NEVER : scan.logp(scan.logits[id]);
        if (id == end_) one = end_logp(&scan - scans_.data(), true);
        return one;
    };
    const int64_t vocab = int64_t(scan.logits.size());
    float greatest = NEVER;
    std::vector<Choice> choices;
    for (int64_t id = 0; id < vocab; id++) greatest = std::max(greatest, probability(id));
    double sum = 0;
    for (int64_t id = 0; id < vocab; id++) {
        const double p = std::exp((double(probability(id)) - double(greatest)) / request_.temperature);
        sum += p;
        choices.push_back({p, int32_t(id)});
    }
    for (Choice& choice : choices) choice.p /= sum;
    if (request_.top_k || request_.top_p < 1) {
        std::stable_sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) { return a.p > b.p; });
        if (request_.top_k && request_.top_k < vocab) {
            choices.resize(request_.top_k);
            const double kept = std::accumulate(choices.begin(), choices.end(), 0.0,
                                                [](double total, const Choice& choice) { return total + choice.p; });
            for (Choice& choice : choices) choice.p /= kept;
        }
        double before = 0;
        for (Choice& choice : choices) {
            const double own = choice.p;
            if (request_.top_p < 1 && before >= request_.top_p) choice.p = 0;
            before += own;
        }
    }
    double total = 0;
    for (const Choice& choice : choices) total += choice.p;
    const double threshold = std::min(uniform * total, std::nextafter(total, 0.0));
    double cumulative = 0;
    const Choice* drawn = &choices.back();
    for (const Choice& choice : choices) {
        cumulative += choice.p;
        if (cumulative > threshold) {
            drawn = &choice;
            break;
        }
    }
    *logp = probability(drawn->id);
    return drawn->id;
}

// Follow the translation to score. Its tokens need not be those that a search may generate.
bool Search::advance_score() {
    if (unusable(1)) return false;
    if (!forced()) {
        close(0, end_logp(0, false), false);
        return false;
    }
    const float logp = scans_[0].logp(scans_[0].wanted_logit);
    live_ = {extended(0, scans_[0].wanted, logp, live_[0].total + logp)};
    return true;
}

Search::Live Search::extended(int64_t row, int32_t token, float logp, float total, int32_t draw) {
    nodes_.push_back({token, live_[row].node, logp});
    Live live{int32_t(nodes_.size()) - 1, total, draw, live_[row].path, live_[row].missing, {}};
    live.path.push_back(int32_t(row));
    live.missing.erase(std::remove(live.missing.begin(), live.missing.end(), token), live.missing.end());
    return live;
}

// Finish the translation of a row.
void Search::close(int64_t row, float end, bool truncated) {
    Hypothesis hypothesis;
    hypothesis.tokens.resize(position_);
    hypothesis.token_logp.resize(position_ + 1);
    hypothesis.truncated = truncated;
    hypothesis.met = live_[row].place.met;
    int32_t node = live_[row].node;
    for (int64_t t = position_; t-- > 0; node = nodes_[node].parent) {
        hypothesis.tokens[t] = nodes_[node].token;
        hypothesis.token_logp[t] = nodes_[node].logp;
    }
    hypothesis.token_logp[position_] = end;
    long double logp = 0;  // exact enough to round as a sum without error does
    for (float one : hypothesis.token_logp) logp += one;
    hypothesis.logp = double(logp);
    hypothesis.score = request_.normalised(hypothesis.logp, position_ + 1);
    const int64_t length = int64_t(request_.source.size());
    for (int64_t t = 0; t < int64_t(attention_.size()); t++) {
        const int64_t slot = t < position_ ? live_[row].path[t] : row;
        const auto first = attention_[t].begin() + slot * length;
        hypothesis.attention.insert(hypothesis.attention.end(), first, first + length);
    }
    finished_.push_back(std::move(hypothesis));
}

std::vector<Hypothesis> Search::finish() {
    std::stable_sort(finished_.begin(), finished_.end(), [](const Hypothesis& a, const Hypothesis& b) {
        return a.met != b.met ? a.met > b.met : a.score > b.score;
    });
    if (int64_t(finished_.size()) > request_.n_best) finished_.resize(request_.n_best);
    return std::move(finished_);
}

}  // namespace dragoman
