#include "sandbox/guest/ticker.h"

#include <ctime>

namespace aana::sandbox {

void Ticker::Run() {
  uint32_t quiet_ticks = 0;
  for (;;) {
    const timespec slice{0, 1'000'000};
    nanosleep(&slice, nullptr);
    plugin_.Tick();
    quiet_ticks = running_.load() == 0 ? quiet_ticks + 1 : 0;
    if (quiet_ticks > kRestAfter) running_.wait(0);
  }
}

}  // namespace aana::sandbox
