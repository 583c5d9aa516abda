#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

namespace aana {

// Shares an engine evenly among tenants, whatever the number and the priority of their requests. One thread at a time.
class TenantTurns {
 public:
  // The tenant with the least rank is next: the one that has the fewest places, then the one whose last turn is the longest ago.
  std::pair<size_t, uint64_t> Rank(const std::string& tenant) const {
    const auto found = by_name_.find(tenant);
    return found == by_name_.end() ? std::pair<size_t, uint64_t>() : std::pair(found->second.n_places, found->second.last_turn);
  }

  // A request of the tenant got a place, and gave it back.
  void Begin(const std::string& tenant) {
    auto& turns = by_name_[tenant];
    turns.n_places++;
    turns.last_turn = ++n_turns_;
  }
  void End(const std::string& tenant) {
    by_name_[tenant].n_places--;
    if (by_name_.size() > kMaxRemembered) std::erase_if(by_name_, [](const auto& entry) { return entry.second.n_places == 0; });
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
