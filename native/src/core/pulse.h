#pragma once

#include <atomic>
#include <cstdint>

namespace aana {

// Tells whether an engine that has work gets on with it: it beats many times in a step, so that a slow step is not taken for a hang.
// Any thread.
class Pulse {
 public:
  void Beat() { beats_.fetch_add(1, std::memory_order_relaxed); }
  uint64_t beats() const { return beats_.load(std::memory_order_relaxed); }

  // While one lives, the engine does what may take long and cannot beat.
  class Pause {
   public:
    explicit Pause(Pulse& pulse) : pulse_(pulse) { pulse_.pauses_++; }
    ~Pause() { pulse_.pauses_--; }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    Pulse& pulse_;
  };
  bool is_paused() const { return pauses_ > 0; }

 private:
  std::atomic<uint64_t> beats_{0};
  std::atomic<int> pauses_{0};
};

}  // namespace aana
