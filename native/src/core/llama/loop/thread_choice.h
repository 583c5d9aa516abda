#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace aana::llama {

// Decides on how many threads the tokens of a step are chosen. The measured time of earlier choices tells how much work
// a step has. Each thread gets at least a certain share of it, because waking a thread takes time. Several threads that
// were not faster than one, for instance because other programs use the processors, are not tried again for a while.
class ThreadChoice {
 public:
  using Seconds = std::chrono::duration<double>;

  // At most `n_most` threads, each with work of at least `least_work`.
  ThreadChoice(size_t n_most, Seconds least_work) : n_most_(n_most), least_work_(least_work) {}

  // Returns the number of threads for a step in which `n_sequences` need tokens.
  size_t Next(size_t n_sequences) {
    const size_t n_useful = std::min(n_most_, n_sequences);
    if (n_useful < 2) return 1;
    if (n_paused_ > 0) {
      n_paused_--;
      return 1;
    }
    const Seconds work = per_sequence_ * static_cast<double>(n_sequences);
    size_t n_threads = 1;
    while (n_threads < n_useful && least_work_ * static_cast<double>(n_threads + 1) <= work) n_threads++;
    return n_threads;
  }

  // The tokens of `n_sequences` took the threads together `work` of processor time, and the step `elapsed`.
  void Learn(size_t n_threads, size_t n_sequences, Seconds work, Seconds elapsed) {
    if (n_sequences == 0) return;
    const Seconds mean = work / static_cast<double>(n_sequences);
    per_sequence_ = per_sequence_.count() > 0 ? 0.7 * per_sequence_ + 0.3 * mean : mean;
    if (n_threads == 1) return;
    n_slow_ = elapsed * kLeastGain > work ? n_slow_ + 1 : 0;
    if (n_slow_ < kMostSlow) return;
    n_slow_ = 0;
    n_paused_ = kPauseSteps;
  }

 private:
  static constexpr double kLeastGain = 1.1;
  static constexpr int kMostSlow = 4;  // steps in a row
  static constexpr int kPauseSteps = 256;

  size_t n_most_;
  Seconds least_work_;
  Seconds per_sequence_{0};  // 0: not known
  int n_slow_ = 0;
  int n_paused_ = 0;
};

}  // namespace aana::llama
