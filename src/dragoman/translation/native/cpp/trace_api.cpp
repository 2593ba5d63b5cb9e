// Traces as C functions, for a page in a browser.
#include <memory>

#include "batch.h"
#include "guarded.h"
#include "system.h"
#include "trace.h"

using namespace dragoman;

namespace {

struct KeptTrace {
    Trace trace;
    std::string directory;
};

}  // namespace

// Return the trace of an engine's only model for a source and a target without start and end, or null and a message. The
// `count` changes share `values`.
EXPORT KeptTrace* dragoman_trace(const std::shared_ptr<Engine>* engine, const int32_t* source, int32_t source_size,
                                 const int32_t* target, int32_t target_size, const Change* changes, int32_t count,
                                 const float* values, int32_t values_size, char* message, int32_t message_size) {
    copy_message("out of memory", message, message_size);
    const auto size = [](int32_t number) { return size_t(std::max(number, 0)); };
    return guarded(
        [&]() -> KeptTrace* {
            auto kept = std::make_unique<KeptTrace>();
            const Models& models = (*engine)->models();
            std::string wrong = "an ensemble cannot be traced";
            if (models.size() == 1)
                wrong = kept->trace.run(*models[0], {source, source + size(source_size)},
                                        {target, target + size(target_size)}, {changes, changes + size(count)},
                                        {values, values + size(values_size)});
            copy_message(wrong, message, message_size);
            kept->directory = kept->trace.directory();
            return wrong.empty() ? kept.release() : nullptr;
        },
        nullptr);
}

// Return the names, shapes and places of its arrays as JSON, ended by 0. It belongs to the trace.
EXPORT const char* dragoman_trace_directory(const KeptTrace* kept) { return kept->directory.c_str(); }

// Return the numbers of all arrays. They belong to the trace.
EXPORT const float* dragoman_trace_numbers(const KeptTrace* kept) { return kept->trace.numbers().data(); }

EXPORT void dragoman_trace_free(KeptTrace* kept) { delete kept; }
