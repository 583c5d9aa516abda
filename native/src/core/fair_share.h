#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <unordered_map>

namespace aana {

// Divides an engine among tenants by their weights (start-time fair queuing). The virtual time of a tenant is what was
// computed for it, in tokens, divided by its weight. The tenant with the least virtual time is next. A tenant that
// comes back begins at the present virtual time, which is the least of those that have or want something, so idle time
// gives no credit. Where nothing is charged, tenants have equal parts of the places, whatever their requests take. Not
// thread-safe.
class FairShare {
 public:
  // The tenant with the lowest rank is next; with equal times the tenant with the fewest places, then the one whose
  // last turn is the longest ago.
  std::tuple<double, size_t, uint64_t> Rank(const std::string& tenant) const {
    const auto found = by_name_.find(tenant);
    if (found == by_name_.end()) return {now_, 0, 0};
    return {TimeOf(found->second), found->second.n_places, found->second.last_turn};
  }

  // Whether a request of `holder`, which has a place, makes room for one of `waiter`, which waits: more was computed
  // for the holder, and it has more places for its weight. Without the second, a waiter with a short request would
  // interrupt one whose long prompt was charged just now.
  bool YieldsTo(const std::string& holder, const std::string& waiter, double waiter_weight) const {
    const auto found = by_name_.find(holder);
    if (holder == waiter || found == by_name_.end()) return false;
    const auto& [time, n_places, last_turn, weight] = found->second;
    const auto rank = Rank(waiter);
    const auto n_waiter_places = static_cast<double>(std::get<1>(rank));
    return rank < std::tuple(time, n_places - 1, last_turn) &&
           n_waiter_places / waiter_weight < static_cast<double>(n_places) / weight;
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
    if (by_name_.size() > kMaxRemembered)
      std::erase_if(by_name_,
                    [&](const auto& entry) { return entry.second.n_places == 0 && entry.second.time <= now_; });
  }
  // The engine computes for the tenant what takes as long as `n_tokens`, or less than it was charged for when negative.
  // The tenant has a place.
  void Charge(const std::string& tenant, double weight, double n_tokens) {
    auto& share = by_name_[tenant];
    share.time += n_tokens / weight;
    share.weight = weight;
  }
  // Moves the present virtual time on. `waiting` are sequences that have no place.
  template <class Waiting>
  void Advance(const Waiting& waiting) {
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [name, share] : by_name_) {
      if (share.n_places > 0) least = std::min(least, share.time);
    }
    for (const auto& sequence : waiting) least = std::min(least, std::get<0>(Rank(sequence->terms().tenant)));
    if (std::isfinite(least)) now_ = std::max(now_, least);
  }

 private:
  static constexpr size_t kMaxRemembered = 4096;

  struct Share {
    double time = 0;
    size_t n_places = 0;
    uint64_t last_turn = 0;
    double weight = 1;  // of its last request
  };

  double TimeOf(const Share& share) const { return share.n_places > 0 ? share.time : std::max(share.time, now_); }

  std::unordered_map<std::string, Share> by_name_;
  double now_ = 0;  // the present virtual time
  uint64_t n_turns_ = 0;
};

}  // namespace aana
