#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace aana {

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

// The tenant, priority and deadline of a request, and whose computing it may use.
struct RequestTerms {
  std::string tenant;     // requests with an empty tenant share one tenant
  std::string cache_key;  // only requests with the same key use what was computed for each other
  int32_t priority = 0;   // a tenant's requests with a higher priority begin first
  double weight = 1;      // the tenant's part of the engine, beside the weights of other tenants
  Deadline deadline;      // none: the request has no time limit

  bool IsOverdue(std::chrono::steady_clock::time_point now) const { return deadline && *deadline <= now; }
};

// Returns the earlier of two deadlines.
inline Deadline Earlier(Deadline a, Deadline b) { return !a || (b && *b < *a) ? b : a; }

// The party whose mistake made a request fail.
enum class Fault {
  kCaller,      // no engine can serve the request
  kDeployment,  // the request was valid, but the engine failed
  kOverload,    // the engine had no time or no memory for it
  kCancelled,   // nobody waits for the answer any more
};

}  // namespace aana
