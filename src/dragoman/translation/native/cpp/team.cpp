#include "team.h"

#include <system_error>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dragoman {
namespace {

constexpr int SPINS = 2000;  // some ten microseconds, then other programs may run

void pause() {
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");  // `yield` does nothing on most processors
#endif
}

}  // namespace

Team::Team(int helpers) {
    try {
        for (int i = 0; i < helpers; i++) helpers_.emplace_back([this] { help(); });
    } catch (const std::system_error&) {  // the system gives no more threads: continue with those
    }
}

Team::~Team() {
    {
        std::lock_guard lock(mutex_);
        closing_ = true;
        awake_ = false;
    }
    sleeping_.notify_all();
    for (auto& helper : helpers_) helper.join();
}

bool Team::acquire() {
    if (helpers_.empty() || taken_.exchange(true)) return false;
    {
        std::lock_guard lock(mutex_);
        awake_ = true;
    }
    sleeping_.notify_all();
    return true;
}

void Team::release() {
    awake_ = false;
    taken_ = false;
}

void Team::run(int64_t pieces) {
    done_.store(0, std::memory_order_relaxed);
    const uint64_t job = (state_.load(std::memory_order_relaxed) >> 32) + 1;
    state_.store(job << 32 | uint64_t(pieces) << 16, std::memory_order_release);
    while (take_piece()) {
    }
    for (int spins = 0; done_.load(std::memory_order_acquire) < pieces; spins++) {
        pause();
        if (spins > SPINS) std::this_thread::yield();
    }
}

// Take the next piece and do it. Returns false if all are taken.
bool Team::take_piece() {
    uint64_t state = state_.load(std::memory_order_acquire);
    do {
        if ((state & 0xffff) >= (state >> 16 & 0xffff)) return false;
    } while (!state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel));
    call_(context_, int64_t(state & 0xffff));
    done_.fetch_add(1, std::memory_order_acq_rel);
    return true;
}

void Team::help() {
    while (true) {
        {
            std::unique_lock lock(mutex_);
            sleeping_.wait(lock, [this] { return closing_ || awake_; });
            if (closing_) return;
        }
        for (int spins = 0; awake_; spins++) {
            if (take_piece()) spins = 0;
            pause();
            if (spins > SPINS) std::this_thread::yield();
        }
    }
}

}  // namespace dragoman
