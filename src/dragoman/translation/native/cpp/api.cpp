// The functions that translation/native/library.py calls. No exception leaves them.
#include <algorithm>
#include <cstring>
#include <exception>

#include "batch.h"
#include "checks.h"
#include "guarded.h"
#include "system.h"

using namespace dragoman;

namespace {

// A weight by name. Laid out as `_Weight` in translation/native/library.py.
struct NamedWeight {
    const char* name;
    const void* data;
    const float *scale, *multipliers;
    int64_t rows, columns;
    int32_t stored, blocks;
};

// The start of a request as 32-bit numbers; its lists follow in this order. Laid out by `_message` in translation/native/message.py.
struct Head {
    int32_t number, kind, size, wide, n_best, stop, normalization, top_k, renormalise, limit, minimum, layer, head, ruled, within,
        unscored;
    int32_t source, prefix, ngrams, banned, required, phrases, joining, never, draws, shortlist;  // lengths; -1 for no shortlist
};

// Its sessions keep an engine alive, so that it may be closed while they run.
using SharedEngine = std::shared_ptr<Engine>;

struct Handle {
    SharedEngine engine;
    std::shared_ptr<Session> session;
};

NamedWeights by_name(const NamedWeight* weights, int64_t count) {
    NamedWeights named;
    for (int64_t i = 0; i < count; i++) {
        const NamedWeight& one = weights[i];
        const Weights& kept = named[one.name] = {Stored(one.stored), one.rows, one.columns, one.data, one.scale, nullptr,
                                                  one.multipliers, one.multipliers ? one.blocks : 0};
        check(one.name, kept);
    }
    return named;
}

// An engine for the models that `make` returns, or null and a message.
template <class Make>
SharedEngine* engine_of(int32_t threads, char* message, int64_t size, Make make, Average average = {}) {
    try {
        return new SharedEngine(std::make_shared<Engine>(make(), average, threads));
    } catch (const std::bad_alloc&) {
        copy_message("out of memory", message, size);
    } catch (const std::exception& error) {
        copy_message(error.what(), message, size);
    }
    return nullptr;
}

std::vector<int32_t> list(const int32_t*& from, int64_t count) {
    std::vector<int32_t> out(from, from + std::max<int64_t>(count, 0));
    from += out.size();
    return out;
}

std::vector<Generator> generators(const std::vector<int32_t>& words) {
    std::vector<Generator> out;
    for (size_t i = 0; i + 8 <= words.size(); i += 8) out.emplace_back(&words[i], &words[i + 4]);
    return out;
}

}  // namespace

Request dragoman::read_request(const int32_t*& numbers, const double*& fractions) {
    Head head;
    std::memcpy(&head, numbers, sizeof head);
    numbers += sizeof head / sizeof *numbers;
    Request request;
    request.kind = Kind(head.kind);
    request.size = head.size, request.wide = head.wide, request.n_best = head.n_best;
    request.stop = Stop(head.stop), request.normalization = Normalization(head.normalization);
    request.top_k = head.top_k, request.renormalise = head.renormalise;
    request.limit = head.limit, request.minimum = head.minimum;
    request.layer = head.layer, request.head = head.head, request.ruled = head.ruled;
    request.within = head.within, request.unscored = head.unscored;
    request.source = list(numbers, head.source);
    request.prefix = list(numbers, head.prefix);
    request.ngrams = list(numbers, head.ngrams);
    request.banned = list(numbers, head.banned);
    request.required = list(numbers, head.required);
    request.phrases = list(numbers, head.phrases);
    request.joining = list(numbers, head.joining);
    request.never = list(numbers, head.never);
    request.draws = generators(list(numbers, head.draws));
    request.shortlist = list(numbers, head.shortlist);
    request.listed = head.shortlist >= 0;
    request.length_penalty = *fractions++;
    request.temperature = *fractions++;
    request.top_p = *fractions++;
    return request;
}

// Return the name of the instruction set in use, or null and a message.
EXPORT const char* dragoman_instructions(char* message, int64_t size) {
    const char* reason = nullptr;
    const Kernels* kernels = choose_kernels(&reason);
    if (!kernels) copy_message(reason, message, size);
    return kernels ? kernels->name : nullptr;
}

// Return an engine, or null and a message. The embeddings stay where `weights` point; everything else is packed.
EXPORT SharedEngine* dragoman_open(const Shape* shape, const NamedWeight* weights, int64_t count, int32_t type,
                             int32_t mapped, int32_t threads, char* message, int64_t size) {
    return engine_of(threads, message, size, [&] {
        const char* reason = nullptr;
        const Kernels* kernels = choose_kernels(&reason);
        if (!kernels) throw Unusable(reason);
        check(*shape, Type(type), size_t(count));
        return Models{std::make_shared<Model>(*shape, Type(type), kernels, by_name(weights, count), mapped, threads)};
    });
}

