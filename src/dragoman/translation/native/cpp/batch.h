// Continuous batching: one queue of sentences, and threads that translate them, or with 0 threads whoever collects.
//
// Each thread has a batch of its own. When a sentence is finished, the next of the queue takes its place at the next
// step. A session is one caller's sentences; the batches are shared by all sessions. Several models may translate
// together, as an ensemble.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <vector>

#include "search.h"
#include "threads.h"

namespace dragoman {

// The translations of one request, or the reason why it has failed.
struct Answer {
    int64_t number = 0;
    std::vector<Hypothesis> hypotheses;
    int64_t failed = -1;     // the tokens after which the model gave no probabilities
    bool exhausted = false;  // memory ran out
};

struct Session {
    int64_t budget = 4096;  // source tokens in a batch, rows counted
    bool cancelled = false;
    std::deque<Answer> answers;
};

struct Job {
    std::shared_ptr<Session> session;
    int64_t number;
    Request request;
};

// Read a request: a head (api.cpp) and its lists in `numbers`, and in `fractions` the length penalty, temperature and top p.
Request read_request(const int32_t*& numbers, const double*& fractions);

using Models = std::vector<std::shared_ptr<const Model>>;  // with the same vocabularies

class Engine {
  public:
    Engine(Models models, Average average, int threads);
    ~Engine();

    const Models& models() const { return models_; }
    std::shared_ptr<Session> begin(int64_t budget);
    void submit(std::vector<Job> jobs);
    // Return the answers of a session so far, at most `most`. Without any, wait up to `milliseconds` for one. With 0
    // threads, translate that long instead, for one caller at a time.
    std::vector<Answer> collect(Session& session, int64_t most, int milliseconds);
    // Drop the rest of a session.
    void cancel(Session& session);

  private:
    struct Running {
        Job job;  // its request moves to the search
        std::unique_ptr<Search> search;
        int64_t rows() const { return search ? search->request().rows() : job.request.rows(); }
    };
    class Worker;

    std::vector<Job> take(const std::vector<Running>& running);
    void answer(const Job& job, Answer answer);

    const Models models_;
    const Average average_;
    const int threads_;
    Team team_;
    std::atomic<int> busy_{0};  // threads with a batch
    std::mutex mutex_;
    std::condition_variable waiting_, answered_;
    std::deque<Job> queue_;
    std::vector<std::thread> workers_;
    std::atomic<bool> closing_{false};
    std::unique_ptr<Worker> own_;  // with 0 threads
};

}  // namespace dragoman
