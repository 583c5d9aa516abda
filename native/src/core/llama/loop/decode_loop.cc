#include "core/llama/loop/decode_loop.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <utility>

#include "core/engine_log.h"
#include "core/llama/sampling/sampling_error.h"

namespace aana::llama {
namespace {

// Computed where a slot has nothing to compute, and forgotten.
constexpr llama_token kIdleToken = 0;

// How long a reader may be behind before its sequence gives up its slot to one that waits.
constexpr auto kParkAfter = std::chrono::seconds(1);

// Tokens that are computed for a sequence before it makes room for one of another tenant. Fewer would copy more often
// what is computed.
constexpr size_t kTurnTokens = 64;

// Paused sequences take at most so many bytes along, and the last one. What others had computed is computed again.
constexpr uint64_t kMostSuspendedBytes = uint64_t{1} << 30;

// How long a sequence waits for the disk.
constexpr auto kFetchTimeout = std::chrono::seconds(10);

using Clock = std::chrono::steady_clock;

// Lets the cells of an image attend to each other where the model wants it, while an object of this class lives.
class WholeImage {
 public:
  WholeImage(llama_context* context, const PromptImage* image)
      : context_(image && !image->is_causal ? context : nullptr) {
    if (context_) llama_set_causal_attn(context_, false);
  }
  ~WholeImage() {
    if (context_) llama_set_causal_attn(context_, true);
  }
  WholeImage(const WholeImage&) = delete;
  WholeImage& operator=(const WholeImage&) = delete;

