#pragma once

#include <llama.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/llama/prompt_cache/kept_states.h"
#include "core/llama/schedule/cell_ledger.h"
#include "core/llama/schedule/sequence.h"
#include "core/llama/schedule/sequence_memory.h"
#include "core/llama/vision/prompt_image.h"
#include "core/request_terms.h"

namespace aana::llama {

// A beginning that another slot computes at the moment.
struct AwaitedPrefix {
  size_t slot = 0;
  RequestId id = 0;  // of the sequence in that slot
  size_t n_tokens = 0;
};

// A place for one active sequence. What a finished one leaves in the context stays until the next one comes.
struct Slot {
  size_t index = 0;
  llama_seq_id sequence_id = 0;      // the context's name of it
  std::vector<llama_token> decoded;  // tokens whose keys and values the context holds, from position 0
  std::vector<ImageCells> images;  // among these tokens; the last one may not be there to its end while it is computed
  size_t n_exact =
      SIZE_MAX;  // tokens at the beginning of `decoded` that were computed as such; the others saw tokens that are gone
  size_t n_fixed = 0;     // of the first ones of these, computed in whole chunks for reproducible sequences
  AdapterUse adapter;     // with which `decoded` was computed
  std::string cache_key;  // only sequences with this key may use what was decoded
  std::string tenant;     // whose text was decoded
  size_t n_prompt = 0;    // tokens of its last sequence's prompt
  std::unique_ptr<Sequence> sequence;  // null: free
  std::optional<AwaitedPrefix> awaits;
  Deadline awaits_disk_until;      // for a beginning that is read from disk
  std::vector<llama_token> draft;  // guessed to follow the sequence's next token, computed with it
  uint64_t used_at = 0;

  // Its sequence takes no part in steps yet.
  bool IsWaiting() const { return awaits || awaits_disk_until; }
  // Where the context has the token behind those that were decoded.
  llama_pos next_position() const { return PositionAfter(images, decoded.size()); }
  // The image of its sequence that is computed next; null where that is a token.
  const PromptImage* next_image() const { return n_prompt_left() > 0 ? sequence->ImageAt(decoded.size()) : nullptr; }
  // Tokens that must be decoded before its sequence goes on; 0: the next one is sequence->next_token().
  int32_t n_prompt_left() const {
    const size_t n_history = sequence->history().size();
    return decoded.size() < n_history ? static_cast<int32_t>(n_history - decoded.size()) : 0;
  }
};

// The engine's slots, and what the context keeps for each. A sequence gets the free slot that spares it most of its
// prompt without forgetting more than that, else an empty one, else the one that was used the longest ago. Where each
// sequence has cells of its own, it then changes places with a free slot beside those that run, because sequences with
// consecutive ids are computed in one pass. The beginning of its prompt is shared with the slot that has most of it,
// also with one that runs. If a running sequence computes a longer beginning of it at the moment, the sequence waits
// for that. What a slot forgets for another sequence goes to the kept states, and comes back from there when a sequence
// has more of its beginning there than in any slot.
class Slots {
 public:
  // `memory` must outlive this. It has `n_cells` cells. Kept states have at most `n_kept_bytes`.
  Slots(size_t count, SequenceMemory& memory, size_t n_cells, uint64_t n_kept_bytes = 0);

  bool HasFree() const;
  // Returns the sequence's slot; null when no slot is free. The sequence's `n_reused` tells what was kept.
  Slot* Admit(std::unique_ptr<Sequence>& sequence);
  // Gives the slots that wait for a beginning what they wait for, where it is there or will not come.
  void EndWaits();
  // Tokens of the sequence's beginning that may come from elsewhere; the last one of a prompt is always computed.
  static std::span<const llama_token> Takable(const Sequence& sequence);
  // Gives a slot a saved beginning of its sequence, which has these tokens. Returns the number of tokens it got.
  size_t Restore(Slot& slot, std::span<const llama_token> tokens, std::span<const uint8_t> state);
  // Frees the slot and keeps what it decoded. The sequence takes a copy of that along, if it has at most `max_bytes`,
  // and goes on with it when it gets a slot again.
  std::unique_ptr<Sequence> Suspend(Slot& slot, uint64_t max_bytes);
  // Frees the slot and keeps what it decoded.
  std::unique_ptr<Sequence> Release(Slot& slot);
  // Adds tokens that were decoded for the slot.
  void Append(Slot& slot, const llama_token* tokens, size_t n);
  // Keeps the first `n` tokens of what was decoded for the slot, without a part of an image. A slot of a context that
  // cannot do that is forgotten.
  void Truncate(Slot& slot, size_t n);
  // Takes `n` tokens from the token `first` on out of what was decoded for the slot. What lay behind them is moved, or
  // computed again where the context cannot move it or another slot uses it.
  void Shift(Slot& slot, size_t first, size_t n);
  // Takes back what a decode that failed or was abandoned left behind `decoded`, and a part of an image. A slot of a
  // context that cannot do that is forgotten.
  void RollBack(Slot& slot);
  // Forgets what a slot decoded.
  void Forget(Slot& slot);
  // The same, but keeps a copy outside of the context where that is worth it.
  void GiveUp(Slot& slot);
  void ForgetAll();
  // Forgets what free slots keep. False when they keep nothing.
  bool ForgetFree();

