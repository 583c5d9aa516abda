#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <unordered_map>

namespace aana::llama {

// Divides an engine among tenants by their weights (start-time fair queuing). The virtual time of a tenant is what was computed for it, in tokens,
// divided by its weight. The tenant with the least virtual time is next. A tenant that comes back begins at the present virtual time,
// so idle time gives no credit. Not thread-safe.
class FairShare {
 public:
  // The tenant with the lowest rank is next; with equal times the tenant with the fewest places, then the one whose last turn is the longest ago.
  std::tuple<double, size_t, uint64_t> Rank(const std::string& tenant) const {
    const auto found = by_name_.find(tenant);
    if (found == by_name_.end()) return {now_, 0, 0};
    return {TimeOf(found->second), found->second.n_places, found->second.last_turn};
  }

  // A request of the tenant gets a place.
  void Begin(const std::string& tenant) {
    auto& share = by_name_[tenant];
    share.time = TimeOf(share);
    now_ = std::max(now_, share.time);
    share.n_places++;
    share.last_turn = ++n_turns_;
  }
  // A request of the tenant gives its place back.
  void End(const std::string& tenant) {
    by_name_[tenant].n_places--;
    if (by_name_.size() > kMaxRemembered) std::erase_if(by_name_, [&](const auto& entry) { return entry.second.n_places == 0 && entry.second.time <= now_; });
  }
  // The engine computes for the tenant what takes as long as `n_tokens`, or less than it was charged for when negative. The tenant has a place.
  void Charge(const std::string& tenant, double weight, double n_tokens) { by_name_[tenant].time += n_tokens / weight; }

 private:
  static constexpr size_t kMaxRemembered = 4096;

  struct Share {
    double time = 0;
    size_t n_places = 0;
    uint64_t last_turn = 0;
  };

  double TimeOf(const Share& share) const { return share.n_places > 0 ? share.time : std::max(share.time, now_); }

  std::unordered_map<std::string, Share> by_name_;
  double now_ = 0;  // the virtual time of the tenant whose request began last
  uint64_t n_turns_ = 0;
};

}  // namespace aana::llama
