#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "core/llama/answer/chat_answers.h"
#include "core/llama/counters.h"
#include "core/llama/draft/draft_model.h"
#include "core/llama/inbox.h"
#include "core/llama/model/adapters.h"
#include "core/llama/model/model.h"
#include "core/llama/model/rule_finder.h"
#include "core/llama/outbox.h"
#include "core/llama/prompt/chat_template.h"
#include "core/llama/prompt_cache/prompt_store.h"
#include "core/llama/prompt/prompt_reader.h"
#include "core/llama/prompt/prompt_tokenizer.h"
#include "core/llama/vision/image_encoder.h"
#include "core/llama/vision/projector.h"
#include "core/pulse.h"

namespace aana::llama {

// One model, the thread that decodes with it for many requests at the same time, the thread that reads their prompts,
// and the one that encodes their images. The first loads the model, decodes until it is stopped and frees the model.
// All tell everything through the outbox.
class Engine {
 public:
  using Options = LoadOptions;
  using Event = llama::Event;

  // `wake` is called on any thread when there is something to take; it must not block.
  Engine(LoadOptions options, std::function<void()> wake);
  // Stops and waits.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // One thread at a time. `Delivery::events` are in order.
  Delivery Take() {
    auto delivery = outbox_.Take();
    answers_.Read(delivery.events);
    return delivery;
  }
  // Any thread, as the following.
  void Submit(Request request) { prompts_.Post(std::move(request)); }
  void Submit(CountRequest request) { prompts_.Post(std::move(request)); }
  void Cancel(RequestId id) {
    if (!prompts_.Cancel(id) && !images_.Cancel(id)) inbox_.Post(llama::Cancel{id});
  }
  void Acknowledge(RequestId id, int64_t n_events) { inbox_.Post(llama::Acknowledge{id, n_events}); }
  // Gives up what was computed for texts without a slot until it has at most so many bytes, also later.
  void LimitKept(uint64_t n_bytes) { inbox_.Post(llama::LimitKept{n_bytes}); }
  // Ends all requests, then frees the model; kClosed follows.
  void Stop() {
    prompts_.Stop();
    images_.Stop();
    inbox_.Stop();
  }
  // Waits for the thread after Stop, kFailed or kClosed. Requests whose end was not delivered by then get none.
  void Join();
  // Decodes made.
  uint64_t steps() const { return counters_.Read().n_steps; }
  Counts counts() const { return counters_.Read(); }
  // Has sequences that it can go on with; then beats() grows. The same for an engine whose thread has ended, which
  // never beats again.
  bool IsBusy() { return inbox_.HasWork(); }
  uint64_t beats() const { return pulse_.beats() + steps(); }

  // From kReady until Stop, by one thread.
  const ModelInfo& info() const { return info_; }
  size_t n_adapters() const { return options_.adapters.size(); }

 private:
  // Asked by the decode all the time.
  static bool IsAbandoned(void* engine);
  void Run();
  // False when the load was stopped. Throws LoadError.
  bool Load();

  const LoadOptions options_;
  Inbox inbox_;
  Outbox outbox_;
  Counters counters_;
  Pulse pulse_;
  // Written before kReady.
  ModelInfo info_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Projector> projector_;  // null without one
  std::unique_ptr<Adapters> adapters_;
  std::unique_ptr<Context> context_;
  std::unique_ptr<DraftModel> draft_model_;    // null without one
  std::unique_ptr<PromptStore> prompt_store_;  // null where prompts are not kept on disk
  std::unique_ptr<ChatTemplate> chat_template_;
  std::unique_ptr<PromptTokenizer> tokenizer_;
  std::unique_ptr<RuleFinder> rule_finder_;
  ChatAnswers answers_;
  ImageEncoder images_{inbox_, outbox_, counters_};
  PromptReader prompts_{inbox_, outbox_, answers_, images_};
  std::thread thread_;  // last: it uses all the others
};

}  // namespace aana::llama
