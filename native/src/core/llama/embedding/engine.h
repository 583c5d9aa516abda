#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/llama/embedding/encoder.h"
#include "core/llama/embedding/fair_line.h"
#include "core/llama/embedding/options.h"
#include "core/llama/embedding/request.h"
#include "core/llama/embedding/text_reader.h"
#include "core/llama/model/model.h"
#include "core/llama/outbox.h"
#include "core/pulse.h"

namespace aana::llama {

// What an engine has computed since its load, and the requests that it has at the moment.
struct EmbeddingCounts {
  uint64_t n_steps = 0;    // computations
  uint64_t n_texts = 0;    // texts of these computations
  uint64_t n_tokens = 0;   // tokens of these texts
  uint64_t n_waiting = 0;  // requests of which no text was computed
  uint64_t n_running = 0;  // other requests
};

// One model for embeddings or scores, the thread that computes the texts of many requests together, and the thread that
// reads them. The first loads the model, computes until it is stopped and frees the model. Both tell everything through
// the outbox.
class EmbeddingEngine {
 public:
  using Options = EmbeddingOptions;
  using Event = EmbeddingEvent;

  // `wake` is called on any thread when there is something to take; it must not block.
  EmbeddingEngine(EmbeddingOptions options, std::function<void()> wake);
  // Stops and waits.
  ~EmbeddingEngine();
  EmbeddingEngine(const EmbeddingEngine&) = delete;
  EmbeddingEngine& operator=(const EmbeddingEngine&) = delete;

  // Any thread.
  DeliveryOf<EmbeddingEvent> Take() { return outbox_.Take(); }
  void Submit(EmbeddingRequest request);
  // Ends the request as cancelled. A computation that only its texts need ends soon afterwards. Unknown ids are
  // ignored.
  void Cancel(RequestId id);
  // Ends all requests, then frees the model; kClosed follows.
  void Stop();
  // Waits for the thread after Stop, kFailed or kClosed.
  void Join();
  // Number of computations made.
  uint64_t steps() const { return steps_; }
  EmbeddingCounts counts();
  // While it is busy, beats() grows.
  bool IsBusy();
  uint64_t beats() const { return pulse_.beats() + steps_; }

  // From kReady until Stop, by one thread.
  const EmbeddingModelInfo& info() const { return info_; }

 private:
  struct Call {
    EmbeddingRequest request;
    std::chrono::steady_clock::time_point arrived_at = {};
    std::optional<std::chrono::steady_clock::time_point> began_at = {};  // when its first text was chosen
    std::vector<std::vector<llama_token>> texts;                         // as far as they were read
    size_t n_computed = 0;
    std::vector<float> values;  // of the computed texts
  };
  using CallPtr = std::shared_ptr<Call>;
  // A text of the batch that is computed.
  struct Pick {
    CallPtr call;
    size_t index;
  };

  static bool IsAbandoned(void* engine);
  void Run();
  bool Load();
  void ReadAll();
  // Reads some texts of the request that is next. False when the engine stops.
  bool ReadNext();
  // Reads some texts of the call, without the lock. Returns the work done, in bytes.
  uint64_t ReadSome(Call& call) const;
  void ComputeAll();
  void Compute(const std::vector<Pick>& picks);

  // All of these need the lock.
  bool IsOpen(const Call& call) const { return calls_.contains(call.request.id); }
  void NoteRead(const CallPtr& call);
  std::vector<Pick> ChooseTexts();
  void NoteComputed(const std::vector<Pick>& picks, const std::vector<float>& values);
  void EndOverdue();
  Deadline NextDue() const;
  void End(Call& call, decltype(EmbeddingEvent::what) what);
  void EndAll();

  const EmbeddingOptions options_;
  OutboxOf<EmbeddingEvent> outbox_;
  std::atomic<uint64_t> steps_ = 0;
  Pulse pulse_;
  // Written before kReady.
  EmbeddingModelInfo info_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Encoder> encoder_;
  std::unique_ptr<TextReader> texts_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> is_stopping_ = false;
  std::atomic<bool> is_abandoned_ = false;  // nobody needs the computation that runs
  std::unordered_map<RequestId, CallPtr> calls_;
  FairLine to_read_;
  FairLine to_compute_;
  uint64_t n_computed_texts_ = 0;
  uint64_t n_computed_tokens_ = 0;
  std::vector<RequestId> computed_ids_;  // requests with texts in the computation that runs
  std::string reader_failure_;           // why the reader ended; empty while it works

  std::thread reader_;
  std::thread thread_;  // last: it uses all the others
};

}  // namespace aana::llama
