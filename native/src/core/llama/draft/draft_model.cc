#include "core/llama/draft/draft_model.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <utility>

#include "core/engine_log.h"
#include "core/llama/common_prefix.h"
#include "core/llama/draft/vocabulary_match.h"
#include "core/llama/model/load_error.h"
#include "core/llama/model/purpose.h"
#include "core/llama/sampling/candidates.h"
#include "core/llama/sampling/weights.h"

namespace aana::llama {
namespace {

// The beginning of another slot is taken when it spares this many tokens.
constexpr size_t kMinTaken = 32;
// Tokens that a sequence is behind after a step, at most.
constexpr size_t kUsuallyLeft = 2;

LoadOptions OptionsOf(const LoadOptions& of_target) {
  auto options = of_target;
  options.model_path = of_target.draft_model_path;
  options.packed_path.clear();  // it is small
  // A draft model is small, and it is of no use on a slower processor than the model.
  if (options.n_gpu_layers != 0) options.n_gpu_layers = -1;
  options.fits_gpu_layers = false;
  options.n_drafted = 0;
  options.keeps_all_windows = true;  // or it would read texts again
  // The scaling is that of the other model. The draft model guesses nothing for texts that it was not trained for.
  options.rope_scaling = {};
  options.rope_frequency_base = 0;
  return options;
}

Model LoadChecked(const LoadOptions& options, const Model& target, const LoadProgress& progress) {
  const auto& path = options.draft_model_path;
  if (!target.CanRollBack())
    throw LoadError("model file " + options.model_path +
                    " is recurrent, so it cannot check the guesses of a draft model");
  Model model(OptionsOf(options), progress);
  RequireTextModel(model, path);
  RequireSameVocabulary(model, path, target);
  if (!model.CanRollBack())
    throw LoadError("draft model " + path + " is recurrent and cannot take back guesses that were wrong");
  return model;
}

size_t TextSize(const DraftDemand& demand) { return demand.history.size() + 1; }

llama_token TokenAt(const DraftDemand& demand, size_t at) {
  return at < demand.history.size() ? demand.history[at] : demand.last_token;
}

// Tokens of the text that need not be computed. The last one always is, because its logits give the first guess.
size_t HeldOf(const std::vector<llama_token>& tokens, const DraftDemand& demand) {
  return CommonPrefix(tokens, demand.history);
}

}  // namespace

DraftModel::DraftModel(const LoadOptions& options, const Model& target, const LoadProgress& progress,
                       ggml_abort_callback abort, void* abort_data)
    : target_(target),
      least_probability_(options.least_draft_probability),
      model_(LoadChecked(options, target, progress)),
      context_(model_, OptionsOf(options), abort, abort_data),
      memory_(model_, context_),
      ledger_(static_cast<size_t>(options.n_sequences),
              context_.has_streams() ? SIZE_MAX : static_cast<size_t>(context_.n_cells())),
      slots_(static_cast<size_t>(options.n_sequences)),
      batch_(context_.n_batch()),
      scheduler_(options.n_prefill_per_step) {}

void DraftModel::Guess(std::span<DraftDemand> demands) {
  if (is_off_) return;
  try {
    clock_++;
    const auto readings = PlanReading(demands);
    if (readings.empty()) return;
    for (auto outputs = Read(readings); !outputs.empty();) outputs = Continue(outputs);
  } catch (const std::exception& error) {
    Log(LogLevel::kError, std::string("the draft model guesses nothing any more: ") + error.what());
    is_off_ = true;
  }
}

bool DraftModel::CanRead(const DraftDemand& demand) const {
  if (TextSize(demand) + demand.n_wanted > static_cast<size_t>(context_.n_context())) return false;
  const auto& tokens = slots_[demand.slot].tokens;
  for (size_t at = tokens.size(); at < TextSize(demand); at++) {
    if (TokenAt(demand, at) >= model_.n_vocab()) return false;
  }
  return true;
}

void DraftModel::Prepare(const DraftDemand& demand) {
  auto& slot = slots_[demand.slot];
  slot.used_at = clock_;
  if (slot.cache_key != demand.cache_key) Forget(demand.slot);
  slot.cache_key = demand.cache_key;
  size_t n_held = HeldOf(slot.tokens, demand);
  size_t source = demand.slot;
  for (size_t i = 0; i < slots_.size(); i++) {
    if (i == demand.slot || slots_[i].cache_key != demand.cache_key) continue;
    const size_t n = HeldOf(slots_[i].tokens, demand);
    if (n < n_held + kMinTaken) continue;
    n_held = n;
    source = i;
  }
  if (source == demand.slot) {
    if (n_held < slot.tokens.size()) Truncate(demand.slot, n_held);
    return;
  }
  Forget(demand.slot);
  const auto& from = slots_[source].tokens;
  if (!memory_.Share(static_cast<llama_seq_id>(source), static_cast<llama_seq_id>(demand.slot), n_held)) return;
  ledger_.Share(source, demand.slot, n_held);
  slot.tokens.assign(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(n_held));
}

std::vector<DraftModel::Reading> DraftModel::PlanReading(std::span<DraftDemand> demands) {
  std::vector<Reading> readings;
  for (auto& demand : demands) {
    if (demand.n_wanted == 0) continue;
    Prepare(demand);
    if (CanRead(demand)) readings.push_back({&demand, TextSize(demand) - slots_[demand.slot].tokens.size()});
  }
  std::ranges::sort(readings, {}, &Reading::n_left);
  size_t n_allowed = std::max(static_cast<size_t>(scheduler_.PrefillTokens(true)), kUsuallyLeft * readings.size());
  for (auto& reading : readings) {
    reading.n_now = std::min(reading.n_left, n_allowed);
    n_allowed -= reading.n_now;
  }
  std::erase_if(readings, [](const Reading& reading) { return reading.n_now == 0; });
  const auto n_needed = [&] {
    size_t n = 0;
    for (const auto& reading : readings) n += reading.n_now + reading.demand->n_wanted;
    return n;
  };
  while (!readings.empty() && !MakeRoom(n_needed(), readings)) {
    Forget(readings.back().demand->slot);
    readings.pop_back();
  }
  // llama.cpp computes sequences with consecutive ids in one pass over the weights.
  std::ranges::sort(readings, {}, [](const Reading& reading) { return reading.demand->slot; });
  return readings;
}

bool DraftModel::MakeRoom(size_t n, std::span<const Reading> readings) {
  while (ledger_.n_free() < n) {
    size_t oldest = slots_.size();
    for (size_t i = 0; i < slots_.size(); i++) {
      if (slots_[i].tokens.empty() ||
          std::ranges::any_of(readings, [&](const Reading& reading) { return reading.demand->slot == i; }))
        continue;
      if (oldest == slots_.size() || slots_[i].used_at < slots_[oldest].used_at) oldest = i;
    }
    if (oldest == slots_.size()) return false;
    Forget(oldest);
  }
  return true;
}

std::vector<DraftModel::Output> DraftModel::Read(std::span<const Reading> readings) {
  std::vector<Output> outputs;
  for (const auto& reading : readings) {
    const auto& demand = *reading.demand;
    const size_t begin = slots_[demand.slot].tokens.size();
    for (size_t i = 0; i < reading.n_now; i++) {
      const bool is_last = reading.IsWhole() && i + 1 == reading.n_now;
      if (is_last) outputs.push_back({reading.demand, batch_.size()});
      Add(TokenAt(demand, begin + i), demand.slot, is_last);
    }
  }
  const auto n_tokens = batch_.size();
  const auto started = std::chrono::steady_clock::now();
  if (!Decode()) return {};
  scheduler_.NoteStep(n_tokens, std::chrono::steady_clock::now() - started);
  return outputs;
}

std::vector<DraftModel::Output> DraftModel::Continue(std::span<const Output> outputs) {
  std::vector<Output> next;
  for (const auto& output : outputs) {
    if (!GuessOne(output)) continue;
    next.push_back({output.demand, batch_.size()});
    Add(output.demand->guessed.back(), output.demand->slot, true);
  }
  if (next.empty() || !Decode()) return {};
  return next;
}

bool DraftModel::GuessOne(const Output& output) {
  auto& demand = *output.demand;
  const auto* values = llama_get_logits_ith(context_.get(), output.index);
  if (!values) return false;
  const std::span<const float> logits(values, static_cast<size_t>(model_.n_vocab()));
  const auto largest = FindLargest(logits);
  if (largest.token >= target_.n_vocab() || target_.EndsGeneration(largest.token)) return false;
  if (1.0 < static_cast<double>(least_probability_) * SumOfWeights(logits, largest)) return false;
  demand.guessed.push_back(largest.token);
  return demand.guessed.size() < demand.n_wanted;
}

void DraftModel::Add(llama_token token, size_t index, bool wants_logits) {
  auto& slot = slots_[index];
  const auto position = static_cast<llama_pos>(slot.tokens.size() + slot.added.size());
  batch_.Add(token, position, static_cast<llama_seq_id>(index), wants_logits);
  slot.added.push_back(token);
}

bool DraftModel::Decode() {
  const int32_t result = llama_decode(context_.get(), batch_.get());
  batch_.Clear();
  for (size_t i = 0; i < slots_.size(); i++) {
    const auto added = std::exchange(slots_[i].added, {});
    if (added.empty()) continue;
    if (result == 0) {
      slots_[i].tokens.insert(slots_[i].tokens.end(), added.begin(), added.end());
      ledger_.Append(i, added.size());
    } else {
      Truncate(i, slots_[i].tokens.size());
    }
  }
  if (result != 0 && result != Context::kAbandoned)
    throw std::runtime_error("llama_decode returned " + std::to_string(result));
  return result == 0;
}

void DraftModel::Truncate(size_t slot, size_t n) {
  slots_[slot].tokens.resize(n);
  if (!memory_.Truncate(static_cast<llama_seq_id>(slot), n)) return Forget(slot);
  ledger_.Truncate(slot, n);
}

void DraftModel::Forget(size_t slot) {
  slots_[slot].tokens.clear();
  memory_.Clear(static_cast<llama_seq_id>(slot));
  ledger_.Truncate(slot, 0);
}

}  // namespace aana::llama
