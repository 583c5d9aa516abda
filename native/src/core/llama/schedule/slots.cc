#include "core/llama/schedule/slots.h"

#include <algorithm>
#include <utility>

namespace aana::llama {
namespace {

size_t CommonPrefix(const std::vector<llama_token>& a, const std::vector<llama_token>& b) {
  const auto n_shorter = static_cast<std::ptrdiff_t>(std::min(a.size(), b.size()));
  return static_cast<size_t>(std::mismatch(a.begin(), a.begin() + n_shorter, b.begin()).first - a.begin());
}

}  // namespace

Slots::Slots(size_t count, llama_memory_t memory) : slots_(count), memory_(memory) {
  for (size_t i = 0; i < count; i++) slots_[i].sequence_id = static_cast<llama_seq_id>(i);
}

bool Slots::HasFree() const {
  return std::ranges::any_of(slots_, [](const Slot& slot) { return !slot.sequence; });
}

bool Slots::Admit(std::unique_ptr<Sequence>& sequence) {
  const auto& prompt = sequence->history();
  Slot* best = nullptr;
  size_t best_prefix = 0;
  for (auto& slot : slots_) {
    if (slot.sequence) continue;
    // A few tokens in common, such as the one that begins every text, are not worth another slot's longer memory.
    size_t prefix = CommonPrefix(slot.decoded, prompt);
    if (prefix * 10 < prompt.size()) prefix = 0;
    if (best && (prefix < best_prefix || (prefix == best_prefix && slot.used_at >= best->used_at))) continue;
    best = &slot;
    best_prefix = prefix;
  }
  if (!best) return false;

  // The last prompt token is decoded again: its logits give the first token of the completion, unless that is there already.
  const size_t n_kept = std::min(CommonPrefix(best->decoded, prompt), sequence->HasNextToken() ? prompt.size() : prompt.size() - 1);
  best->decoded.resize(n_kept);
  if (!RollBack(*best)) Forget(*best);
  if (!sequence->HasNextToken()) sequence->n_reused = static_cast<int32_t>(best->decoded.size());
  sequence->NoteAdmitted();
  best->sequence = std::move(sequence);
  best->used_at = ++clock_;
  return true;
}

std::unique_ptr<Sequence> Slots::Release(Slot& slot) {
  slot.used_at = ++clock_;
  return std::move(slot.sequence);
}

bool Slots::RollBack(Slot& slot) {
  return llama_memory_seq_rm(memory_, slot.sequence_id, static_cast<llama_pos>(slot.decoded.size()), -1);
}

void Slots::Forget(Slot& slot) {
  slot.decoded.clear();
  llama_memory_seq_rm(memory_, slot.sequence_id, -1, -1);
}

void Slots::ForgetAll() {
  llama_memory_clear(memory_, true);
  for (auto& slot : slots_) slot.decoded.clear();
}

Slot* Slots::Find(RequestId id) {
  const auto found = std::ranges::find_if(slots_, [&](const Slot& slot) { return slot.sequence && slot.sequence->id() == id; });
  return found == slots_.end() ? nullptr : &*found;
}

}  // namespace aana::llama
