// Traces as C functions, for a page in a browser.
#include <memory>

#include "batch.h"
#include "checks.h"
#include "guarded.h"
#include "system.h"
#include "trace.h"

using namespace dragoman;

namespace {

struct KeptTrace {
    Trace trace;
    std::string directory;
};

// Keep the trace of an engine's only model that `work` makes, or return null and the message that it returns.
template <class Work>
KeptTrace* keep_trace(const std::shared_ptr<Engine>& engine, char* message, int32_t message_size, Work work) {
    copy_message("out of memory", message, message_size);
    return guarded(
        [&]() -> KeptTrace* {
            auto kept = std::make_unique<KeptTrace>();
            const Models& models = engine->models();
            const std::string wrong = models.size() == 1 ? work(kept->trace, *models[0]) : "an ensemble cannot be traced";
            copy_message(wrong, message, message_size);
            kept->directory = kept->trace.directory();
            return wrong.empty() ? kept.release() : nullptr;
        },
        nullptr);
}

size_t size(int32_t number) { return size_t(std::max(number, 0)); }

}  // namespace

// Return the trace of a source and a target without start and end, or null and a message. The `count` changes share `values`.
EXPORT KeptTrace* dragoman_trace(const std::shared_ptr<Engine>* engine, const int32_t* source, int32_t source_size,
                                 const int32_t* target, int32_t target_size, const Change* changes, int32_t count,
                                 const float* values, int32_t values_size, char* message, int32_t message_size) {
    return keep_trace(*engine, message, message_size, [&](Trace& trace, const Model& model) {
        return trace.run(model, {source, source + size(source_size)}, {target, target + size(target_size)},
                         {changes, changes + size(count)}, {values, values + size(values_size)});
    });
}

// Return the trace of a search (Trace::search), or null and a message. The request is as in `dragoman_submit`. `banned` are
// `banned_count` pairs of a position and a token.
EXPORT KeptTrace* dragoman_trace_search(const std::shared_ptr<Engine>* engine, const int32_t* numbers, const double* fractions,
                                        const int32_t* banned, int32_t banned_count, const Change* changes, int32_t count,
                                        char* message, int32_t message_size) {
    return keep_trace(*engine, message, message_size, [&](Trace& trace, const Model& model) {
        int32_t number;
        Request request = read_request(numbers, fractions, &number);
        check(request, model.shape);
        for (int32_t i = 0; i < banned_count; i++) request.banned_at.emplace_back(banned[2 * i], banned[2 * i + 1]);
        return trace.search(model, std::move(request), {changes, changes + size(count)});
    });
}

// Return the names, shapes and places of its arrays as JSON, ended by 0. It belongs to the trace.
EXPORT const char* dragoman_trace_directory(const KeptTrace* kept) { return kept->directory.c_str(); }

// Return the numbers of all arrays. They belong to the trace.
EXPORT const float* dragoman_trace_numbers(const KeptTrace* kept) { return kept->trace.numbers().data(); }

EXPORT void dragoman_trace_free(KeptTrace* kept) { delete kept; }
