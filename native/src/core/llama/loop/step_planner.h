#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/llama/draft/draft_model.h"
#include "core/llama/loop/batch.h"
#include "core/llama/loop/scheduler.h"
#include "core/llama/loop/step_cost.h"
#include "core/llama/loop/step_turns.h"
#include "core/llama/model/adapters.h"
#include "core/llama/model/model.h"
#include "core/llama/schedule/slots.h"

namespace aana::llama {

// What a step computes. No share: no sequence can go on now.
struct StepPlan {
  AdapterUse adapter;
  std::vector<Share> shares;
};

// Decides what each step computes: which sequences, how many tokens of each prompt, and which guesses. Learns from the
// times of steps.
class StepPlanner {
 public:
  // All but `options` must outlive this. `draft_model` may be null. `is_abandoned` tells that the step is not needed
  // any more.
  StepPlanner(const Model& model, const Context& context, Slots& slots, DraftModel* draft_model,
              const LoadOptions& options, const std::atomic<bool>& is_abandoned);

  // Plans a step. It may need more cells than are free.
  StepPlan Next();
  // Adds guesses of the next tokens to a plan that fits, where the context has cells for them, and joins its sequences
  // in as few passes as is worth it.
  void Complete(StepPlan& plan);

  // Learns from the decode of a batch. Returns the number of its passes over the weights.
  int32_t NoteStep(const Batch& batch, std::chrono::duration<double> elapsed);
  // Returns what a plan that was computed cost each of its sequences besides their tokens, in tokens: its passes over
  // the weights, and idle tokens.
  double Overhead(const StepPlan& plan, const Batch& batch) const;
  // The time that a prompt of so many tokens takes at least. 0: not known.
  std::chrono::duration<double> LeastTime(int64_t n_tokens) const { return scheduler_.LeastTime(n_tokens); }

 private:
  // Which sequences the step computes; empty when none can go on.
  std::optional<StepKind> NextKind();
  // How many tokens of an image the next step of its sequence computes.
  int32_t ImageTokens(const Slot& slot, const PromptImage& image) const;
  void Speculate(std::vector<Share>& plan);
  void Guess(const std::vector<Share>& plan);
  // Sorts the plan by slot.
  void JoinPasses(const AdapterUse& adapter, std::vector<Share>& plan);
  int32_t CountPasses(const Batch& batch) const;

  const Model& model_;
  const Context& context_;
  Slots& slots_;
  DraftModel* const draft_model_;
  const std::atomic<bool>& is_abandoned_;
  const size_t n_drafted_;
  Scheduler scheduler_;
  StepCost cost_;
  StepTurns turns_;
};

}  // namespace aana::llama
