#include "core/llama/decode_loop.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "core/engine_log.h"

namespace aana::llama {
namespace {

// What llama_decode returns besides 0 and errors below 0.
constexpr int32_t kNoRoom = 1;
constexpr int32_t kAbandoned = 2;
constexpr int32_t kComputeFailed = -3;

}  // namespace

DecodeLoop::DecodeLoop(const Model& model, const Context& context, const LoadOptions& options, Inbox& inbox, Outbox& outbox,
                       std::atomic<uint64_t>& steps, Pulse& pulse)
    : model_(model),
      context_(context),
      inbox_(inbox),
      outbox_(outbox),
      steps_(steps),
      pulse_(pulse),
      scheduler_(options.n_prefill_per_step),
      slots_(static_cast<size_t>(options.n_sequences), context.memory()),
      batch_(context.n_batch()) {}

void DecodeLoop::Run() {
  bool is_idle = false;
  while (!inbox_.IsStopping()) {
    try {
      for (auto& command : inbox_.Take(is_idle)) {
        std::visit([this](auto& specific) { Handle(std::move(specific)); }, command);
      }
      AdmitWaiting();
      is_idle = !Step();
    } catch (const std::exception& error) {
      FailAll(std::string("decoding failed: ") + error.what());
      is_idle = false;
    }
    outbox_.Post(std::exchange(events_, {}));
  }
  for (auto& slot : slots_) {
    if (slot.sequence) Finish(slot, FinishReason::kCancelled);
  }
  for (const auto& sequence : waiting_) Emit(sequence->End(FinishReason::kCancelled));
  for (const auto& command : inbox_.Take(false)) {
    if (const auto* request = std::get_if<Request>(&command)) Emit({request->id, EndEvent{FinishReason::kCancelled}});
  }
  outbox_.Post(std::exchange(events_, {}));
}

void DecodeLoop::Handle(Request&& request) {
  const auto id = request.id;
  std::unique_ptr<Sequence> sequence;
  const Pulse::Pause pause(pulse_);
  try {
    sequence = std::make_unique<Sequence>(std::move(request), model_);
  } catch (const std::exception& error) {
    Emit({id, ErrorEvent{ErrorCode::kFailed, std::string("the prompt could not be read: ") + error.what(), 0, context_.n_context()}});
    return;
  }
  const int32_t n_prompt = sequence->n_prompt();
  const int32_t n_context = context_.n_context();
  if (n_prompt > n_context - 1) {
    const auto message = "the prompt has " + std::to_string(n_prompt) + " tokens, the context holds " + std::to_string(n_context);
    Emit(sequence->Failure(ErrorCode::kPromptTooLong, message, n_context));
  } else if (n_prompt == 0) {
    Emit(sequence->Failure(ErrorCode::kFailed, "the prompt is empty", n_context));
  } else if (sequence->WantsNothing()) {
    Emit(sequence->End(FinishReason::kLength));
  } else {
    sequence->number = n_requests_++;
    waiting_.push_back(std::move(sequence));
  }
}

void DecodeLoop::Handle(Cancel&& cancel) {
  if (auto* slot = slots_.Find(cancel.id)) return Finish(*slot, FinishReason::kCancelled);
  const auto found = std::ranges::find_if(waiting_, [&](const auto& sequence) { return sequence->id() == cancel.id; });
  if (found == waiting_.end()) return;
  Emit((*found)->End(FinishReason::kCancelled));
  waiting_.erase(found);
}

void DecodeLoop::Handle(Acknowledge&& acknowledge) {
  if (auto* slot = slots_.Find(acknowledge.id)) slot->sequence->Acknowledge(acknowledge.n_events);
}

void DecodeLoop::AdmitWaiting() {
  while (!waiting_.empty() && slots_.Admit(waiting_.front())) waiting_.pop_front();
}

bool DecodeLoop::Step() {
  const auto plan = Plan();
  if (plan.empty()) return false;
  const auto outputs = FillBatch(plan);
  const auto most = std::ranges::max_element(plan, {}, &Share::n_tokens);
  inbox_.BeginDecode(model_.CanRollBack() && 2 * most->n_tokens > batch_.size() ? slots_[most->slot].sequence->id() : RequestId{-1});
  const auto started = std::chrono::steady_clock::now();
  const int32_t result = Decode();
  const auto elapsed = std::chrono::steady_clock::now() - started;
  inbox_.EndDecode();

  if (result == kAbandoned) {
    RollBack(plan);
  } else if (result == kNoRoom) {
    FailYoungest(plan);
  } else if (result != 0) {
    FailAll("decoding failed: llama_decode returned " + std::to_string(result));
  } else {
    steps_++;
    scheduler_.NoteStep(batch_.size(), elapsed);
    NoteDecoded(plan);
    SampleAll(outputs);
  }
  return true;
}

std::vector<Share> DecodeLoop::Plan() {
  std::vector<Demand> demands;
  for (size_t i = 0; i < slots_.size(); i++) {
    const auto& slot = slots_[i];
    if (slot.sequence) demands.push_back({i, slot.n_prompt_left(), slot.sequence->IsPaused()});
  }
  return scheduler_.Plan(demands);
}

std::vector<DecodeLoop::Output> DecodeLoop::FillBatch(const std::vector<Share>& plan) {
  std::vector<Output> outputs;
  batch_.Clear();
  for (const auto& share : plan) {
    const auto& slot = slots_[share.slot];
    const auto position = static_cast<llama_pos>(slot.decoded.size());
    const int32_t n_prompt_left = slot.n_prompt_left();
    if (n_prompt_left == 0) {
      outputs.push_back({share.slot, batch_.Add(slot.sequence->next_token(), position, slot.sequence_id, true)});
      continue;
    }
    for (int32_t i = 0; i < share.n_tokens; i++) {
      const bool is_last = i + 1 == n_prompt_left;
      const auto token = slot.sequence->prompt()[static_cast<size_t>(position + i)];
      const int32_t index = batch_.Add(token, position + i, slot.sequence_id, is_last);
      if (is_last) outputs.push_back({share.slot, index});
    }
  }
  return outputs;
}

int32_t DecodeLoop::Decode() {
  const ScopedLogDemotion demotion(inbox_.is_abandoned());
  try {
    return llama_decode(context_.get(), batch_.get());
  } catch (const std::exception& error) {
    Log(LogLevel::kError, std::string("llama_decode: ") + error.what());
    return kComputeFailed;
  }
}

void DecodeLoop::NoteDecoded(const std::vector<Share>& plan) {
  int32_t index = 0;
  for (const auto& share : plan) {
    auto& decoded = slots_[share.slot].decoded;
    const auto* tokens = batch_.get().token + index;
    decoded.insert(decoded.end(), tokens, tokens + share.n_tokens);
    index += share.n_tokens;
  }
}

void DecodeLoop::SampleAll(const std::vector<Output>& outputs) {
  for (const auto& output : outputs) {
    auto& slot = slots_[output.slot];
    try {
      auto [text, finished] = slot.sequence->Sample(context_.get(), output.index, model_, context_.n_context());
      if (text) Emit({slot.sequence->id(), std::move(*text)});
      if (finished) Finish(slot, *finished);
    } catch (const std::exception& error) {
      Fail(slot, std::string("sampling failed: ") + error.what());
    }
  }
}

void DecodeLoop::RollBack(const std::vector<Share>& plan) {
  for (const auto& share : plan) {
    auto& slot = slots_[share.slot];
    if (slots_.RollBack(slot)) continue;
    Fail(slot, "decoding was interrupted and cannot go on");
    slots_.Forget(slot);
  }
}

void DecodeLoop::FailYoungest(const std::vector<Share>& plan) {
  RollBack(plan);
  Slot* youngest = nullptr;
  for (const auto& share : plan) {
    auto& slot = slots_[share.slot];
    if (slot.sequence && (!youngest || slot.sequence->number > youngest->sequence->number)) youngest = &slot;
  }
  if (!youngest) return;
  Fail(*youngest, "the context has no room left");
  slots_.Forget(*youngest);
}

void DecodeLoop::FailAll(const std::string& message) {
  for (auto& slot : slots_) {
    if (slot.sequence) Fail(slot, message);
  }
  slots_.ForgetAll();
}

void DecodeLoop::Finish(Slot& slot, FinishReason reason) { Emit(slots_.Release(slot)->End(reason)); }

void DecodeLoop::Fail(Slot& slot, const std::string& message) {
  Emit(slots_.Release(slot)->Failure(ErrorCode::kFailed, message, context_.n_context()));
}

}  // namespace aana::llama
