#include "vocabulary.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dragoman {
namespace {

constexpr float INFINITY_ = std::numeric_limits<float>::infinity();
constexpr int64_t STRIPE = 64 * 1024;  // logits of a stripe of all rows, 256 kB: they stay in the cache
// Panels whose logits are summed together. Stripes are whole segments: other rows change the stripes, but not the sum.
constexpr int64_t SEGMENT = 32;

int64_t panels_of_stripe(int64_t rows) {
    return std::max<int64_t>(STRIPE / PANEL / rows, SEGMENT) / SEGMENT * SEGMENT;
}

// Set the logits of those ids that lie in first .. last - 1 to -inf.
void hide(const std::vector<int32_t>& ids, float* logits, int64_t first, int64_t last) {
    for (auto id = std::lower_bound(ids.begin(), ids.end(), first); id != ids.end() && *id < last; ++id)
        logits[*id - first] = -INFINITY_;
}

}  // namespace

void Vocabulary::answer(const std::vector<Scan*>& scans) {
    const Packed& packed = model().logits.packed();
    const int64_t rows = int64_t(scans.size());
    bool all = false;
    needed_.assign(packed.panels, 0);
    for (Scan* scan : scans) {
        scan->max = -INFINITY_, scan->sum = 0;
        scan->end_logit = scan->wanted_logit = -INFINITY_;
        scan->asked_logits.assign(scan->asked.size(), -INFINITY_);
        scan->values.assign(scan->best, -INFINITY_), scan->ids.assign(scan->best, -1);
        scan->free_max = -INFINITY_, scan->free_sum = 0;
        scan->free_values.assign(scan->free, -INFINITY_), scan->free_ids.assign(scan->free, -1);
        scan->logits.clear(), scan->few.clear();
        all |= !scan->listed;
        if (scan->listed)
            for (int32_t id : *scan->listed) needed_[id / PANEL] = 1;
    }
    if (all) std::fill(needed_.begin(), needed_.end(), 1);
    for (Transformer& transformer : transformers_) transformer.prepare_logits(rows);
    if (transformers_.size() > 1 && average_ == Average::probabilities) sum_up(rows);
    const int64_t most = panels_of_stripe(rows);
    for (int64_t first = 0, last; first < packed.panels; first = last) {
        last = first + 1;
        if (!needed_[first]) continue;
        transformers_[0].check_open();
        while (last < packed.panels && last - first < most && needed_[last]) last++;
        const int64_t width = (last - first) * PANEL;
        float* stripe = stripe_.get(rows * width);
        transformers_[0].logits(rows, first, last, stripe, width);
        if (transformers_.size() > 1) average(rows, first, last, stripe);
        for (int64_t i = 0; i < rows; i++)
            read(*scans[i], stripe + i * width, first * PANEL, std::min(last * PANEL, packed.outputs));
    }
    for (Scan* scan : scans) {
        if (scan->listed) read_listed(*scan);
        scan->log_sum = std::log(scan->sum);
    }
}

// Make a stripe of the first model's logits the average of all models.
void Vocabulary::average(int64_t rows, int64_t first, int64_t last, float* stripe) {
    const int64_t width = (last - first) * PANEL, models = int64_t(transformers_.size());
    const float share = 1.0f / float(models);
    float* other = other_.get(rows * width);
    const bool logs = average_ == Average::log_probabilities;
    if (!logs)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t k = 0; k < width; k++) stripe[i * width + k] -= log_sums_[i];
    for (int64_t m = 1; m < models; m++) {
        transformers_[m].logits(rows, first, last, other, width);
        if (logs) {
            model().kernels->add(other, stripe, rows * width);
            continue;
        }
        const float* log_sum = log_sums_.data() + m * rows;
        for (int64_t i = 0; i < rows; i++)
            for (int64_t k = 0; k < width; k++) {  // log(exp(a) + exp(b))
                float& a = stripe[i * width + k];
                const float b = other[i * width + k] - log_sum[i], most = std::max(a, b);
                if (std::isnan(b)) a = b;  // `max` would hide it
                else if (most > -INFINITY_) a = most + std::log1p(std::exp(std::min(a, b) - most));
            }
    }
    if (logs)
        for (int64_t k = 0; k < rows * width; k++) stripe[k] *= share;
}

