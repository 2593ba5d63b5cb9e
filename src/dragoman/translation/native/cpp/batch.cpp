#include "batch.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <system_error>

namespace dragoman {
namespace {

constexpr int64_t FEW_ROWS = 16;         // of a batch that the other threads help with, if they have no batch
constexpr int64_t MOST_ROWS = 64;        // of a step: with more, keys and values do not stay in the cache
constexpr int64_t MOST_ENCODED = 1024;   // source tokens that are encoded together

// The team of an engine, while one thread has it.
class Help {
  public:
    explicit Help(Team& team) : team_(team) {}
    ~Help() { want(false); }
    void want(bool wanted) {
        if (wanted == here_) return;
        if (wanted)
            here_ = team_.acquire();
        else
            team_.release(), here_ = false;
    }
    Team* team() { return here_ ? &team_ : nullptr; }

  private:
    Team& team_;
    bool here_ = false;
};

}  // namespace

std::shared_ptr<Session> Engine::begin(int64_t budget) {
    auto session = std::make_shared<Session>();
    session->budget = budget;
    return session;
}

void Engine::cancel(Session& session) {
    std::lock_guard lock(mutex_);
    session.cancelled = true;
    session.answers.clear();
    queue_.erase(std::remove_if(queue_.begin(), queue_.end(), [](const Job& job) { return job.session->cancelled; }),
                 queue_.end());
}

// Take sentences from the queue for the free rows of a batch. Waits if the batch is empty.
std::vector<Job> Engine::take(const std::vector<Running>& running) {
    int64_t rows = 0, tokens = 0;
    for (const Running& one : running) {
        rows += one.rows();
        tokens += one.search->tokens();
    }
    std::unique_lock lock(mutex_);
    if (running.empty() && threads_) waiting_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    std::vector<Job> jobs;
    if (closing_) return jobs;
    // Leave a share for the other threads, so that none is idle at the end.
    const size_t threads = size_t(std::max(threads_, 1)), share = (queue_.size() + threads - 1) / threads;
    int64_t encoded = 0;
    while (!queue_.empty() && jobs.size() < share) {
        const Request& request = queue_.front().request;
        const int64_t length = int64_t(request.source.size()), more = length * request.rows();
        const bool alone = running.empty() && jobs.empty();  // a sentence that is too large runs alone
        if (!alone && (rows + request.rows() > MOST_ROWS || tokens + more > queue_.front().session->budget ||
                       encoded + length > MOST_ENCODED))
            break;
        rows += request.rows(), tokens += more, encoded += length;
        jobs.push_back(std::move(queue_.front()));
        queue_.pop_front();
    }
    return jobs;
}

void Engine::answer(const Job& job, Answer answer) {
    answer.number = job.number;
    {
        std::lock_guard lock(mutex_);
        if (!job.session->cancelled) job.session->answers.push_back(std::move(answer));
    }
    answered_.notify_all();
}

// A batch and what it needs.
class Engine::Worker {
  public:
    explicit Worker(Engine& engine) : engine_(engine), transformers_(started(engine)), vocabulary_(transformers_, engine.average_),
                                      rows_(transformers_.size()), help_(engine.team_) {}

    // Continue each translation of the batch by a token. Returns false if there is nothing to do: the engine is closing,
    // or has no threads that could wait.
    bool step() {
        std::vector<Job> jobs = engine_.take(running_);
        if (running_.empty() && jobs.empty()) return false;
        if (running_.empty()) engine_.busy_++;
        for (Job& job : jobs) running_.push_back({std::move(job), nullptr});
        try {
            advance();
        } catch (const Closing&) {
            return false;
        } catch (const std::exception&) {  // memory ran out
            for (Running& one : running_) {
                Answer failure;
                failure.exhausted = true;
                engine_.answer(one.job, std::move(failure));
            }
            running_.clear();
        }
        std::unique_lock lock(engine_.mutex_);
        if (engine_.closing_) return false;
        running_.erase(std::remove_if(running_.begin(), running_.end(),
                                      [](const Running& one) { return one.job.session->cancelled; }),
                       running_.end());
        if (running_.empty()) {
            engine_.busy_--;
            help_.want(false);
            lock.unlock();
            pool_.clear();
            for (Transformer& transformer : transformers_) transformer.shrink();
        }
        return true;
    }

