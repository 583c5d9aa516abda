#pragma once

#include <atomic>
#include <cstdint>

namespace aana {

// Shows whether an engine with work makes progress. It beats many times in a step, so that a slow step is not mistaken
// for a hang. Any thread.
class Pulse {
 public:
  void Beat() { beats_.fetch_add(1, std::memory_order_relaxed); }
  uint64_t beats() const { return beats_.load(std::memory_order_relaxed); }

  // While a Pause lives, the engine does work that may take long and cannot beat.
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
