#include "core/llama/embedding/fair_line.h"

#include <algorithm>
#include <limits>

#include "core/llama/schedule/ageing.h"

namespace aana::llama {

void FairLine::Add(Id id, const RequestTerms& terms, TimePoint now) {
  // A request begins beside the one that got least, or a long one would wait for all that come later.
  uint64_t work = std::numeric_limits<uint64_t>::max();
  for (const auto& [other, entry] : entries_) {
    if (entry.tenant == terms.tenant && entry.priority == terms.priority) work = std::min(work, entry.work);
  }
  if (work == std::numeric_limits<uint64_t>::max()) work = 0;
  entries_.insert_or_assign(id, Entry{terms.tenant, terms.priority, terms.weight, work, n_added_++, now});
}

void FairLine::Charge(Id id, uint64_t work, TimePoint now) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  auto& entry = found->second;
  entry.work += work;
  entry.last_turn = now;
  // The tenant has a place only during its turn, so that its virtual time goes on where others are served meanwhile.
  shares_.Begin(entry.tenant);
  shares_.Charge(entry.tenant, entry.weight, static_cast<double>(work));
  shares_.End(entry.tenant);
}

FairLine::Rank FairLine::RankOf(const Entry& entry, TimePoint now) const {
  return {shares_.Rank(entry.tenant), entry.tenant, -AgedPriority(entry.priority, now - entry.last_turn), entry.work,
          entry.number};
}

}  // namespace aana::llama