  private:
    static std::deque<Transformer> started(Engine& engine) {
        std::deque<Transformer> transformers;
        for (const auto& model : engine.models_) transformers.emplace_back(*model, engine.closing_);
        return transformers;
    }

    void advance() {
        int64_t live = 0;
        for (const Running& one : running_) live += one.rows();
        help_.want(live <= FEW_ROWS && engine_.busy_ == 1);
        std::vector<Search*> begun;
        for (Running& one : running_) {
            if (one.search) continue;
            one.search = std::make_unique<Search>(std::move(one.job.request), transformers_, pool_);
            begun.push_back(one.search.get());
        }
        scans_.clear();
        for (auto& each : rows_) each.clear();
        for (size_t m = 0; m < transformers_.size(); m++) {
            transformers_[m].use(help_.team());
            std::vector<Source*> sources;
            for (Search* search : begun) sources.push_back(&search->source(m));
            if (!sources.empty()) transformers_[m].encode(sources);
        }
        for (Running& one : running_) one.search->ask(rows_, scans_);
        for (size_t m = 0; m < transformers_.size(); m++) transformers_[m].step(rows_[m]);
        vocabulary_.answer(scans_);
        auto finished = std::stable_partition(running_.begin(), running_.end(),
                                              [](Running& one) { return one.search->advance(); });
        for (auto one = finished; one != running_.end(); ++one) {
            Answer result;
            result.failed = one->search->failed();
            result.hypotheses = one->search->finish();
            engine_.answer(one->job, std::move(result));
        }
        running_.erase(finished, running_.end());
    }

    Engine& engine_;
    std::deque<Transformer> transformers_;
    Vocabulary vocabulary_;
    Pool pool_;
    std::vector<Running> running_;
    std::vector<std::vector<Row>> rows_;  // by model
    std::vector<Scan*> scans_;
    Help help_;
};

Engine::Engine(Models models, Average average, int threads)
    : models_(std::move(models)), average_(average), threads_(threads), team_(threads - 1) {
    if (!threads_) own_ = std::make_unique<Worker>(*this);
}

Engine::~Engine() {
    {
        std::lock_guard lock(mutex_);
        closing_ = true;
    }
    waiting_.notify_all();
    for (auto& worker : workers_) worker.join();
}

void Engine::submit(std::vector<Job> jobs) {
    {
        std::lock_guard lock(mutex_);
        for (Job& job : jobs) queue_.push_back(std::move(job));
        auto work = [this] {
            Worker worker(*this);
            while (worker.step()) {
            }
        };
        try {
            while (int64_t(workers_.size()) < threads_) workers_.emplace_back(work);
        } catch (const std::system_error&) {  // the system gives no more threads
            if (workers_.empty()) throw;
        }
    }
    waiting_.notify_all();
}

std::vector<Answer> Engine::collect(Session& session, int64_t most, int milliseconds) {
    const auto patience = std::chrono::milliseconds(milliseconds);
    if (own_) {
        const auto end = std::chrono::steady_clock::now() + patience;
        while (session.answers.empty() && std::chrono::steady_clock::now() < end && own_->step()) {
        }
    }
    std::unique_lock lock(mutex_);
    if (!own_) answered_.wait_for(lock, patience, [&] { return !session.answers.empty(); });
    std::vector<Answer> answers;
    for (; !session.answers.empty() && int64_t(answers.size()) < most; session.answers.pop_front())
        answers.push_back(std::move(session.answers.front()));
    return answers;
}

}  // namespace dragoman
