#include "core/llama/schedule/slots.h"

#include <algorithm>
#include <utility>

namespace aana::llama {
namespace {

size_t CommonPrefix(const std::vector<llama_token>& a, const std::vector<llama_token>& b) {
  const auto n_shorter = static_cast<std::ptrdiff_t>(std::min(a.size(), b.size()));
  return static_cast<size_t>(std::mismatch(a.begin(), a.begin() + n_shorter, b.begin()).first - a.begin());
}

// Tokens that the slot has decoded as the sequence needs them. Keys and values of another adapter are of no use.
size_t Shared(const Slot& slot, const Sequence& sequence) {
  return slot.adapter == sequence.adapter() ? CommonPrefix(slot.decoded, sequence.history()) : 0;
}

// Tokens of the prompt that the slot spares. 0 for the prompt of another conversation where the slot would forget more tokens than it spares,
// because that conversation may go on.
size_t Spared(const Slot& slot, const Sequence& sequence) {
  const size_t prefix = Shared(slot, sequence);
  const bool goes_on = prefix + 1 >= slot.n_prompt;
  return goes_on || prefix >= slot.decoded.size() - prefix ? prefix : 0;
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
  size_t most_spared = 0;
  for (auto& slot : slots_) {
    if (slot.sequence) continue;
    const size_t spared = Spared(slot, *sequence);
    if (best && (spared < most_spared || (spared == most_spared && slot.used_at >= best->used_at))) continue;
    best = &slot;
    most_spared = spared;
  }
  if (!best) return false;

  // The last prompt token is decoded again: its logits give the first token of the completion, unless that is there already.
  const size_t n_kept = std::min(Shared(*best, *sequence), sequence->HasNextToken() ? prompt.size() : prompt.size() - 1);
  best->decoded.resize(n_kept);
  best->adapter = sequence->adapter();
  if (!RollBack(*best)) Forget(*best);
  if (!sequence->HasNextToken()) sequence->n_reused = static_cast<int32_t>(best->decoded.size());
  best->n_prompt = static_cast<size_t>(sequence->n_prompt());
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
