// Threads and locks of the standard library. WebAssembly has none here: an engine there has 0 threads, and locks are empty.
#pragma once

#include <mutex>

#if !defined(__wasm__)
#include <condition_variable>
#include <thread>
#else
#include <cstdlib>

namespace std {

struct mutex {
    void lock() {}
    void unlock() {}
};

struct condition_variable {
    void notify_all() {}
    template <class Lock, class Condition> void wait(Lock&, Condition) {}
    template <class Lock, class Time, class Condition> void wait_for(Lock&, Time, Condition) {}
};

struct thread {
    template <class Work> explicit thread(Work&&) { abort(); }
    void join() {}
};

namespace this_thread {
inline void yield() {}
}  // namespace this_thread

}  // namespace std
#endif
