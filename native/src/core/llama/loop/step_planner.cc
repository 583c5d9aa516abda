#include "core/llama/loop/step_planner.h"

#include <algorithm>
#include <utility>

#include "core/engine_log.h"
#include "core/llama/loop/gaps.h"
#include "core/llama/loop/ubatches.h"

namespace aana::llama {
namespace {

StepKind KindOf(const Slot& slot) {
  return {slot.sequence->adapter(),
          slot.sequence->is_reproducible() || slot.next_image() ? std::optional(slot.index) : std::nullopt};
}

// Scores that the reader does not take would heap up.
bool IsHeldBack(const Sequence& sequence) { return sequence.IsPromptScored() && sequence.IsPaused(); }

}  // namespace

StepPlanner::StepPlanner(const Model& model, const Context& context, Slots& slots, DraftModel* draft_model,
                         const LoadOptions& options, const std::atomic<bool>& is_abandoned)
    : model_(model),
      context_(context),
      slots_(slots),
      draft_model_(draft_model),
      is_abandoned_(is_abandoned),
      n_drafted_(model.CanRollBack() ? static_cast<size_t>(options.n_drafted) : 0),
      scheduler_(options.n_prefill_per_step) {}

StepPlan StepPlanner::Next() {
  slots_.EndWaits();
  const auto kind = NextKind();
  if (!kind) return {};
  if (kind->alone) {
    const auto& slot = slots_[*kind->alone];
    if (const auto* image = slot.next_image()) return {kind->adapter, {{slot.index, ImageTokens(slot, *image)}}};
    return {kind->adapter, {{slot.index, static_cast<int32_t>(slot.sequence->MostInStep(slot.decoded.size()))}}};
  }
  std::vector<Demand> demands;
  std::vector<size_t> scored;
  for (const auto& slot : slots_) {
    if (!slot.sequence || slot.IsWaiting() || KindOf(slot) != *kind) continue;
    if (IsHeldBack(*slot.sequence)) continue;
    if (slot.sequence->IsPromptScored()) scored.push_back(demands.size());
    demands.push_back({slot.index, slot.sequence->number, slot.n_prompt_left(), slot.sequence->IsPaused()});
    demands.back().n_most =
        static_cast<int32_t>(std::min<size_t>(slot.sequence->TokensBeforeImage(slot.decoded.size()), INT32_MAX));
  }
  for (const auto index : scored) {
    demands[index].n_most = std::max(1, Context::kMostScored / static_cast<int32_t>(scored.size()));
  }
  return {kind->adapter, scheduler_.Plan(demands)};
}

int32_t StepPlanner::ImageTokens(const Slot& slot, const PromptImage& image) const {
  const auto n_left = static_cast<int32_t>(image.end() - slot.decoded.size());
  const auto is_decoding = [](const Slot& other) {
    return other.sequence && !other.IsWaiting() && !other.sequence->IsPaused() && other.n_prompt_left() == 0;
  };
  return image.is_causal ? std::min(n_left, scheduler_.PrefillTokens(std::ranges::any_of(slots_, is_decoding)))
                         : n_left;
}

void StepPlanner::Complete(StepPlan& plan) {
  if (n_drafted_ > 0) Speculate(plan.shares);
  // In a common cache, a filled gap would take cells for which the plan has made no room.
  if (!context_.is_unified()) JoinPasses(plan.adapter, plan.shares);
}

int32_t StepPlanner::NoteStep(const Batch& batch, std::chrono::duration<double> elapsed) {
  const auto n_passes = CountPasses(batch);
  scheduler_.NoteStep(batch.size(), elapsed);
  cost_.Note(n_passes, batch.size(), elapsed.count());
  return n_passes;
}

double StepPlanner::Overhead(const StepPlan& plan, const Batch& batch) const {
  const auto n_idle = std::ranges::count_if(plan.shares, &Share::is_idle);
  return (CountPasses(batch) * cost_.MeanTokensPerPass() + static_cast<double>(n_idle)) /
         static_cast<double>(std::ssize(plan.shares) - n_idle);
}

std::optional<StepKind> StepPlanner::NextKind() {
  std::vector<StepKind> wanted;
  for (const auto& slot : slots_) {
    if (slot.sequence && !slot.IsWaiting() && !slot.sequence->IsPaused()) wanted.push_back(KindOf(slot));
  }
  return wanted.empty() ? std::nullopt : std::optional(turns_.Next(wanted));
}

void StepPlanner::Speculate(std::vector<Share>& plan) {
  Guess(plan);
  size_t n_tokens = 0;
  for (const auto& share : plan) n_tokens += static_cast<size_t>(share.n_tokens) + slots_[share.slot].draft.size();
  const bool has_room = slots_.MakeRoom(n_tokens);
  for (auto& share : plan) {
    auto& draft = slots_[share.slot].draft;
    if (!has_room) draft.clear();
    share.n_tokens += static_cast<int32_t>(draft.size());
  }
}

void StepPlanner::Guess(const std::vector<Share>& plan) {
  std::vector<DraftDemand> demands;
  for (const auto& share : plan) {
    auto& slot = slots_[share.slot];
    slot.draft.clear();
    // Guessed tokens would change the pass of a reproducible sequence, and a model that guesses cannot read images.
    if (slot.n_prompt_left() > 0 || slot.sequence->is_reproducible() || !slot.sequence->images().empty()) continue;
    demands.push_back(
        {slot.index, slot.sequence->history(), slot.sequence->next_token(), slot.sequence->cache_key(), 0, {}});
  }
  for (auto& demand : demands) {
    auto& slot = slots_[demand.slot];
    demand.n_wanted = slot.sequence->GuessedTokens(n_drafted_, n_drafted_ / demands.size(), context_.n_context());
    if (!draft_model_) slot.draft = slot.sequence->GuessFromText(demand.n_wanted);
  }
  if (!draft_model_) return;
  const ScopedLogDemotion demotion(is_abandoned_);
  draft_model_->Guess(demands);
  for (auto& demand : demands) slots_[demand.slot].draft = std::move(demand.guessed);
}

void StepPlanner::JoinPasses(const AdapterUse& adapter, std::vector<Share>& plan) {
  std::vector<bool> takes_part(slots_.size());
  for (const auto& share : plan) takes_part[share.slot] = true;
  const auto has_prompt = [&](const Slot& slot) {
    return slot.sequence && !slot.IsWaiting() && KindOf(slot) == StepKind{adapter, std::nullopt} &&
           slot.n_prompt_left() > 0 && !IsHeldBack(*slot.sequence);
  };
  std::vector<Filler> fillers;
  for (const auto& slot : slots_) {
    if (takes_part[slot.index] || static_cast<int32_t>(slot.decoded.size()) >= context_.n_context()) continue;
    // Taking back an idle token would take back the part of an image before it.
    if (slot.sequence && slot.next_image() && slot.next_image()->first < slot.decoded.size()) continue;
    const bool is_idle = !has_prompt(slot);
    if (!is_idle || model_.CanRollBack()) fillers.push_back({slot.index, is_idle});
  }
  FillGaps(plan, fillers, cost_.TokensPerPass());
}

int32_t StepPlanner::CountPasses(const Batch& batch) const {
  return CountUbatches(batch.sequences(), context_.n_ubatch(), UbatchRuleOf(model_, context_));
}

}  // namespace aana::llama
