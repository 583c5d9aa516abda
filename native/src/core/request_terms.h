#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace aana {

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

// For whom a request is computed, and until when its answer is of use.
struct RequestTerms {
  std::string tenant;    // empty: nobody in particular, which is a tenant like any other
  int32_t priority = 0;  // higher is sooner, among the requests of the tenant
  Deadline deadline;     // none: it may take as long as it takes

  bool IsOverdue(std::chrono::steady_clock::time_point now) const { return deadline && *deadline <= now; }
};

// The earlier of two.
inline Deadline Earlier(Deadline a, Deadline b) { return !a || (b && *b < *a) ? b : a; }

// Whose mistake it is that a request failed.
enum class Fault {
  kCaller,      // the request cannot be served, here or elsewhere
  kDeployment,  // the request was fine, the engine failed
  kOverload,    // the engine had no time or no room for it
  kCancelled,   // nobody wants the answer any more
};

}  // namespace aana
