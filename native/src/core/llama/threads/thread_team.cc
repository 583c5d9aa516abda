#include "core/llama/threads/thread_team.h"

#include <algorithm>
#include <exception>

#include "core/thread_name.h"

namespace aana::llama {

ThreadTeam::ThreadTeam(size_t n_helpers) {
  threads_.reserve(n_helpers);
  try {
    while (threads_.size() < n_helpers) threads_.emplace_back([this, thread = threads_.size() + 1] { Help(thread); });
  } catch (const std::exception&) {
    // The caller and the threads that did start do all the work.
  }
}

ThreadTeam::~ThreadTeam() {
  {
    std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  begun_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void ThreadTeam::Run(size_t n_parts, size_t n_wanted, const Work& work) {
  std::unique_lock lock(mutex_);
  work_ = &work;
  n_parts_ = n_parts;
  n_taken_ = n_done_ = 0;
  n_wanted_ = std::min(n_wanted, threads_.size());
  for (size_t i = 0; i < n_wanted_; i++) begun_.notify_one();
  TakeParts(lock, 0);
  // A helper that wakes later finds nothing to take, so nobody waits for it.
  done_.wait(lock, [this] { return n_done_ == n_parts_; });
  n_parts_ = n_taken_ = n_done_ = 0;
}

void ThreadTeam::Help(size_t thread) {
  NameThread("aana-sampling");
  std::unique_lock lock(mutex_);
  while (true) {
    begun_.wait(lock, [this] { return is_stopping_ || (n_taken_ < n_parts_ && n_wanted_ > 0); });
    if (is_stopping_) return;
    n_wanted_--;
    TakeParts(lock, thread);
  }
}

void ThreadTeam::TakeParts(std::unique_lock<std::mutex>& lock, size_t thread) {
  while (n_taken_ < n_parts_) {
    const size_t part = n_taken_++;
    lock.unlock();
    (*work_)(part, thread);
    lock.lock();
    if (++n_done_ == n_parts_) done_.notify_one();
  }
}

}  // namespace aana::llama
