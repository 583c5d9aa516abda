#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

namespace aana {

// Shares an engine evenly among tenants, regardless of the number and priority of their requests. Not thread-safe.
class TenantTurns {
 public:
  // Returns the tenant's rank. The tenant with the lowest rank is next: the tenant with the fewest places, and among
  // those the tenant whose last turn is the longest ago.
  std::pair<size_t, uint64_t> Rank(const std::string& tenant) const {
    const auto found = by_name_.find(tenant);
    return found == by_name_.end() ? std::pair<size_t, uint64_t>()
                                   : std::pair(found->second.n_places, found->second.last_turn);
  }

  // Call Begin when a request of the tenant gets a place, and End when it gives the place back.
  void Begin(const std::string& tenant) {
    auto& turns = by_name_[tenant];
    turns.n_places++;
    turns.last_turn = ++n_turns_;
  }
  void End(const std::string& tenant) {
    by_name_[tenant].n_places--;
    if (by_name_.size() > kMaxRemembered)
      std::erase_if(by_name_, [](const auto& entry) { return entry.second.n_places == 0; });
  }

 private:
  static constexpr size_t kMaxRemembered = 4096;

  struct Turns {
    size_t n_places = 0;
    uint64_t last_turn = 0;
  };
  std::unordered_map<std::string, Turns> by_name_;
  uint64_t n_turns_ = 0;
};

}  // namespace aana
