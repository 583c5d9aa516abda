#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace aana::llama {

// Threads that help the calling thread with independent parts of its work. They sleep in between. One caller at a time.
class ThreadTeam {
 public:
  // Starts `n_helpers` threads, or as many of them as the system allows.
  explicit ThreadTeam(size_t n_helpers);
  // Waits for the threads.
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  size_t n_helpers() const { return threads_.size(); }

  // Gets the part, and the number of the thread that does it: 0 is the caller, 1 to n_helpers() are the others. Must
  // not throw.
  using Work = std::function<void(size_t part, size_t thread)>;
  // Does all parts, in any order, on the caller and at most `n_wanted` helpers, and returns after the last one.
  void Run(size_t n_parts, size_t n_wanted, const Work& work);

 private:
  void Help(size_t thread);
  // Does parts until all are taken. `lock` is held before and after.
  void TakeParts(std::unique_lock<std::mutex>& lock, size_t thread);

  std::mutex mutex_;
  std::condition_variable begun_;
  std::condition_variable done_;
  const Work* work_ = nullptr;
  size_t n_parts_ = 0;
  size_t n_taken_ = 0;
  size_t n_done_ = 0;
  size_t n_wanted_ = 0;  // helpers that may still join
  bool is_stopping_ = false;
  std::vector<std::thread> threads_;  // last: they use all the others
};

}  // namespace aana::llama
