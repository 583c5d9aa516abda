#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace aana::compute {

// Threads that help the calling thread with the parts of many short pieces of work, one piece after another. Whoever is
// free takes the next part, so a helper whose processor another program uses delays a piece by at most one part.
// Waiting threads look for work for some microseconds, then let other threads go first, and soon sleep. One caller at a
// time.
class WorkTeam {
 public:
  // Starts `n_helpers` threads, or as many of them as the system allows.
  explicit WorkTeam(int n_helpers);
  // Waits for the threads.
  ~WorkTeam();
  WorkTeam(const WorkTeam&) = delete;
  WorkTeam& operator=(const WorkTeam&) = delete;

  // Whether pieces of work follow one another. Otherwise the helpers sleep between them.
  void SetExpecting(bool is_expecting);

  // Must not throw.
  using Work = void (*)(void* data, int part, int n_parts);
  // Does all parts, at most kMostParts, in any order, and returns after the last one.
  void Run(int n_parts, Work work, void* data);

  static constexpr int kMostParts = (1 << 16) - 1;

 private:
  void Help();
  // Does a part that nobody has taken. Returns false if there is none.
  bool TakePart();
  void WakeHelpers();

  // What is to be done: the number of the piece, its parts, and the next part that nobody has taken. A thread takes a
  // part by counting it, which fails if it saw an earlier piece.
  std::atomic<uint64_t> ticket_{0};
  std::atomic<int> n_done_{0};
  // Set before the ticket, and read by threads that have taken a part.
  Work work_ = nullptr;
  void* data_ = nullptr;

  std::atomic<bool> is_expecting_{false};
  std::atomic<bool> is_stopping_{false};
  std::atomic<int> n_sleeping_{0};
  std::atomic<uint32_t> n_wakes_{0};  // helpers sleep until it changes
  std::vector<std::thread> helpers_;  // last: they use all the others
};

}  // namespace aana::compute
