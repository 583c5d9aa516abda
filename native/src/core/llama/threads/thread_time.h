#pragma once

#include <chrono>
#include <ctime>

namespace aana::llama {

// Returns the time that this thread has computed. It does not grow while other programs have the processor, except on
// Windows.
inline std::chrono::nanoseconds ThreadTime() {
#ifdef _WIN32
  return std::chrono::steady_clock::now().time_since_epoch();
#else
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
#endif
}

}  // namespace aana::llama
