#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace aana::llama {

// A level of priority counts as so much waiting, so that no priority lets a request wait for ever.
constexpr auto kWaitOfPriority = std::chrono::seconds(5);
// Priorities further from 0 count as this one.
constexpr int32_t kMostPriority = 24;

inline int32_t WithinLevels(int32_t priority) { return std::clamp(priority, -kMostPriority, kMostPriority); }

// Returns when a request that waits since `since` would have come with the priority 0.
inline std::chrono::steady_clock::time_point VirtualArrival(std::chrono::steady_clock::time_point since,
                                                            int32_t priority) {
  return since - kWaitOfPriority * WithinLevels(priority);
}

// Returns the priority of a request that has waited so long, with a level for each kWaitOfPriority.
inline int64_t AgedPriority(int32_t priority, std::chrono::steady_clock::duration waited) {
  return WithinLevels(priority) + waited / kWaitOfPriority;
}

}  // namespace aana::llama
