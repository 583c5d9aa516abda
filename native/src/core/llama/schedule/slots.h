#pragma once

#include <llama.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/llama/schedule/sequence.h"

namespace aana::llama {

// A place for one active sequence. What a finished one leaves in the context stays until the next one comes.
struct Slot {
  llama_seq_id sequence_id = 0;  // the context's name of it
  std::vector<llama_token> decoded;  // tokens whose keys and values the context holds, from position 0
  AdapterUse adapter;  // with which `decoded` was computed
  size_t n_prompt = 0;  // tokens of its last sequence's prompt
  std::unique_ptr<Sequence> sequence;  // null: free
  uint64_t used_at = 0;

  // Tokens that must be decoded before its sequence goes on; 0: the next one is sequence->next_token().
  int32_t n_prompt_left() const {
    const size_t n_history = sequence->history().size();
    return decoded.size() < n_history ? static_cast<int32_t>(n_history - decoded.size()) : 0;
  }
};

// The engine's slots. A sequence gets the free slot that spares it most of its prompt without forgetting more than that, else the one that
// was used the longest ago.
class Slots {
 public:
  // `memory` must outlive this.
  Slots(size_t count, llama_memory_t memory);

  bool HasFree() const;
  // False when no slot is free. The sequence's `n_reused` tells what was kept.
  bool Admit(std::unique_ptr<Sequence>& sequence);
  // Frees the slot and keeps what it decoded.
  std::unique_ptr<Sequence> Release(Slot& slot);
  // Takes back what a decode that failed or was abandoned left behind `decoded`. False when the context cannot.
  bool RollBack(Slot& slot);
  // Forgets what a slot decoded.
  void Forget(Slot& slot);
  void ForgetAll();

  // Null when no slot has it.
  Slot* Find(RequestId id);
  Slot& operator[](size_t index) { return slots_[index]; }
  auto begin() { return slots_.begin(); }
  auto end() { return slots_.end(); }
  auto begin() const { return slots_.begin(); }
  auto end() const { return slots_.end(); }
  size_t size() const { return slots_.size(); }

 private:
  std::vector<Slot> slots_;
  llama_memory_t memory_;
  uint64_t clock_ = 0;
};

}  // namespace aana::llama
