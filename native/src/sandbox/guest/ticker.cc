#include "sandbox/guest/ticker.h"

#include <chrono>
#include <ctime>

namespace aana::sandbox {

void Ticker::Run() {
  uint32_t quiet_ticks = 0;
  for (;;) {
    const timespec slice{0, 1'000'000};
    nanosleep(&slice, nullptr);
    plugin_.Tick();
    quiet_ticks = running_.load() == 0 ? quiet_ticks + 1 : 0;
    if (quiet_ticks > kRestAfter) Rest();
  }
}

void Ticker::Rest() {
  constexpr auto kKeep = std::chrono::seconds(3);
  is_resting_ = true;
  // A thread that began before does not wake it.
  if (running_.load() > 0 && is_resting_.exchange(false)) return;
  if (wake_.try_acquire_for(kKeep)) return;
  plugin_.Rest();
  wake_.acquire();
}

}  // namespace aana::sandbox
