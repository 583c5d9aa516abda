#pragma once

#include <llama.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/llama/model/model.h"
#include "core/llama/loop/batch.h"
#include "core/llama/schedule/cell_ledger.h"
#include "core/llama/loop/scheduler.h"
#include "core/llama/schedule/sequence_memory.h"

namespace aana::llama {

// A sequence whose next tokens a draft model guesses.
struct DraftDemand {
  size_t slot = 0;
  std::span<const llama_token> history;  // what the guesses follow, without its last token
  llama_token last_token = LLAMA_TOKEN_NULL;
  std::string_view cache_key;  // only sequences with this key may use what was computed for it
  size_t n_wanted = 0;
  std::vector<llama_token> guessed;  // the answer; empty where nothing is guessed
};

// A small model that guesses the next tokens of sequences, which the large model then checks in one step. It has a
// context of its own, with a sequence for each slot. What a slot of it holds is compared with the text of each demand,
// so it needs no word of tokens that were refused, of sequences that ended, or of slots that changed hands. It reads
// the rest of a text in portions beside the large model's steps, and guesses for a sequence when it has read all of it.
// One thread at a time.
class DraftModel {
 public:
  // `target` is the model whose tokens are guessed. Throws LoadError.
  DraftModel(const LoadOptions& options, const Model& target, const LoadProgress& progress, ggml_abort_callback abort,
             void* abort_data);

  // Guesses the likeliest tokens, in one computation for all sequences for each further token. A sequence has no
  // further guess where the likeliest token is not likely enough or ends the answer. When the computation fails,
  // nothing is guessed any more.
  void Guess(std::span<DraftDemand> demands);

 private:
  struct Slot {
    std::vector<llama_token> tokens;  // whose keys and values the context holds
    std::vector<llama_token> added;   // of the batch
    std::string cache_key;
    uint64_t used_at = 0;
  };
  // A demand with the tokens that are read for it now.
  struct Reading {
    DraftDemand* demand;
    size_t n_left;  // tokens of its text that the context does not hold
    size_t n_now = 0;
    bool IsWhole() const { return n_now == n_left; }
  };
  struct Output {
    DraftDemand* demand;
    int32_t index;  // in the batch
  };

  // Keeps what the context holds of the demand's text, or takes it from another slot.
  void Prepare(const DraftDemand& demand);
  std::vector<Reading> PlanReading(std::span<DraftDemand> demands);
  // Makes room for `n` tokens by forgetting slots that no demand is for. False when that is not enough.
  bool MakeRoom(size_t n, std::span<const Reading> readings);
  std::vector<Output> Read(std::span<const Reading> readings);
  std::vector<Output> Continue(std::span<const Output> outputs);
  // Returns false where no further token is guessed.
  bool GuessOne(const Output& output);
  // Adds a token behind those of the slot to the batch.
  void Add(llama_token token, size_t index, bool wants_logits);
  // Computes the batch. False when it failed or was abandoned; the slots are then as before.
  bool Decode();
  bool CanRead(const DraftDemand& demand) const;
  void Truncate(size_t slot, size_t n);
  void Forget(size_t slot);

  const Model& target_;
  const float least_probability_;
  Model model_;
  Context context_;
  ContextMemory memory_;
  CellLedger ledger_;
  std::vector<Slot> slots_;
  Batch batch_;
  Scheduler scheduler_;  // measures the time of a token
  uint64_t clock_ = 0;
  bool is_off_ = false;
};

}  // namespace aana::llama
