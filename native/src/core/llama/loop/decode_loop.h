#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/llama/counters.h"
#include "core/llama/draft/draft_model.h"
#include "core/llama/loop/batch.h"
#include "core/llama/inbox.h"
#include "core/llama/model/adapters.h"
#include "core/llama/model/model.h"
#include "core/llama/outbox.h"
#include "core/llama/prompt_cache/prompt_store.h"
#include "core/fair_share.h"
#include "core/llama/schedule/sequence_memory.h"
#include "core/llama/schedule/slots.h"
#include "core/llama/loop/step_planner.h"
#include "core/llama/loop/step_sampler.h"
#include "core/llama/schedule/waiting_line.h"

namespace aana::llama {

// What the engine's thread does with a loaded model: take requests, then in each step schedule, build a batch, decode,
// sample, deliver.
class DecodeLoop {
 public:
  // All are used until Run returns. `draft_model` and `prompt_store` may be null.
  DecodeLoop(const Model& model, const Context& context, const Adapters& adapters, DraftModel* draft_model,
             PromptStore* prompt_store, const LoadOptions& options, Inbox& inbox, Outbox& outbox, Counters& counters);

  // Works until the inbox stops. What it throws (it has no memory left) may have come between a request and its end, so
  // nothing can go on then: whoever submitted requests must end those that are open.
  void Run();
  // One turn of Run: takes what the inbox has, which it waits for on request, and makes a step. False when no sequence
  // could go on.
  bool Turn(bool waits);
  // Ends all requests as cancelled, after Run and when nothing comes to the inbox any more.
  void EndAll();

 private:
  // A token of the batch whose logits a sequence waits for, with the guessed tokens behind it.
  struct Output {
    size_t slot;
    int32_t index;
  };

  void Handle(ReadRequest&& request);
  // Refuses a sequence that this context cannot compute reproducibly, or whose deadline passes before its prompt can be
  // read, however fast the engine is.
  std::optional<Event> RefusalOf(const Sequence& sequence) const;
  void Handle(Cancel&& cancel);
  void Handle(Acknowledge&& acknowledge);
  void Handle(Fetched&& fetched);
  void Handle(LimitKept&& limit);
  // Ends requests whose deadline has passed, and those whose readers stay away.
  void EndOverdue();
  // While others wait, sequences whose readers are behind give up their slots; they go on when their readers have
  // caught up.
  void Park();
  // Takes the slot of a sequence whose tenant had more than its share, where one of another tenant waits.
  void PauseForOthers();
  bool CanAdmitNext() const { return !waiting_.empty() && slots_.HasFree() && slots_.Fits(waiting_.Next(shares_)); }
  void AdmitWaiting();
  // A sequence that lost its slot waits for another one, or for its reader.
  void Wait(std::unique_ptr<Sequence> sequence);
  // Lets a slot wait for the beginning of its sequence, where the disk has more of it than the context.
  void FetchBeginning(Slot& slot);
  // Sequences go on without a disk that does not answer.
  void EndFetches();
  // Keeps what the slot has on disk, where it is worth it.
  void SavePrompt(const Slot& slot);
  // Returns when EndOverdue, EndFetches or Park has something to do next, if no command comes before.
  Deadline NextDue() const;

  // False when no sequence can go on now.
  bool Step();
  // Takes the slots of sequences, the youngest first, until the context has cells for a plan. They go on later.
  StepPlan PlanThatFits();
  // Makes room in sequences that fill the context, where their requests allow it.
  void ShiftFull();
  void Preempt(Slot& slot);
  // Counts the tokens of a sequence that begins, once, and charges its tenant for those of the prompt that are to be
  // computed.
  void NoteBegun(Slot& slot);
  void Charge(const Sequence& sequence, double n_tokens);
  std::vector<Output> FillBatch(const std::vector<Share>& plan);
  // As llama_decode returns; an exception counts as a failed computation.
  int32_t Decode(const AdapterUse& adapter);
  // Counts the decode of a plan that just ended, before its tokens are noted, and learns from its time.
  void NoteWork(const std::vector<Share>& plan, std::chrono::duration<double> elapsed);
  // Counts what there is at the moment.
  void NoteState();
  void NoteDecoded(const StepPlan& plan);
  // Takes the scores of prompts from the logits of the batch.
  void ScorePrompts(const std::vector<Share>& plan);
  // The slot's tokens are `n_tokens` of the batch from `first` on.
  void ScorePrompt(Slot& slot, int32_t first, int32_t n_tokens);
  void SampleAll(const std::vector<Output>& outputs);
  // Does work with the logits of a slot. Its sequence fails when that throws.
  template <class Fn>
  void FailOnError(Slot& slot, Fn work);
  // What choosing the next tokens of a slot needs. Forgets its guesses.
  SampleJob JobOf(Slot& slot, int32_t index);
  // Tells and counts the tokens that were chosen. `n_drafted` were guessed. Throws what choosing them threw.
  void NoteSampled(Slot& slot, size_t n_drafted, Sampled&& sampled);
  // Forgets guesses that did not come true.
  void NoteSpeculation(Slot& slot, size_t n_drafted, size_t n_accepted);
  std::span<float> LogitsOf(int32_t index);

  void RollBack(const std::vector<Share>& plan);
  void PreemptYoungest(const std::vector<Share>& plan);
  void FailAll(const std::string& message);

  // Frees the slot.
  std::unique_ptr<Sequence> Release(Slot& slot);
  // Accounts for a slot that is freed.
  void GiveBack(const Slot& slot);
  void Finish(Slot& slot, FinishReason reason);
  void Fail(Slot& slot, ErrorCode code, Fault fault, const std::string& message);
  void Emit(Event event) { events_.push_back(std::move(event)); }

  const Model& model_;
  const Context& context_;
  const Adapters& adapters_;
  PromptStore* const prompt_store_;
  Inbox& inbox_;
  Outbox& outbox_;
  Counters& counters_;
  StepSampler sampler_;
  ContextMemory memory_;
  Slots slots_;
  StepPlanner planner_;
  Batch batch_;
  FairShare shares_;
  WaitingLine waiting_;                            // for a slot
  std::vector<std::unique_ptr<Sequence>> parked_;  // for their readers, without a slot
  const std::chrono::milliseconds reader_timeout_;
  std::vector<Event> events_;      // of this step
  bool is_shift_pending_ = false;  // the next decode moves keys
  uint64_t n_requests_ = 0;
};

}  // namespace aana::llama