// Sum the exponentials of all logits of every model, for probabilities.
void Vocabulary::sum_up(int64_t rows) {
    log_sums_.resize(transformers_.size() * size_t(rows));
    const int64_t most = panels_of_stripe(rows);
    for (size_t m = 0; m < transformers_.size(); m++) {
        const Packed& packed = transformers_[m].model().logits.packed();
        std::vector<float> max(rows, -INFINITY_), sum(rows, 0.0f);
        for (int64_t first = 0; first < packed.panels; first += most) {
            const int64_t last = std::min(first + most, packed.panels), width = (last - first) * PANEL;
            transformers_[m].check_open();
            float* stripe = other_.get(rows * width);
            transformers_[m].logits(rows, first, last, stripe, width);
            const int64_t real = std::min(last * PANEL, packed.outputs) - first * PANEL;
            for (int64_t i = 0; i < rows; i++)
                for (int64_t k = 0; k < real; k += SEGMENT * PANEL)
                    model().kernels->sum_exponentials(stripe + i * width + k, std::min(SEGMENT * PANEL, real - k), &max[i],
                                                      &sum[i]);
        }
        for (int64_t i = 0; i < rows; i++) log_sums_[m * rows + i] = max[i] + std::log(sum[i]);
    }
}

// Read the logits of ids first .. last - 1, and change them.
void Vocabulary::read(Scan& scan, float* logits, int64_t first, int64_t last) {
    const Kernels& kernels = *model().kernels;
    for (int64_t i = first; i < last && scan.free; i += SEGMENT * PANEL)
        kernels.sum_exponentials(logits + (i - first), std::min(SEGMENT * PANEL, last - i), &scan.free_max, &scan.free_sum);
    kernels.find_best(logits, last - first, int32_t(first), scan.free, scan.free_values.data(), scan.free_ids.data());
    if (scan.renormalise) hide(*scan.never, logits, first, last);
    if (scan.end >= first && scan.end < last) scan.end_logit = logits[scan.end - first];
    if (scan.wanted >= first && scan.wanted < last) scan.wanted_logit = logits[scan.wanted - first];
    for (size_t i = 0; i < scan.asked.size(); i++)
        if (scan.asked[i] >= first && scan.asked[i] < last) scan.asked_logits[i] = logits[scan.asked[i] - first];
    if (scan.listed) {
        const auto end = scan.listed->end();
        for (auto id = std::lower_bound(scan.listed->begin(), end, first); id != end && *id < last; ++id)
            scan.few.push_back(logits[*id - first]);
        return;
    }
    for (int64_t i = first; i < last; i += SEGMENT * PANEL)
        kernels.sum_exponentials(logits + (i - first), std::min(SEGMENT * PANEL, last - i), &scan.max, &scan.sum);
    if (scan.best || scan.keep) {
        hide(*scan.never, logits, first, last);
        hide(scan.forbidden, logits, first, last);
    }
    if (scan.keep) scan.logits.insert(scan.logits.end(), logits, logits + (last - first));
    if (!scan.best) return;
    if (scan.end >= first && scan.end < last) logits[scan.end - first] = -INFINITY_;
    kernels.find_best(logits, last - first, int32_t(first), scan.best, scan.values.data(), scan.ids.data());
}

// The same for the ids of a list, whose logits are all in `few`.
void Vocabulary::read_listed(Scan& scan) {
    const Kernels& kernels = *model().kernels;
    const std::vector<int32_t>& ids = *scan.listed;
    kernels.sum_exponentials(scan.few.data(), int64_t(ids.size()), &scan.max, &scan.sum);
    for (size_t i = 0; i < ids.size(); i++)
        if (std::binary_search(scan.never->begin(), scan.never->end(), ids[i]) ||
            std::binary_search(scan.forbidden.begin(), scan.forbidden.end(), ids[i]))
            scan.few[i] = -INFINITY_;
    if (scan.keep) {
        scan.logits.assign(model().shape.target_vocab, -INFINITY_);
        for (size_t i = 0; i < ids.size(); i++) scan.logits[ids[i]] = scan.few[i];
    }
    if (!scan.best) return;
    for (size_t i = 0; i < ids.size(); i++)
        if (ids[i] != scan.end) kernels.find_best(&scan.few[i], 1, ids[i], scan.best, scan.values.data(), scan.ids.data());
}

}  // namespace dragoman