// Return an engine for the model of `base` with an adapter, or null and a message. It shares the memory of the layers
// that the adapter is not on. `weights` are those of the base, where they were.
EXPORT SharedEngine* dragoman_adapt(const SharedEngine* base, const NamedWeight* weights, int64_t count, int32_t mapped,
                              const NamedWeight* adapter, int64_t adapter_count, double scale, int32_t threads,
                              char* message, int64_t size) {
    return engine_of(threads, message, size, [&] {
        const Adapter parts = read_adapter(by_name(adapter, adapter_count), scale);
        const Model& model = *(*base)->models()[0];
        return Models{std::make_shared<Model>(model, by_name(weights, count), mapped, parts, threads)};
    });
}

// Return an engine for the models of `count` engines together, or null and a message. It shares their memory.
EXPORT SharedEngine* dragoman_ensemble(const SharedEngine* const* engines, int32_t count, int32_t average, int32_t threads,
                                       char* message, int64_t size) {
    return engine_of(
        threads, message, size,
        [&] {
            Models models;
            for (int32_t i = 0; i < count; i++)
                for (const auto& model : (*engines[i])->models()) models.push_back(model);
            for (const auto& model : models)
                if (model->shape.source_vocab != models[0]->shape.source_vocab ||
                    model->shape.target_vocab != models[0]->shape.target_vocab)
                    throw Unusable("the models have different vocabularies");
            return models;
        },
        Average(average));
}

// The engine ends with its last session.
EXPORT void dragoman_close(SharedEngine* engine) { delete engine; }

// Return a session, or null if memory ran out.
EXPORT Handle* dragoman_begin(SharedEngine* engine, int64_t budget) {
    try {
        return new Handle{*engine, (*engine)->begin(budget)};
    } catch (const std::exception&) {
        return nullptr;
    }
}

EXPORT void dragoman_end(Handle* handle) {
    handle->engine->cancel(*handle->session);
    delete handle;
}

// Queue `count` requests: for each a head and its lists in `numbers`, and in `fractions` the length penalty,
// temperature and top p. Returns 0, or 1 if memory ran out, or 2 if one does not fit the model; then none is queued.
EXPORT int32_t dragoman_submit(Handle* handle, int64_t count, const int32_t* numbers, const double* fractions) {
    try {
        std::vector<Job> jobs;
        for (int64_t i = 0; i < count; i++) {
            const int32_t number = *numbers;
            Request request = read_request(numbers, fractions);
            check(request, handle->engine->models()[0]->shape);
            jobs.push_back({handle->session, number, std::move(request)});
        }
        handle->engine->submit(std::move(jobs));
        return 0;
    } catch (const Unusable&) {
        return 2;
    } catch (const std::exception&) {
        return 1;
    }
}

// Collected answers as three arrays, which belong to the result and live until `dragoman_free`:
// numbers: for each answer its number, the tokens after which the model failed or -1 (-2: memory ran out), and the
// number of hypotheses; for each of these its length, truncated and the numbers of its attention, then its tokens.
// fractions: the log-probability of each token of each hypothesis and of the end, then the attention.
// scores: score and log-probability of each hypothesis.
struct Collected {
    int64_t answers;
    const int32_t* numbers;
    const float* fractions;
    const double* scores;
    int64_t count_numbers, count_fractions, count_scores;
};

namespace {

struct Owned : Collected {
    std::vector<int32_t> own_numbers;
    std::vector<float> own_fractions;
    std::vector<double> own_scores;

    void add(const Answer& answer) {
        own_numbers.push_back(int32_t(answer.number));
        own_numbers.push_back(answer.exhausted ? -2 : int32_t(answer.failed));
        own_numbers.push_back(int32_t(answer.hypotheses.size()));
        for (const Hypothesis& one : answer.hypotheses) {
            own_numbers.push_back(int32_t(one.tokens.size()));
            own_numbers.push_back(one.truncated);
            own_numbers.push_back(int32_t(one.attention.size()));
            own_numbers.insert(own_numbers.end(), one.tokens.begin(), one.tokens.end());
            own_fractions.insert(own_fractions.end(), one.token_logp.begin(), one.token_logp.end());
            own_fractions.insert(own_fractions.end(), one.attention.begin(), one.attention.end());
            own_scores.push_back(one.score);
            own_scores.push_back(one.logp);
        }
    }
};

}  // namespace

// Return the answers so far, at most `most`, or null if memory ran out.
EXPORT Collected* dragoman_collect(Handle* handle, int64_t most, int32_t milliseconds) {
    try {
        auto owned = std::make_unique<Owned>();
        const auto answers = handle->engine->collect(*handle->session, most, milliseconds);
        for (const Answer& answer : answers) owned->add(answer);
        static_cast<Collected&>(*owned) = {int64_t(answers.size()), owned->own_numbers.data(),
                                           owned->own_fractions.data(), owned->own_scores.data(),
                                           int64_t(owned->own_numbers.size()), int64_t(owned->own_fractions.size()),
                                           int64_t(owned->own_scores.size())};
        return owned.release();
    } catch (const std::exception&) {
        return nullptr;
    }
}

EXPORT void dragoman_free(Collected* collected) { delete static_cast<Owned*>(collected); }
