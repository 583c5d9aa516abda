#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace aana {

// Chooses whose work comes next. Tenants get equal shares of the work, regardless of the number of their requests. Among a tenant's requests
// a higher priority goes first; requests of the same priority get equal shares, so that a short one does not wait for a long one. Not
// thread-safe.
class FairLine {
 public:
  using Id = int64_t;

  void Add(Id id, const std::string& tenant, int32_t priority);
  // Unknown ids are ignored.
  void Remove(Id id);
  bool empty() const { return entries_.empty(); }
  // Tenants whose work is remembered.
  size_t n_tenants() const { return tenants_.size(); }

  // Returns the request that is next among those for which `is_ready(id)` is true.
  template <class IsReady>
  std::optional<Id> Next(IsReady is_ready) const {
    const std::pair<const Id, Entry>* next = nullptr;
    for (const auto& entry : entries_) {
      if ((!next || IsBefore(entry.second, next->second)) && is_ready(entry.first)) next = &entry;
    }
    return next ? std::optional(next->first) : std::nullopt;
  }

  // Notes work that was done for the request.
  void Charge(Id id, uint64_t work);

 private:
  struct Tenant {
    uint64_t work = 0;
    size_t n_requests = 0;
  };
  struct Entry {
    std::string tenant_name;
    Tenant* tenant;  // in tenants_, which keeps it while n_requests is not 0
    int32_t priority;
    uint64_t work = 0;
    uint64_t number;
  };

  static bool IsBefore(const Entry& a, const Entry& b);
  // Returns the work of the waiting tenant that got least.
  uint64_t LeastWork() const;

  std::map<Id, Entry> entries_;
  std::unordered_map<std::string, Tenant> tenants_;
  uint64_t n_added_ = 0;
};

}  // namespace aana
