#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "core/fair_share.h"
#include "core/request_terms.h"

namespace aana::llama {

// Chooses whose work comes next. Tenants share the work by their weights, regardless of the number of their requests.
// Among a tenant's requests a higher priority goes first. A level of priority counts as 5 s since the last turn of a
// request, so every request gets its turns. Requests of the same priority get equal shares, so that a short one does
// not wait for a long one. Not thread-safe.
class FairLine {
 public:
  using Id = int64_t;
  using TimePoint = std::chrono::steady_clock::time_point;

  void Add(Id id, const RequestTerms& terms, TimePoint now);
  // Unknown ids are ignored.
  void Remove(Id id) { entries_.erase(id); }
  bool empty() const { return entries_.empty(); }

  // Returns the request that is next among those for which `is_ready(id)` is true.
  template <class IsReady>
  std::optional<Id> Next(TimePoint now, IsReady is_ready) const {
    std::optional<Id> next;
    Rank least;
    for (const auto& [id, entry] : entries_) {
      if (!is_ready(id)) continue;
      const auto rank = RankOf(entry, now);
      if (next && !(rank < least)) continue;
      next = id;
      least = rank;
    }
    return next;
  }

  // Notes a turn of the request and the work of this turn. Unknown ids are ignored.
  void Charge(Id id, uint64_t work, TimePoint now);

 private:
  struct Entry {
    std::string tenant;
    int32_t priority;
    double weight;
    uint64_t work = 0;
    uint64_t number;
    TimePoint last_turn;  // its arrival before the first turn
  };
  // The tenant's rank and name, the request's priority with its age, its work and its number; the least is next.
  using Rank = std::tuple<decltype(FairShare().Rank({})), std::string_view, int64_t, uint64_t, uint64_t>;

  Rank RankOf(const Entry& entry, TimePoint now) const;

  std::map<Id, Entry> entries_;
  FairShare shares_;
  uint64_t n_added_ = 0;
};

}  // namespace aana::llama
