#pragma once

#include <llama.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/llama/model/model.h"
#include "core/llama/prompt_cache/state_bytes.h"

namespace aana::llama {

// What a context keeps of its sequences. An interface, so that slots can be tested without a model.
class SequenceMemory {
 public:
  // How sequences with the same beginning can share what was computed for it.
  enum class Sharing {
    kCells,   // they use the same cells
    kCopies,  // each has a copy, because it has cells of its own
    kWhole,   // each has a copy, and only of a whole sequence
  };

  virtual ~SequenceMemory() = default;

  virtual Sharing sharing() const = 0;
  // Whether what Save returns is of use only as a whole, because no part of it can be taken back.
  virtual bool has_whole_states() const { return sharing() == Sharing::kWhole; }
  // The sequence keeps its first `n` tokens. False when the context cannot take back a part of a sequence.
  virtual bool Truncate(llama_seq_id sequence, size_t n) = 0;
  // Takes `n` tokens from the token `first` on out of the sequence, and moves the later ones forward. False when the
  // context cannot.
  virtual bool Shift(llama_seq_id sequence, size_t first, size_t n) = 0;
  // Forgets the sequence.
  virtual void Clear(llama_seq_id sequence) = 0;
  virtual void ClearAll() = 0;
  // Gives `to`, which is empty, the first `n` tokens of `from`. False when the context cannot.
  virtual bool Share(llama_seq_id from, llama_seq_id to, size_t n) = 0;
  // Gives `to`, which is empty, what Save returned for a sequence of `n` tokens. False when the context cannot; `to` is
  // then empty.
  virtual bool Restore(llama_seq_id to, std::span<const uint8_t> state, size_t n) = 0;
  // Returns what the context holds of the sequence. Empty when that has more bytes, or when the context cannot.
  virtual StateBytes Save(llama_seq_id sequence, uint64_t max_bytes) const = 0;
};

// The same for a context of this model. No part of a recurrent state can be taken back. A saved state of a model some
// of whose layers attend only to a window lacks the tokens that have left it.
bool HasWholeStates(const Model& model);

// The memory of a llama.cpp context.
class ContextMemory final : public SequenceMemory {
 public:
  // `context` must outlive this.
  ContextMemory(const Model& model, const Context& context);

  Sharing sharing() const override { return sharing_; }
  bool has_whole_states() const override { return has_whole_states_; }
  bool Truncate(llama_seq_id sequence, size_t n) override;
  bool Shift(llama_seq_id sequence, size_t first, size_t n) override;
  void Clear(llama_seq_id sequence) override;
  void ClearAll() override;
  bool Share(llama_seq_id from, llama_seq_id to, size_t n) override;
  bool Restore(llama_seq_id to, std::span<const uint8_t> state, size_t n) override;
  StateBytes Save(llama_seq_id sequence, uint64_t max_bytes) const override;

 private:
  llama_memory_t memory() const { return llama_get_memory(context_); }
  bool Set(llama_seq_id to, std::span<const uint8_t> state);

  // Whether the context still has all of the first `n` tokens that their successor attends to. It overwrites tokens
  // that have left the window.
  bool HasWindow(llama_seq_id sequence, size_t n) const;

  llama_context* context_;
  bool has_whole_states_;
  bool can_roll_back_;
  Sharing sharing_;
  int32_t n_window_;  // some layers attend only to so many of the last tokens; 0: none
};

}  // namespace aana::llama
