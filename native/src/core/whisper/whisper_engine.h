#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/pulse.h"
#include "core/fair_share.h"
#include "core/whisper/audio/audio_source.h"
#include "core/whisper/transcriber.h"
#include "core/whisper/types.h"
#include "core/whisper/voice_detector.h"
#include "core/whisper/whisper_model.h"

namespace aana {

enum class TranscriptionEnd {
  kDone,
  kCancelled,
  kOverdue,
  kUnreadable,  // the audio could not be read
  kFailed,
};

// The outcome of a request.
struct TranscriptionOutcome {
  TranscriptionEnd end = TranscriptionEnd::kDone;
  std::string error;                 // for kOverdue, kUnreadable and kFailed
  Fault fault = Fault::kDeployment;  // for all ends but kDone
  WhisperResult result = {};
};

// One Whisper model with `max_states` threads. Requests are divided into windows of at most 30 s, and the threads take
// windows from the requests in turn, so that a long request does not delay a short one. A thread encodes its windows
// one after another and decodes them together. The speech of a request is found a little ahead of its windows. Tenants
// take turns, and a tenant's requests with a higher priority go first. Any thread may call the methods. Callbacks come
// from the engine's threads, one at a time for a request. They must not block and must not call the engine.
class WhisperEngine {
 public:
  using OnSegment = std::function<void(const WhisperSegment&)>;
  // Called with the fraction of the audio that is done, from 0 to 1, after each percent.
  using OnProgress = std::function<void(double)>;
  using OnEnd = std::function<void(TranscriptionOutcome)>;
  // The callbacks of a transcription. All but `on_end` may be empty.
  struct Listener {
    OnSegment on_segment;
    OnProgress on_progress;
    OnEnd on_end;
  };

  // Loads the models. Throws a WhisperError that names the file.
  explicit WhisperEngine(WhisperOptions options);
  ~WhisperEngine();
  WhisperEngine(const WhisperEngine&) = delete;
  WhisperEngine& operator=(const WhisperEngine&) = delete;

  WhisperModelInfo info() const { return info_; }

  // Calls `on_end` exactly once, and before it `on_segment` in order of time. With `on_segment` the result has no
  // segments.
  void Transcribe(uint64_t id, OpenAudio open_audio, WhisperParams params, RequestTerms terms, Listener listener);

  // Ends the request now. A window that is being computed ends soon afterwards. Unknown ids are ignored.
  void Cancel(uint64_t id);

  // Number of windows finished so far.
  uint64_t steps() const { return steps_; }

  // Whether it has requests and no thread does work that cannot be followed. While it is busy, beats() grows, also
  // inside a window. beats() grows even if one of several threads hangs, as long as another works.
  bool IsBusy();
  uint64_t beats() const { return pulse_.beats(); }

  // Cancels all requests, waits for the threads and frees the model. May be called twice.
  void Close();

 private:
  struct Request;
  using RequestPtr = std::shared_ptr<Request>;
  struct Window;
  using WindowPtr = std::shared_ptr<Window>;
  struct Work;

  void RunThread();
  // Takes work for a thread with these windows. With the lock held.
  std::optional<Work> TakeWork(const Transcriber& transcriber);
  // Returns when a thread without work looks for some if nobody wakes it. With the lock held.
  std::chrono::steady_clock::time_point NextLook() const;
  void EndOverdue();  // with the lock held
  void EndOverdueIfDue();
  // Analyses the audio until a window is known, but not for long.
  void Analyse(Request& request, VoiceDetector& detector);
  void RunAnalysis(Request& request, std::unique_ptr<VoiceDetector>& detector);
  TranscriptionJob JobFor(const RequestPtr& request, const WindowPtr& window);
  bool HasWork(const Request& request, const Transcriber& transcriber) const;  // with the lock held
  void Flush(Request& request);                                                // with the lock held
  void End(Request& request, TranscriptionOutcome outcome);                    // with the lock held

  const WhisperOptions options_;
  std::unique_ptr<WhisperModel> model_;
  const WhisperModelInfo info_;
  std::atomic<uint64_t> steps_{0};
  Pulse pulse_;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::deque<RequestPtr> turn_;  // the front is served next
  std::unordered_map<uint64_t, RequestPtr> request_by_id_;
  FairShare turns_;
  // The earliest deadline of the requests; time_point::max() without one. Written with the lock held.
  std::atomic<std::chrono::steady_clock::time_point> next_deadline_{std::chrono::steady_clock::time_point::max()};

  std::mutex close_mutex_;
  std::vector<std::thread> threads_;
};

}  // namespace aana
