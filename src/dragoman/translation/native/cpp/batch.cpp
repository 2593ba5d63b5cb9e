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

Engine::Engine(Models models, Average average, int threads)
    : models_(std::move(models)), average_(average), threads_(threads), team_(threads - 1) {}

Engine::~Engine() {
    {
        std::lock_guard lock(mutex_);
        closing_ = true;
    }
    waiting_.notify_all();
    for (auto& worker : workers_) worker.join();
}

std::shared_ptr<Session> Engine::begin(int64_t budget) {
    auto session = std::make_shared<Session>();
    session->budget = budget;
    return session;
}

void Engine::submit(std::vector<Job> jobs) {
    {
        std::lock_guard lock(mutex_);
        for (Job& job : jobs) queue_.push_back(std::move(job));
        try {
            while (int64_t(workers_.size()) < threads_) workers_.emplace_back([this] { work(); });
        } catch (const std::system_error&) {  // the system gives no more threads
            if (workers_.empty()) throw;
        }
    }
    waiting_.notify_all();
}

std::vector<Answer> Engine::collect(Session& session, int64_t most, int milliseconds) {
    std::unique_lock lock(mutex_);
    answered_.wait_for(lock, std::chrono::milliseconds(milliseconds), [&] { return !session.answers.empty(); });
    std::vector<Answer> answers;
    for (; !session.answers.empty() && int64_t(answers.size()) < most; session.answers.pop_front())
        answers.push_back(std::move(session.answers.front()));
    return answers;
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
    if (running.empty()) waiting_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    std::vector<Job> jobs;
    if (closing_) return jobs;
    // Leave a share for the other threads, so that none is idle at the end.
    const size_t share = (queue_.size() + threads_ - 1) / threads_;
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

void Engine::work() {
    std::deque<Transformer> transformers;
    for (const auto& model : models_) transformers.emplace_back(*model, closing_);
    Vocabulary vocabulary(transformers, average_);
    Pool pool;
    std::vector<Running> running;
    std::vector<std::vector<Row>> rows(transformers.size());  // by model
    std::vector<Scan*> scans;
    Help help(team_);
    while (true) {
        std::vector<Job> jobs = take(running);
        if (running.empty() && jobs.empty()) return;  // closing
        if (running.empty()) busy_++;
        for (Job& job : jobs) running.push_back({std::move(job), nullptr});
        try {
            int64_t live = 0;
            for (const Running& one : running) live += one.rows();
            help.want(live <= FEW_ROWS && busy_ == 1);
            std::vector<Search*> begun;
            for (Running& one : running) {
                if (one.search) continue;
                one.search = std::make_unique<Search>(std::move(one.job.request), transformers, pool);
                begun.push_back(one.search.get());
            }
            scans.clear();
            for (auto& each : rows) each.clear();
            for (size_t m = 0; m < transformers.size(); m++) {
                transformers[m].use(help.team());
                std::vector<Source*> sources;
                for (Search* search : begun) sources.push_back(&search->source(m));
                if (!sources.empty()) transformers[m].encode(sources);
            }
            for (Running& one : running) one.search->ask(rows, scans);
            for (size_t m = 0; m < transformers.size(); m++) transformers[m].step(rows[m]);
            vocabulary.answer(scans);
            auto finished = std::stable_partition(running.begin(), running.end(),
                                                  [](Running& one) { return one.search->advance(); });
            for (auto one = finished; one != running.end(); ++one) {
                Answer result;
                result.failed = one->search->failed();
                result.hypotheses = one->search->finish();
                answer(one->job, std::move(result));
            }
            running.erase(finished, running.end());
        } catch (const Closing&) {
            return;
        } catch (const std::exception&) {  // memory ran out
            for (Running& one : running) {
                Answer failure;
                failure.exhausted = true;
                answer(one.job, std::move(failure));
            }
            running.clear();
        }
        std::unique_lock lock(mutex_);
        if (closing_) return;
        running.erase(std::remove_if(running.begin(), running.end(),
                                     [](const Running& one) { return one.job.session->cancelled; }),
                      running.end());
        if (running.empty()) {
            busy_--;
            help.want(false);
        }
    }
}

}  // namespace dragoman
