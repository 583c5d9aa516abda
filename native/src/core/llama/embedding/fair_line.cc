#include "core/llama/embedding/fair_line.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <tuple>

namespace aana {

void FairLine::Add(Id id, const std::string& tenant, int32_t priority) {
  const bool is_new = !tenants_.contains(tenant);
  const uint64_t least = LeastWork();
  auto& its = tenants_[tenant];
  // Time without requests earns no share of later work.
  if (is_new || its.n_requests == 0) its.work = std::max(its.work, least);
  // A request begins beside the one that got least, or a long one would wait for all that come later.
  uint64_t work = std::numeric_limits<uint64_t>::max();
  for (const auto& [other, entry] : entries_) {
    if (entry.tenant == &its && entry.priority == priority) work = std::min(work, entry.work);
  }
  if (work == std::numeric_limits<uint64_t>::max()) work = 0;
  its.n_requests++;
  entries_.insert_or_assign(id, Entry{tenant, &its, priority, work, n_added_++});
}

void FairLine::Remove(Id id) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  found->second.tenant->n_requests--;
  entries_.erase(found);
  if (entries_.empty()) return tenants_.clear();
  // A tenant that got more than the others have yet must not lose its debt by a pause.
  const uint64_t least = LeastWork();
  std::erase_if(tenants_, [&](const auto& tenant) { return tenant.second.n_requests == 0 && tenant.second.work <= least; });
}

void FairLine::Charge(Id id, uint64_t work) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  found->second.work += work;
  found->second.tenant->work += work;
}

bool FairLine::IsBefore(const Entry& a, const Entry& b) {
  const auto rank = [](const Entry& entry) {
    return std::tuple(entry.tenant->work, std::string_view(entry.tenant_name), -static_cast<int64_t>(entry.priority), entry.work, entry.number);
  };
  return rank(a) < rank(b);
}

uint64_t FairLine::LeastWork() const {
  uint64_t least = std::numeric_limits<uint64_t>::max();
  for (const auto& [name, tenant] : tenants_) {
    if (tenant.n_requests > 0) least = std::min(least, tenant.work);
  }
  return least == std::numeric_limits<uint64_t>::max() ? 0 : least;
}

}  // namespace aana