 private:
  llama_context* const context_;
};

// Null when none has this id.
std::unique_ptr<Sequence> TakeParked(std::vector<std::unique_ptr<Sequence>>& parked, RequestId id) {
  const auto found = std::ranges::find_if(parked, [&](const auto& sequence) { return sequence->id() == id; });
  if (found == parked.end()) return nullptr;
  auto taken = std::move(*found);
  parked.erase(found);
  return taken;
}

}  // namespace

DecodeLoop::DecodeLoop(const Model& model, const Context& context, const Adapters& adapters, DraftModel* draft_model,
                       PromptStore* prompt_store, const LoadOptions& options, Inbox& inbox, Outbox& outbox,
                       Counters& counters)
    : model_(model),
      context_(context),
      adapters_(adapters),
      prompt_store_(prompt_store),
      inbox_(inbox),
      outbox_(outbox),
      counters_(counters),
      sampler_(model, context.n_context(), std::min(options.n_threads, options.n_sequences),
               options.least_sampling_work),
      memory_(model, context),
      slots_(static_cast<size_t>(options.n_sequences), memory_,
             context.is_unified() ? static_cast<size_t>(context.n_cells()) : SIZE_MAX, options.n_kept_bytes),
      planner_(model, context, slots_, draft_model, options, inbox.is_abandoned()),
      batch_(context.n_batch()),
      reader_timeout_(options.reader_timeout) {}

void DecodeLoop::Run() {
  bool is_idle = false;
  while (!inbox_.IsStopping()) is_idle = !Turn(is_idle);
}

bool DecodeLoop::Turn(bool waits) {
  for (auto& command : inbox_.Take(waits, waits ? NextDue() : std::nullopt)) {
    std::visit([this](auto& specific) { Handle(std::move(specific)); }, command);
  }
  EndOverdue();
  EndFetches();
  Park();
  PauseForOthers();
  AdmitWaiting();
  const bool has_computed = Step();
  NoteState();
  outbox_.Post(std::exchange(events_, {}));
  return has_computed;
}

void DecodeLoop::EndAll() {
  for (auto& slot : slots_) {
    if (slot.sequence) Finish(slot, FinishReason::kCancelled);
  }
  for (const auto& sequence : waiting_) Emit(sequence->End(FinishReason::kCancelled));
  for (const auto& sequence : parked_) Emit(sequence->End(FinishReason::kCancelled));
  for (const auto& command : inbox_.Take(false)) {
    if (const auto* request = std::get_if<ReadRequest>(&command))
      Emit({request->id, EndEvent{FinishReason::kCancelled}});
  }
  outbox_.Post(std::exchange(events_, {}));
}

void DecodeLoop::Handle(ReadRequest&& request) {
  auto sequence = std::make_unique<Sequence>(std::move(request));
  sequence->number = n_requests_++;
  if (auto refusal = RefusalOf(*sequence)) return Emit(std::move(*refusal));
  waiting_.Add(std::move(sequence));
}

std::optional<Event> DecodeLoop::RefusalOf(const Sequence& sequence) const {
  if (sequence.is_reproducible() && context_.is_unified()) {
    return sequence.Failure(ErrorCode::kInvalidSampling, Fault::kCaller,
                            "a reproducible answer needs a cache for each sequence, and the sequences of this engine "
                            "share one (n_ctx_total)",
                            context_.n_context());
  }
  if (sequence.is_reproducible() && sequence.may_shift()) {
    return sequence.Failure(ErrorCode::kInvalidSampling, Fault::kCaller,
                            "a reproducible answer cannot go on in a shifted context, because shifted keys differ from "
                            "computed ones; leave out reproducible, or "
                            "overflow \"shift\"",
                            context_.n_context());
  }
  if (!sequence.terms().deadline) return std::nullopt;
  const auto n_unknown = static_cast<int64_t>(sequence.history().size() - slots_.Known(sequence));
  const std::chrono::duration<double> least = planner_.LeastTime(n_unknown);
  const std::chrono::duration<double> left = *sequence.terms().deadline - Clock::now();
  if (least <= left) return std::nullopt;
  std::array<char, 160> message{};
  std::snprintf(message.data(), message.size(),
                "the %lld tokens of its prompt take at least %.1f s, and its deadline is in %.1f s",
                static_cast<long long>(n_unknown), least.count(), std::max(left.count(), 0.0));
  return sequence.Failure(ErrorCode::kDeadlineExceeded, Fault::kOverload, message.data(), context_.n_context());
}

void DecodeLoop::Handle(Cancel&& cancel) {
  if (auto* slot = slots_.Find(cancel.id)) return Finish(*slot, FinishReason::kCancelled);
  auto sequence = waiting_.Take(cancel.id);
  if (!sequence) sequence = TakeParked(parked_, cancel.id);
  if (sequence) Emit(sequence->End(FinishReason::kCancelled));
}

void DecodeLoop::Handle(Acknowledge&& acknowledge) {
  if (auto* slot = slots_.Find(acknowledge.id)) return slot->sequence->Acknowledge(acknowledge.n_events);
  if (auto* sequence = waiting_.Find(acknowledge.id)) return sequence->Acknowledge(acknowledge.n_events);
  const auto found =
      std::ranges::find_if(parked_, [&](const auto& sequence) { return sequence->id() == acknowledge.id; });
  if (found == parked_.end()) return;
  (*found)->Acknowledge(acknowledge.n_events);
  if (!(*found)->IsPaused()) waiting_.Add(TakeParked(parked_, acknowledge.id));
}

void DecodeLoop::Handle(Fetched&& fetched) {
  auto* slot = slots_.Find(fetched.id);
  // The sequence may have ended, or lost its slot and got another one.
  if (!slot || !std::exchange(slot->awaits_disk_until, std::nullopt) || !fetched.prompt) return;
  const auto n_restored = slots_.Restore(*slot, fetched.prompt->tokens, fetched.prompt->state.span());
  counters_.Change([&](Counts& counts) { counts.n_restored += n_restored; });
}

void DecodeLoop::Handle(LimitKept&& limit) { slots_.kept().Limit(limit.n_bytes); }

void DecodeLoop::EndOverdue() {
  const auto now = Clock::now();
  const auto is_away = [&](const Sequence& sequence) {
    return sequence.IsPaused() && sequence.paused_at() + reader_timeout_ <= now;
  };
  const std::string too_late = "its deadline passed before its answer was complete";
  const std::string away = "its reader took nothing for " + std::to_string(reader_timeout_.count() / 1000) + " s";
  for (auto& slot : slots_) {
    if (!slot.sequence) continue;
    if (slot.sequence->terms().IsOverdue(now)) {
      Fail(slot, ErrorCode::kDeadlineExceeded, Fault::kCancelled, too_late);
    } else if (is_away(*slot.sequence)) {
      Fail(slot, ErrorCode::kSlowReader, Fault::kCaller, away);
    }
  }
  std::erase_if(parked_, [&](const auto& sequence) {
    const bool is_overdue = sequence->terms().IsOverdue(now);
    if (!is_overdue && !is_away(*sequence)) return false;
    Emit(is_overdue ? sequence->Failure(ErrorCode::kDeadlineExceeded, Fault::kCancelled, too_late, context_.n_context())
                    : sequence->Failure(ErrorCode::kSlowReader, Fault::kCaller, away, context_.n_context()));
    return true;
  });
  for (const auto& sequence : waiting_.TakeOverdue(now)) {
    const bool has_begun = sequence->HasNextToken();
    Emit(sequence->Failure(ErrorCode::kDeadlineExceeded, has_begun ? Fault::kCancelled : Fault::kOverload,
                           has_begun ? too_late : "its deadline passed while it waited for its turn",
                           context_.n_context()));
  }
}

void DecodeLoop::Park() {
  if (waiting_.empty() || CanAdmitNext()) return;
  const auto now = Clock::now();
  Slot* longest = nullptr;
  for (auto& slot : slots_) {
    if (!slot.sequence) continue;
    const auto& sequence = *slot.sequence;
    if (!sequence.IsPaused() || sequence.paused_at() + kParkAfter > now) continue;
    if (!longest || sequence.paused_at() < longest->sequence->paused_at()) longest = &slot;
  }
  if (!longest) return;
  parked_.push_back(Release(*longest));
}

void DecodeLoop::PauseForOthers() {
  // The keys of a pending shift are not moved yet.
  if (waiting_.empty() || CanAdmitNext() || is_shift_pending_) return;
  const auto& next = waiting_.Next(shares_).terms();
  Slot* paused = nullptr;
  const auto rank = [&](const Slot& slot) {
    return std::pair(shares_.Rank(slot.sequence->terms().tenant), slot.sequence->number);
  };
  for (auto& slot : slots_) {
    if (!slot.sequence || slot.sequence->n_in_turn < kTurnTokens) continue;
    if (!shares_.YieldsTo(slot.sequence->terms().tenant, next.tenant, next.weight)) continue;
    if (!paused || rank(slot) > rank(*paused)) paused = &slot;
  }
  if (!paused) return;
  uint64_t n_bytes = 0;
  const auto add = [&](const Sequence& sequence) {
    n_bytes += sequence.suspended ? sequence.suspended->state.size : 0;
  };
  for (const auto& sequence : waiting_) add(*sequence);
  for (const auto& sequence : parked_) add(*sequence);
  Log(LogLevel::kDebug, "request " + std::to_string(paused->sequence->id()) + " is paused after " +
                            std::to_string(paused->sequence->n_in_turn) + " tokens, because another user waits");
  counters_.Change([](Counts& counts) { counts.n_paused++; });
  GiveBack(*paused);
  Wait(slots_.Suspend(*paused,
                      n_bytes == 0 ? UINT64_MAX : kMostSuspendedBytes - std::min(n_bytes, kMostSuspendedBytes)));
}

void DecodeLoop::AdmitWaiting() {
  while (CanAdmitNext()) {
    auto next = waiting_.TakeNext(shares_);
    shares_.Begin(next->terms().tenant);
    next->is_preempted = false;
    auto& slot = *slots_.Admit(next);
    FetchBeginning(slot);
    NoteBegun(slot);
  }
}

void DecodeLoop::FetchBeginning(Slot& slot) {
  if (!prompt_store_ || slot.awaits) return;
  const auto& sequence = *slot.sequence;
  // The store may outlive the loop.
  const bool is_coming = prompt_store_->Fetch(
      sequence.adapter(), sequence.cache_key(), Slots::Takable(sequence), slot.decoded.size(),
      [&inbox = inbox_, id = sequence.id()](auto prompt) { inbox.Post(Fetched{id, std::move(prompt)}); });
  if (is_coming) slot.awaits_disk_until = Clock::now() + kFetchTimeout;
}

void DecodeLoop::EndFetches() {
  const auto now = Clock::now();
  for (auto& slot : slots_) {
    if (!slot.awaits_disk_until || *slot.awaits_disk_until > now) continue;
    Log(LogLevel::kWarn,
        "a prompt is computed, because the disk did not give it in " + std::to_string(kFetchTimeout.count()) + " s");
    slot.awaits_disk_until.reset();
  }
}

void DecodeLoop::SavePrompt(const Slot& slot) {
  // What saw tokens that are gone is of no use to other prompts, and images have no tokens by which a file could be
  // found.
  if (!prompt_store_ || slot.n_exact < slot.decoded.size() || !slot.images.empty()) return;
  prompt_store_->Save(slot.adapter, slot.cache_key, slot.decoded,
                      [&](uint64_t max_bytes) { return memory_.Save(slot.sequence_id, max_bytes); });
}

Deadline DecodeLoop::NextDue() const {
  Deadline due;
  const auto note = [&](const Sequence& sequence) {
    due = Earlier(due, sequence.terms().deadline);
    if (sequence.IsPaused()) due = Earlier(due, sequence.paused_at() + reader_timeout_);
  };
  for (const auto& slot : slots_) {
    if (!slot.sequence) continue;
    note(*slot.sequence);
    due = Earlier(due, slot.awaits_disk_until);
    if (!waiting_.empty() && slot.sequence->IsPaused()) due = Earlier(due, slot.sequence->paused_at() + kParkAfter);
  }
  for (const auto& sequence : parked_) note(*sequence);
  for (const auto& sequence : waiting_) note(*sequence);
  return due;
}

bool DecodeLoop::Step() {
  ShiftFull();
  auto plan = PlanThatFits();
  if (plan.shares.empty()) return false;
  planner_.Complete(plan);
  for (const auto& share : plan.shares) {
    if (!share.is_idle) NoteBegun(slots_[share.slot]);
  }
  const auto outputs = FillBatch(plan.shares);
  const auto most = std::ranges::max_element(plan.shares, {}, &Share::n_tokens);
  // Moved keys cannot be taken back, so a decode that moves some runs to its end.
  const bool is_abandonable = model_.CanRollBack() && !is_shift_pending_;
  inbox_.BeginDecode(is_abandonable && 2 * most->n_tokens > batch_.size() ? slots_[most->slot].sequence->id()
                                                                          : RequestId{-1});
  const auto started = std::chrono::steady_clock::now();
  const int32_t result = Decode(plan.adapter);
  const auto elapsed = std::chrono::steady_clock::now() - started;
  inbox_.EndDecode();

  if (result == Context::kAbandoned) {
    RollBack(plan.shares);
  } else if (result == Context::kNoRoom) {
    PreemptYoungest(plan.shares);
  } else if (result != 0) {
    FailAll("decoding failed: llama_decode returned " + std::to_string(result));
  } else {
    is_shift_pending_ = false;
    NoteWork(plan.shares, elapsed);
    NoteDecoded(plan);
    ScorePrompts(plan.shares);
    SampleAll(outputs);
  }
  return true;
}

void DecodeLoop::ShiftFull() {
  for (auto& slot : slots_) {
    if (!slot.sequence) continue;
    const bool was_computed = slot.n_prompt_left() == 0;
    const auto gap = slot.sequence->Shift(context_.n_context());
    if (!gap) continue;
    slots_.Shift(slot, gap->first, gap->n_tokens);
    is_shift_pending_ = true;
    counters_.Change([](Counts& counts) { counts.n_shifted++; });
    // What the shift makes compute again; what a preemption does costs nothing.
    if (was_computed) Charge(*slot.sequence, slot.n_prompt_left());
  }
}

StepPlan DecodeLoop::PlanThatFits() {
  while (true) {
    auto plan = planner_.Next();
    size_t n_tokens = 0;
    for (const auto& share : plan.shares) n_tokens += static_cast<size_t>(share.n_tokens);
    Slot* victim = slots_.MakeRoom(n_tokens) ? nullptr : slots_.FindVictim();
    if (!victim) return plan;
    Preempt(*victim);
  }
}

void DecodeLoop::NoteBegun(Slot& slot) {
  auto& sequence = *slot.sequence;
  if (slot.IsWaiting()) return;
  // Tokens that were computed before an interruption are not charged again.
  const auto n_left = static_cast<int64_t>(slot.n_prompt_left());
  const auto n_due = sequence.has_begun ? std::min(std::exchange(sequence.n_refunded, 0), n_left) : n_left;
  sequence.n_charged += n_due;
  if (n_due > 0) Charge(sequence, static_cast<double>(n_due));
  if (std::exchange(sequence.has_begun, true)) return;
  // What it reuses was not computed for it.
  sequence.NoteHeld(slot.decoded.size());
  sequence.n_in_turn = 0;
  counters_.Change([&](Counts& counts) {
    counts.n_prompt += static_cast<uint64_t>(sequence.n_prompt());
    counts.n_reused += static_cast<uint64_t>(sequence.n_reused);
  });
}

void DecodeLoop::Charge(const Sequence& sequence, double n_tokens) {
  shares_.Charge(sequence.terms().tenant, sequence.terms().weight, n_tokens);
}

void DecodeLoop::Preempt(Slot& slot) {
  auto sequence = Release(slot);
  // What one that has not begun took from others must not become its own tenant's, of whose texts readers are told.
  if (sequence->has_begun)
    slots_.GiveUp(slot);
  else
    slots_.Forget(slot);
  counters_.Change([](Counts& counts) { counts.n_preempted++; });
  sequence->is_preempted = true;
  Wait(std::move(sequence));
}

void DecodeLoop::Wait(std::unique_ptr<Sequence> sequence) {
  if (sequence->IsPaused())
    parked_.push_back(std::move(sequence));
  else
    waiting_.Add(std::move(sequence));
}

std::vector<DecodeLoop::Output> DecodeLoop::FillBatch(const std::vector<Share>& plan) {
  std::vector<Output> outputs;
  batch_.Clear();
  for (const auto& share : plan) {
    const auto& slot = slots_[share.slot];
    const auto position = slot.next_position();
    if (share.is_idle) {
      batch_.Add(kIdleToken, position, slot.sequence_id, false);
      continue;
    }
    const int32_t n_prompt_left = slot.n_prompt_left();
    if (n_prompt_left == 0) {
      outputs.push_back({share.slot, batch_.Add(slot.sequence->next_token(), position, slot.sequence_id, true)});
      auto next = position;
      for (const auto token : slot.draft) batch_.Add(token, ++next, slot.sequence_id, true);
      continue;
    }
    const auto& sequence = *slot.sequence;
    if (const auto* image = slot.next_image()) {
      const size_t first = slot.decoded.size();
      const bool is_sampled = share.n_tokens == n_prompt_left && !sequence.HasNextToken();
      const auto numbers = std::span(sequence.history()).subspan(first, static_cast<size_t>(share.n_tokens));
      const auto index = batch_.AddImage(*image, first - image->first, numbers,
                                         PositionAfter(slot.images, image->first), slot.sequence_id, is_sampled);
      if (is_sampled) outputs.push_back({share.slot, index});
      continue;
    }
    for (int32_t i = 0; i < share.n_tokens; i++) {
      const bool is_sampled = i + 1 == n_prompt_left && !sequence.HasNextToken();
      const auto at = slot.decoded.size() + static_cast<size_t>(i);
      const int32_t index =
          batch_.Add(sequence.history()[at], position + i, slot.sequence_id, sequence.WantsLogits(at));
      if (is_sampled) outputs.push_back({share.slot, index});
    }
  }
  return outputs;
}

int32_t DecodeLoop::Decode(const AdapterUse& adapter) {
  const ScopedLogDemotion demotion(inbox_.is_abandoned());
  try {
    adapters_.Apply(context_.get(), adapter);
    const WholeImage whole_image(context_.get(), batch_.image());
    const int32_t result = llama_decode(context_.get(), batch_.get());
    llama_synchronize(context_.get());  // or a GPU would still compute when the step's time is taken
    return result;
  } catch (const std::exception& error) {
    Log(LogLevel::kError, std::string("llama_decode: ") + error.what());
    return Context::kComputeFailed;
  }
}

void DecodeLoop::NoteState() {
  const auto n_running = std::ranges::count_if(slots_, [](const Slot& slot) { return slot.sequence != nullptr; });
  counters_.Change([&](Counts& counts) {
    counts.n_waiting = waiting_.size() + parked_.size();
    counts.n_running = static_cast<uint64_t>(n_running);
    counts.n_used_cells = slots_.n_used_cells();
    counts.n_cells = static_cast<uint64_t>(context_.n_cells());
    const auto& use = slots_.kept_use();
    counts.n_kept_hits = use.n_hits;
    counts.n_kept_misses = use.n_misses;
    counts.n_kept_tokens = use.n_tokens;
    counts.n_kept_states = slots_.kept().states().size();
    counts.n_kept_bytes = slots_.kept().n_bytes();
  });
}

void DecodeLoop::NoteWork(const std::vector<Share>& plan, std::chrono::duration<double> elapsed) {
  int32_t n_prompt = 0;
  uint64_t n_idle = 0;
  for (const auto& share : plan) {
    if (share.is_idle)
      n_idle++;
    else if (slots_[share.slot].n_prompt_left() > 0)
      n_prompt += share.n_tokens;
  }
  const double prefill_seconds =
      elapsed.count() * n_prompt / static_cast<double>(static_cast<uint64_t>(batch_.size()) - n_idle);
  const auto n_ubatches = planner_.NoteStep(batch_, elapsed);
  counters_.Change([&](Counts& counts) {
    counts.n_steps++;
    counts.n_ubatches += static_cast<uint64_t>(n_ubatches);
    counts.n_computed += static_cast<uint64_t>(batch_.size()) - n_idle;
    counts.n_idle += n_idle;
    counts.prefill_seconds += prefill_seconds;
    counts.decode_seconds += elapsed.count() - prefill_seconds;
  });
}

void DecodeLoop::NoteDecoded(const StepPlan& plan) {
  const auto* tokens = batch_.tokens();
  const double overhead = planner_.Overhead(plan, batch_);
  for (const auto& share : plan.shares) {
    auto& slot = slots_[share.slot];
    if (share.is_idle) {
      slots_.RollBack(slot);
      tokens++;
      continue;
    }
    // The tokens of the prompt were charged when the sequence began, and what is computed again after an interruption
    // costs nothing.
    if (slot.n_prompt_left() == 0)
      Charge(*slot.sequence, share.n_tokens + overhead);
    else if (slot.sequence->n_charged > 0)
      Charge(*slot.sequence, overhead);
    slots_.Append(slot, tokens, static_cast<size_t>(share.n_tokens));
    slot.sequence->NoteHeld(slot.decoded.size());
    tokens += share.n_tokens;
  }
  shares_.Advance(waiting_);
}

void DecodeLoop::ScorePrompts(const std::vector<Share>& plan) {
  int32_t next = 0;
  for (const auto& share : plan) {
    auto& slot = slots_[share.slot];
    const int32_t first = std::exchange(next, next + share.n_tokens);
    if (share.is_idle || !slot.sequence->IsPromptScored()) continue;
    FailOnError(slot, [&] { ScorePrompt(slot, first, share.n_tokens); });
  }
}

void DecodeLoop::ScorePrompt(Slot& slot, int32_t first, int32_t n_tokens) {
  auto& sequence = *slot.sequence;
  size_t position = slot.decoded.size() - static_cast<size_t>(n_tokens);
  for (int32_t index = first; index < first + n_tokens; index++, position++) {
    const auto logits = sequence.WantsLogits(position) ? LogitsOf(index) : std::span<float>();
    sequence.ScorePrompt(position, logits, sampler_.memory(), model_);
  }
  if (auto scored = sequence.TakePromptScores()) Emit({sequence.id(), std::move(*scored)});
}

void DecodeLoop::SampleAll(const std::vector<Output>& outputs) {
  std::vector<SampleJob> jobs;
  std::vector<Slot*> slots;
  for (const auto& output : outputs) {
    auto& slot = slots_[output.slot];
    if (!slot.sequence) continue;
    FailOnError(slot, [&] {
      jobs.push_back(JobOf(slot, output.index));
      slots.push_back(&slot);
    });
  }
  auto results = sampler_.Run(jobs);
  for (size_t i = 0; i < jobs.size(); i++) {
    FailOnError(*slots[i], [&] { NoteSampled(*slots[i], jobs[i].draft.size(), std::move(results[i])); });
  }
}

template <class Fn>
void DecodeLoop::FailOnError(Slot& slot, Fn work) {
  try {
    work();
  } catch (const SamplingError& error) {
    const bool is_callers = error.fault() == Fault::kCaller;
    Fail(slot, is_callers ? ErrorCode::kInvalidSampling : ErrorCode::kFailed, error.fault(), error.what());
    // Keys and values from which the model computed such logits must not be reused.
    if (!is_callers) slots_.Forget(slot);
  } catch (const std::exception& error) {
    Fail(slot, ErrorCode::kFailed, Fault::kDeployment, std::string("sampling failed: ") + error.what());
  }
}

SampleJob DecodeLoop::JobOf(Slot& slot, int32_t index) {
  SampleJob job{.sequence = slot.sequence.get(), .draft = std::exchange(slot.draft, {})};
  for (size_t i = 0; i <= job.draft.size(); i++) job.logits.push_back(LogitsOf(index + static_cast<int32_t>(i)));
  return job;
}

void DecodeLoop::NoteSampled(Slot& slot, size_t n_drafted, Sampled&& sampled) {
  for (auto& text : sampled.texts) Emit({slot.sequence->id(), std::move(text)});
  if (sampled.error) std::rethrow_exception(sampled.error);
  counters_.Change([&](Counts& counts) { counts.n_generated += sampled.n_accepted + 1; });
  if (n_drafted > 0) NoteSpeculation(slot, n_drafted, sampled.n_accepted);
  if (sampled.finished) Finish(slot, *sampled.finished);
}

void DecodeLoop::NoteSpeculation(Slot& slot, size_t n_drafted, size_t n_accepted) {
  slot.sequence->NoteAccepted(n_drafted, n_accepted);
  counters_.Change([&](Counts& counts) {
    counts.n_drafted += n_drafted;
    counts.n_accepted += n_accepted;
  });
  slots_.Truncate(slot, slot.decoded.size() - (n_drafted - n_accepted));
}

std::span<float> DecodeLoop::LogitsOf(int32_t index) {
  auto* logits = llama_get_logits_ith(context_.get(), index);
  if (!logits) throw std::runtime_error("llama.cpp has no logits for a token of the batch");
  return {logits, static_cast<size_t>(model_.n_vocab())};
}

void DecodeLoop::RollBack(const std::vector<Share>& plan) {
  for (const auto& share : plan) slots_.RollBack(slots_[share.slot]);
}

void DecodeLoop::PreemptYoungest(const std::vector<Share>& plan) {
  RollBack(plan);
  if (slots_.ForgetFree()) return;
  if (auto* victim = slots_.FindVictim()) return Preempt(*victim);
  auto& slot = slots_[plan.front().slot];
  Fail(slot, ErrorCode::kNoRoom, Fault::kOverload, "the context has no room left");
  slots_.Forget(slot);
}

void DecodeLoop::FailAll(const std::string& message) {
  for (auto& slot : slots_) {
    if (slot.sequence) Fail(slot, ErrorCode::kFailed, Fault::kDeployment, message);
  }
  slots_.ForgetAll();
}

std::unique_ptr<Sequence> DecodeLoop::Release(Slot& slot) {
  GiveBack(slot);
  return slots_.Release(slot);
}

void DecodeLoop::GiveBack(const Slot& slot) {
  auto& sequence = *slot.sequence;
  // What was charged for the prompt and is not computed.
  const auto n_charged = std::exchange(sequence.n_charged, 0);
  const auto n_missing = sequence.HasNextToken() ? 0 : std::min<int64_t>(n_charged, slot.n_prompt_left());
  sequence.n_refunded += n_missing;
  if (n_missing > 0) Charge(sequence, -static_cast<double>(n_missing));
  shares_.End(sequence.terms().tenant);
}

void DecodeLoop::Finish(Slot& slot, FinishReason reason) {
  if (reason != FinishReason::kCancelled) SavePrompt(slot);
  Emit(Release(slot)->End(reason));
}

void DecodeLoop::Fail(Slot& slot, ErrorCode code, Fault fault, const std::string& message) {
  Emit(Release(slot)->Failure(code, fault, message, context_.n_context()));
}

}  // namespace aana::llama
