// The search for the translations of one sentence: models/search/beam.py, a sentence at a time.
//
// A search asks for rows of the next decoding step, then reads the answers. Many searches share a step. In an ensemble
// each model has rows of its own, and the answers are of all models together.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "generator.h"
#include "phrases.h"
#include "transformer.h"
#include "vocabulary.h"

namespace dragoman {

enum class Kind : int32_t { beam, sample, score };
enum class Stop : int32_t { full, patient, shrinking, exact };
enum class Normalization : int32_t { gnmt, power };

// One sentence to translate, or to score: `Request` in translation/search/engine.py.
struct Request {
    Kind kind = Kind::beam;
    int32_t size = 1;   // of the beam
    int32_t wide = 1;   // rows of the beam: more than `size` if phrases need them
    int32_t n_best = 1;
    Stop stop = Stop::full;
    Normalization normalization = Normalization::gnmt;
    double length_penalty = 0;
    double temperature = 1, top_p = 1;
    int32_t top_k = 0;
    bool renormalise = false;
    int32_t limit = 0;    // tokens of a translation, at most
    int32_t minimum = 0;  // tokens of a translation, at least
    int32_t layer = -1, head = -1;  // whose cross-attention to return, counted from 0; layer -1 for no layer
    bool ruled = false;             // whether there are rules
    int32_t within = -1;            // tokens that have all phrases; -1 if they may be anywhere
    int32_t unscored = 0;           // first tokens of the prefix that cost nothing
    std::vector<int32_t> source;    // the end included
    std::vector<int32_t> prefix;    // or the whole translation, if it is to be scored; -1 where a search is free
    std::vector<int32_t> ngrams;    // lengths of n-grams that must not come twice
    std::vector<int32_t> banned;    // by rules; sorted
    std::vector<std::pair<int32_t, int32_t>> banned_at;  // by rules: a position or -1 for all, and a token
    std::vector<int32_t> required;  // exactly once in a translation; sorted
    std::vector<int32_t> phrases;   // as `Tracker` reads them
    std::vector<int32_t> joining;   // tokens that continue a word; sorted
    std::vector<int32_t> never;     // padding, start and others, by the model; sorted
    std::vector<int32_t> shortlist; // the only ids that may be generated; sorted
    bool listed = false;            // whether `shortlist` applies
    std::vector<Generator> draws;   // [n_best], the random numbers of each
    std::vector<float>* seen = nullptr;  // receives the candidates of a beam search: `Search::record`

    int64_t rows() const { return kind == Kind::beam ? wide : kind == Kind::sample ? n_best : 1; }
    double penalty(int64_t length) const;
    double normalised(double logp, int64_t length) const;
};

// A finished translation: `Hypothesis` in translation/search/engine.py.
struct Hypothesis {
    std::vector<int32_t> tokens;
    std::vector<float> token_logp;  // of each token, then of the end
    double score = 0, logp = 0;
    bool truncated = false;
    int32_t met = 0;  // tokens of phrases that it has
    std::vector<float> attention;  // [tokens + 1][source], if asked for
};

class Search {
  public:
    Search(Request request, std::deque<Transformer>& transformers, Pool& pool);

    Source& source(size_t model) { return sides_[model].source; }
    const Request& request() const { return request_; }
    int64_t tokens() const { return int64_t(request_.source.size()) * request_.rows(); }

    // Append the rows of the next step, for each model, and what to find out about their next tokens.
    void ask(std::vector<std::vector<Row>>& rows, std::vector<Scan*>& scans);

    // Read the answers. Returns whether the search continues.
    bool advance();

    // The translations, best first. `failed` says after how many tokens the model gave no probabilities, or -1.
    std::vector<Hypothesis> finish();
    int64_t failed() const { return failed_; }

  private:
    struct Side {  // of one model
        Side(Pool& pool, int64_t slots, int64_t size) : cache(pool, slots, size) {}
        Source source;
        Cache cache;
    };
    struct Node {  // a token of a tree of translations
        int32_t token, parent;
        float logp;
    };
    struct Live {  // an unfinished translation
        int32_t node = -1;
        float total = 0;
        int32_t draw = 0;
        std::vector<int32_t> path;     // the slots of its tokens in the cache
        std::vector<int32_t> missing;  // the required tokens that it lacks; sorted
        Tracker::Place place;          // with the phrases
        int32_t seen = -1;             // its place among the candidates
    };
    struct Candidate {
        float total, logp;
        int32_t row, id;
        Tracker::Place place;
        int32_t seen = -1;
    };

    void forbid(const Live& live, Scan& scan);
    void allow_phrases(const Live& live, Scan& scan);
    bool advance_beam();
    void record(const std::vector<Candidate>& all, std::vector<Candidate>& next, const std::vector<float>& end,
                const std::vector<bool>& chosen);
    bool advance_constrained();
    bool advance_sample();
    bool advance_score();
    bool unusable(int64_t rows);
    float end_logp(int64_t row, bool masked) const;
    void close(int64_t row, float end, bool truncated);
    Live extended(int64_t row, int32_t token, float logp, float total, int32_t draw = 0);
    int32_t draw(const Scan& scan, double uniform, float* logp) const;
    bool may_still_win(float best) const;
    void deal(std::vector<Candidate>& candidates) const;
    std::vector<std::pair<int32_t, float>> following(int64_t row) const;
    bool may_change(float best) const;
    bool forced() const { return position_ < int64_t(request_.prefix.size()) && request_.prefix[position_] >= 0; }
    float wanted_logp(const Scan& scan) const {
        return position_ < request_.unscored ? 0.0f : scan.logp(scan.wanted_logit);
    }
    bool at_limit() const { return position_ == request_.limit; }

    Request request_;
    Tracker tracker_;
    std::deque<Side> sides_;  // by model
    int32_t start_, end_, vocab_;
    int64_t position_ = 0, failed_ = -1;
    std::vector<Live> live_;
    std::vector<Node> nodes_;
    std::vector<Scan> scans_;
    std::vector<Hypothesis> finished_;
    std::vector<std::vector<float>> attention_;  // by position: [slots][source]
};

}  // namespace dragoman
