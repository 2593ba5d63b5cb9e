// Threads that help with the products of a single batch, when the other threads have none of their own.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "threads.h"

namespace dragoman {

// Helpers wait for pieces of work without sleeping, because a product takes less time than waking a thread. Nobody waits
// for a helper that has not begun: who is first takes the next piece.
class Team {
  public:
    explicit Team(int helpers);
    ~Team();

    // Get the helpers ready, for one caller at a time. Returns false if another has them.
    bool acquire();
    // Let the helpers sleep.
    void release();

    // Call work(0) .. work(pieces - 1), each once, on all threads; at most 2^15 pieces. Only between acquire and release.
    template <class Work> void share(int64_t pieces, const Work& work) {
        call_ = [](const void* context, int64_t piece) { (*static_cast<const Work*>(context))(piece); };
        context_ = &work;
        run(pieces);
    }

  private:
    void run(int64_t pieces);
    bool take_piece();
    void help();

    void (*call_)(const void*, int64_t) = nullptr;
    const void* context_ = nullptr;
    // Which job (32 bits), its pieces (16 bits), and the next of them (16 bits): one number, so that no thread takes a
    // piece of a job that has ended.
    std::atomic<uint64_t> state_{0};
    std::atomic<int64_t> done_{0};
    std::atomic<bool> awake_{false}, taken_{false};
    bool closing_ = false;
    std::mutex mutex_;
    std::condition_variable sleeping_;
    std::vector<std::thread> helpers_;
};

}  // namespace dragoman