  // Makes at least `n` cells free, as far as free slots can forget what they keep, those that were used the longest ago
  // first. False when too few are free afterwards.
  bool MakeRoom(size_t n);
  // Whether the sequence fits beside those that run, when free slots forget what they keep.
  bool Fits(const Sequence& sequence) const;
  // Tokens of the sequence's beginning that some slot has or will have.
  size_t Known(const Sequence& sequence) const;

  // Null when no slot has it.
  Slot* Find(RequestId id);
  // Returns the slot whose sequence gives up its cells first: one whose reader is behind, else the youngest of the
  // tenant with the most slots, so that one tenant's sequences do not drive out another's only one. Null when only one
  // has or takes any.
  Slot* FindVictim();
  Slot& operator[](size_t index) { return slots_[index]; }
  auto begin() { return slots_.begin(); }
  auto end() { return slots_.end(); }
  auto begin() const { return slots_.begin(); }
  auto end() const { return slots_.end(); }
  size_t size() const { return slots_.size(); }
  KeptStates& kept() { return kept_; }
  // Tokens that came from kept states, and how many sequences got a longer beginning from there or found none.
  struct KeptUse {
    uint64_t n_tokens = 0;
    uint64_t n_hits = 0;
    uint64_t n_misses = 0;
  };
  const KeptUse& kept_use() const { return kept_use_; }
  // Cells that the slots use.
  size_t n_used_cells() const { return ledger_.n_total() - ledger_.n_free(); }

 private:
  struct Source {
    Slot* slot = nullptr;
    size_t n_tokens = 0;
  };

  struct Kept {
    std::shared_ptr<const KeptState> state;
    size_t n_tokens = 0;
  };

  // The kept state that has most of the sequence's beginning.
  Kept FindKept(const Sequence& sequence) const;
  // Keeps what the slot has, if somebody may want it and the next sequence uses only its first `n_used` tokens.
  void Keep(Slot& slot, size_t n_used);
  // Gives the slot the first `n` tokens of a state. False when the context cannot; the slot is then empty.
  bool Take(Slot& slot, const Suspended& state, size_t n);
  // The slot that has most of the sequence's beginning; `except` is not one.
  Source FindSource(const Sequence& sequence, const Slot* except);
  // The running slot that will have most of it, where that is much more than `n_there`.
  std::optional<AwaitedPrefix> FindAwaited(const Sequence& sequence, const Slot* except, size_t n_there) const;
  Slot* ChooseFree(const Sequence& sequence);
  // Returns the free slot that the sequence should have in place of `oldest`, which then has what that slot kept;
  // `oldest` where none is better.
  Slot& MoveBesideRunning(Slot& oldest, const Sequence& sequence);
  // The free slot closest to those that run, of equals the one with the fewest tokens to move. Null when none is closer
  // than `oldest`.
  Slot* FindCloser(const Slot& oldest, const Sequence& sequence);
  // Gives `to`, which is free, what `from` keeps. False when the context cannot; `to` is then empty.
  bool Copy(const Slot& from, Slot& to);
  // Tokens of the sequence's beginning that a running sequence has or will have.
  size_t Reusable(const Sequence& sequence) const;
  // Tokens of the sequence's beginning that slots but `except` hold of texts of its own tenant.
  size_t Own(const Sequence& sequence, const Slot* except = nullptr) const;
  // Whether another slot can get the first `n` tokens of this one.
  bool CanShare(const Slot& slot, size_t n) const;
  // Brings what the context or a kept state has of the sequence's beginning into its slot.
  void Begin(Slot& slot);
  // Takes the beginning from a kept state, if that has much more of it than the context.
  bool BeginFromKept(Slot& slot);
  // Takes the beginning from another slot, if that has more of it.
  void BeginFromOther(Slot& slot);
  // Gives the slot's sequence what it took along. False when it took nothing, or the context cannot take that.
  bool Resume(Slot& slot);

  std::vector<Slot> slots_;
  SequenceMemory& memory_;
  CellLedger ledger_;
  KeptStates kept_;
  KeptUse kept_use_;
  uint64_t clock_ = 0;
};

}  // namespace aana::llama
