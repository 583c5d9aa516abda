#include "sandbox/guest/ticker.h"

#include <ctime>

namespace aana::sandbox {

void Ticker::Run() {
  for (;;) {
    const timespec slice{0, 1'000'000};
    nanosleep(&slice, nullptr);
    plugin_.Tick();
    uint32_t ticks = quiet_ticks_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (ticks <= kRestAfter) continue;
    // Waits until a thread has set it to 0.
    while (ticks > kRestAfter) {
      quiet_ticks_.wait(ticks);
      ticks = quiet_ticks_.load(std::memory_order_relaxed);
    }
  }
}

}  // namespace aana::sandbox
