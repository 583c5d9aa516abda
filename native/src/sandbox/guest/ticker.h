#pragma once

#include <atomic>
#include <cstdint>

#include "sandbox/guest/plugin.h"

namespace aana::sandbox {

// Ends the slices of running guests every millisecond. It rests while no thread has run a guest for some ticks.
class Ticker {
 public:
  explicit Ticker(Plugin& plugin) : plugin_(plugin) {}

  // Called by a thread before it runs guests.
  void Wake() {
    if (quiet_ticks_.exchange(0, std::memory_order_relaxed) <= kRestAfter) return;
    quiet_ticks_.notify_one();
  }
  // Runs for ever.
  [[noreturn]] void Run();

 private:
  static constexpr uint32_t kRestAfter = 20;

  Plugin& plugin_;
  std::atomic<uint32_t> quiet_ticks_ = 0;
};

}  // namespace aana::sandbox
