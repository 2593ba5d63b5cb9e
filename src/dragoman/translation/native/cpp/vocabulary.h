// The part of the logits of one row that a search reads: the sum of all probabilities, single tokens, and the best few.
//
// The logits of a row are never all in memory. They come in stripes of the vocabulary, from first to last. Those of an
// ensemble are the average of its models.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "kernels.h"
#include "transformer.h"

namespace dragoman {

// The quantity that an ensemble averages. The mean of log-probabilities is scaled to sum to 1, so it is the mean of logits.
enum class Average : int32_t { log_probabilities, probabilities };

// The question of one row, and its answer.
struct Scan {
    // Asked. Lists are sorted.
    int64_t best = 0;                               // how many of the best tokens to find, the end left out
    int32_t end = 0;                                // id of the end
    int32_t wanted = -1;                            // an id whose logit to keep, or -1
    std::vector<int32_t> asked;                     // ids whose logits to keep, too
    int64_t free = 0;                               // how many of the best tokens to find before any is forbidden
    const std::vector<int32_t>* never = nullptr;    // ids that no translation has
    const std::vector<int32_t>* listed = nullptr;   // the only ids that there are, or null for all
    bool renormalise = false;                       // leave `never` out of the sum
    bool keep = false;                              // keep all logits, for drawing
    std::vector<int32_t> forbidden;                 // ids that do not continue this translation

    // Answered.
    float max = 0, sum = 0, log_sum = 0;  // the sum of exp(logits) is sum * exp(max)
    float end_logit = 0, wanted_logit = 0;
    std::vector<float> asked_logits;
    std::vector<float> values;  // the best logits, descending; -inf where there are fewer
    std::vector<int32_t> ids;
    float free_max = 0, free_sum = 0;  // of all logits
    std::vector<float> free_values;
    std::vector<int32_t> free_ids;
    std::vector<float> few;     // the logits of `listed`
    std::vector<float> logits;  // if `keep`; -inf for ids in `never` and `forbidden`, not for the end

    float logp(float logit) const { return logit - max - log_sum; }
};

// Answer the scans of the rows of the last step.
class Vocabulary {
  public:
    Vocabulary(std::deque<Transformer>& transformers, Average average) : transformers_(transformers), average_(average) {}
    void answer(const std::vector<Scan*>& scans);

  private:
    void average(int64_t rows, int64_t first, int64_t last, float* stripe);
    void sum_up(int64_t rows);
    void read(Scan& scan, float* logits, int64_t first, int64_t last);
    void read_listed(Scan& scan);

    const Model& model() const { return transformers_[0].model(); }

    std::deque<Transformer>& transformers_;
    const Average average_;
    Buffer<float> stripe_, other_;
    std::vector<float> log_sums_;  // [model][row]: logarithms of the sums of all exponentials
    std::vector<unsigned char> needed_;
};

}  // namespace dragoman
