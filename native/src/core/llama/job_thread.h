#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "core/llama/event.h"
#include "core/llama/outbox.h"
#include "core/fair_share.h"
#include "core/thread_name.h"

namespace aana::llama {

// Does jobs of requests, one at a time, on a thread beside the one that decodes. Tenants take turns; of a tenant's jobs
// the one of the highest priority goes first, of those the oldest. IdOf(job) and TermsOf(job) say whose a job is.
template <class Job>
class JobThread {
 public:
  // `outbox` must outlive this.
  explicit JobThread(Outbox& outbox) : outbox_(outbox) {}
  // Drops what is left, and waits.
  ~JobThread() {
    Abandon();
    Join();
  }
  JobThread(const JobThread&) = delete;
  JobThread& operator=(const JobThread&) = delete;

  // Begins. `work(job)` does a job, or a part of it. `deliver(job, outcome)` gets what it returned, unless the job was
  // cancelled meanwhile, while nobody can cancel it; it returns whether the job has more parts. Neither may throw.
  template <class Work, class Deliver>
  void Start(const char* name, Work work, Deliver deliver) {
    thread_ = std::thread([this, name, work, deliver] {
      NameThread(name);
      while (auto next = TakeNext()) {
        auto outcome = work(next->job);
        Finish(std::move(*next), [&](Job& job) { return deliver(job, std::move(outcome)); });
      }
    });
  }

  // Any thread.
  void Post(Job job) {
    std::lock_guard lock(mutex_);
    if (is_stopped_) return outbox_.Post({Cancelled(IdOf(job))});
    waiting_.push_back({std::move(job), n_jobs_++});
    changed_.notify_one();
  }
  // False when there is no job of the request. Else it ends as cancelled, at the latest when its part is done.
  bool Cancel(RequestId id) {
    std::lock_guard lock(mutex_);
    if (current_ == id) return is_current_cancelled_ = true;
    const auto found = std::ranges::find_if(waiting_, [&](const Waiting& entry) { return IdOf(entry.job) == id; });
    if (found == waiting_.end()) return false;
    waiting_.erase(found);
    outbox_.Post({Cancelled(id)});
    return true;
  }
  // Ends what is here, and what comes later, as cancelled.
  void Stop() {
    std::lock_guard lock(mutex_);
    is_stopped_ = is_ending_ = true;
    if (current_) is_current_cancelled_ = true;
    for (const auto& entry : std::exchange(waiting_, {})) outbox_.Post({Cancelled(IdOf(entry.job))});
    changed_.notify_one();
  }
  // Waits for the thread, after Stop. Nothing is delivered afterwards.
  void Join() {
    if (thread_.joinable()) thread_.join();
  }
  // Stops without an end for any request: whoever posted them must end those that are open.
  void Abandon() {
    std::lock_guard lock(mutex_);
    is_ending_ = true;
    waiting_.clear();
    changed_.notify_one();
  }

  // On the thread: whether the job that it does is still wanted.
  bool IsWanted() {
    std::lock_guard lock(mutex_);
    return !is_current_cancelled_ && !is_ending_;
  }

 private:
  struct Waiting {
    Job job;
    uint64_t number = 0;
  };

  // Empty when the thread shall end.
  std::optional<Waiting> TakeNext() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_ending_ || !waiting_.empty(); });
    if (is_ending_) return std::nullopt;
    const auto rank = [&](const Waiting& entry) {
      const auto& terms = TermsOf(entry.job);
      return std::tuple(turns_.Rank(terms.tenant), -static_cast<int64_t>(terms.priority), entry.number);
    };
    const auto next = std::ranges::min_element(waiting_, {}, rank);
    Waiting taken = std::move(*next);
    waiting_.erase(next);
    turns_.Begin(TermsOf(taken.job).tenant);
    turns_.End(TermsOf(taken.job).tenant);
    current_ = IdOf(taken.job);
    is_current_cancelled_ = false;
    return taken;
  }

  template <class Deliver>
  void Finish(Waiting done, Deliver deliver) {
    std::lock_guard lock(mutex_);
    const auto id = *std::exchange(current_, std::nullopt);
    if (is_current_cancelled_) return outbox_.Post({Cancelled(id)});
    if (deliver(done.job)) waiting_.push_back(std::move(done));
  }

  Outbox& outbox_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Waiting> waiting_;
  std::optional<RequestId> current_;  // whose job is done
  bool is_current_cancelled_ = false;
  bool is_stopped_ = false;
  bool is_ending_ = false;
  uint64_t n_jobs_ = 0;
  FairShare turns_;
  std::thread thread_;  // last, because it uses all the others
};

}  // namespace aana::llama
