#include "core/whisper/whisper_engine.h"

#include <algorithm>
#include <utility>

#include "core/thread_name.h"
#include "core/whisper/compute_watch.h"

namespace aana {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

struct WhisperEngine::Request {
  uint64_t id;
  std::vector<float> samples;
  WhisperParams params;
  RequestTerms terms;
  bool only_speech = false;
  OnSegment on_segment;
  OnEnd on_end;
  std::atomic<bool> cancelled{false};  // nobody waits for the result any more

  // Everything below is guarded by the engine's lock. `windows` does not change after it was set.
  enum class Stage { kNew, kAnalysing, kTranscribing, kEnded } stage = Stage::kNew;
  struct Window {
    SpeechWindow speech;
    std::vector<WhisperSegment> segments;
    size_t delivered = 0;
    bool done = false;
  };
  std::vector<Window> windows;
  size_t next_window = 0;    // the next window to transcribe
  size_t first_unfinished = 0;
  Language language;

  // Whether a thread can work on it now.
  bool HasWork() const {
    if (stage == Stage::kNew) return true;
    // The first window detects the language for the others.
    return stage == Stage::kTranscribing && next_window < windows.size() && (next_window == 0 || !language.code.empty());
  }
};

struct WhisperEngine::Work {
  RequestPtr request;
  bool analyse;
  size_t window;
};

WhisperEngine::WhisperEngine(WhisperOptions options)
    : options_(std::move(options)), model_(std::make_unique<WhisperModel>(options_)), info_(model_->info()) {
  VoiceDetector check(options_.vad_model_path);
  try {
    for (int i = 0; i < std::max(1, options_.max_states); i++) threads_.emplace_back([this] { RunThread(); });
  } catch (...) {  // a thread could not start; the running threads must not outlive this object
    Close();
    throw;
  }
}

WhisperEngine::~WhisperEngine() { Close(); }

void WhisperEngine::Transcribe(uint64_t id, std::vector<float> samples, WhisperParams params, RequestTerms terms, OnSegment on_segment, OnEnd on_end) {
  auto request = std::make_shared<Request>();
  request->id = id;
  request->samples = std::move(samples);
  request->params = std::move(params);
  request->terms = std::move(terms);
  request->on_segment = std::move(on_segment);
  request->on_end = std::move(on_end);
  Submit(std::move(request));
}

void WhisperEngine::DetectSpeech(uint64_t id, std::vector<float> samples, OnEnd on_end) {
  auto request = std::make_shared<Request>();
  request->id = id;
  request->samples = std::move(samples);
  request->only_speech = true;
  request->on_end = std::move(on_end);
  Submit(std::move(request));
}

void WhisperEngine::Submit(RequestPtr request) {
  std::lock_guard lock(mutex_);
  if (stopping_) return request->on_end({.end = TranscriptionEnd::kFailed, .error = "the engine is closed"});
  if (request_by_id_.contains(request->id)) {
    return request->on_end({.end = TranscriptionEnd::kFailed, .error = "a request with id " + std::to_string(request->id) + " is running"});
  }
  if (request->terms.IsOverdue(Clock::now())) {
    return request->on_end({.end = TranscriptionEnd::kOverdue, .error = "its deadline had passed before the engine received it", .fault = Fault::kOverload});
  }
  request_by_id_[request->id] = request;
  if (request->terms.deadline) next_deadline_ = std::min(next_deadline_.load(), *request->terms.deadline);
  turn_.push_back(std::move(request));
  wake_.notify_one();
}

void WhisperEngine::Cancel(uint64_t id) {
  std::lock_guard lock(mutex_);
  const auto found = request_by_id_.find(id);
  if (found == request_by_id_.end()) return;
  const auto request = found->second;
  End(*request, {.end = TranscriptionEnd::kCancelled, .error = "", .fault = Fault::kCancelled});
}

bool WhisperEngine::IsBusy() {
  std::lock_guard lock(mutex_);
  return !request_by_id_.empty() && !pulse_.is_paused();
}

void WhisperEngine::Close() {
  std::lock_guard closing(close_mutex_);
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    while (!request_by_id_.empty()) {
      const auto request = request_by_id_.begin()->second;
      End(*request, {.end = TranscriptionEnd::kCancelled, .error = "", .fault = Fault::kCancelled});
    }
  }
  wake_.notify_all();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
  model_.reset();
}

void WhisperEngine::RunThread() {
  NameThread("aana-whisper");
  const ComputeWatch watch(pulse_);
  std::unique_ptr<VoiceDetector> detector;  // each thread has one, because a detector has state
  std::unique_lock lock(mutex_);
  while (true) {
    std::optional<Work> work;
    while (!stopping_ && !(work = TakeWork())) {
      const auto deadline = next_deadline_.load();
      if (deadline == Clock::time_point::max()) wake_.wait(lock);
      else wake_.wait_until(lock, deadline);
    }
    if (!work) return;
    const auto& tenant = work->request->terms.tenant;
    turns_.Begin(tenant);
    lock.unlock();
    std::string error;
    Fault fault = Fault::kDeployment;
    try {
      if (work->analyse) {
        if (!detector) detector = std::make_unique<VoiceDetector>(options_.vad_model_path);
        Analyse(*work->request, *detector);
      } else {
        Transcribe(*work->request, work->window);
      }
    } catch (const WhisperError& thrown) {
      error = thrown.what();
      fault = thrown.fault();
    } catch (const std::exception& thrown) {
      error = thrown.what();
    } catch (...) {
      error = "unknown failure";
    }
    lock.lock();
    turns_.End(tenant);
    if (!error.empty()) End(*work->request, {.end = TranscriptionEnd::kFailed, .error = error, .fault = fault});
    wake_.notify_all();  // work that waited for this step can continue
  }
}

std::optional<WhisperEngine::Work> WhisperEngine::TakeWork() {
  EndOverdue();
  const auto rank = [&](const RequestPtr& request) { return std::pair(turns_.Rank(request->terms.tenant), -static_cast<int64_t>(request->terms.priority)); };
  auto chosen = turn_.end();
  for (auto it = turn_.begin(); it != turn_.end(); ++it) {
    if ((*it)->HasWork() && (chosen == turn_.end() || rank(*it) < rank(*chosen))) chosen = it;
  }
  if (chosen == turn_.end()) return std::nullopt;
  auto request = *chosen;
  turn_.erase(chosen);
  turn_.push_back(request);
  if (request->stage != Request::Stage::kNew) return Work{request, false, request->next_window++};
  request->stage = Request::Stage::kAnalysing;
  return Work{std::move(request), true, 0};
}

void WhisperEngine::EndOverdue() {
  const auto now = Clock::now();
  if (now < next_deadline_.load()) return;
  auto next = Clock::time_point::max();
  std::vector<RequestPtr> overdue;
  for (const auto& [id, request] : request_by_id_) {
    if (request->terms.IsOverdue(now)) overdue.push_back(request);
    else if (request->terms.deadline) next = std::min(next, *request->terms.deadline);
  }
  next_deadline_ = next;
  for (const auto& request : overdue) {
    const bool has_begun = request->next_window > 0;
    End(*request, {.end = TranscriptionEnd::kOverdue,
                   .error = has_begun ? "its deadline passed before its answer was complete" : "its deadline passed while it waited for its turn",
                   .fault = has_begun ? Fault::kCancelled : Fault::kOverload});
  }
}

void WhisperEngine::EndOverdueIfDue() {
  if (Clock::now() < next_deadline_.load(std::memory_order_relaxed)) return;
  std::lock_guard lock(mutex_);
  EndOverdue();
}

void WhisperEngine::Analyse(Request& request, VoiceDetector& detector) {
  const std::span<const float> media(request.samples);
  std::vector<SpeechRegion> speech;
  std::vector<Request::Window> windows;
  Language language;
  if (!request.only_speech) KnownLanguage(model_->plain().context(), request.params.language, language);
  if (media.empty()) {
    // An empty audio has no speech.
  } else if (request.only_speech || request.params.vad) {
    speech = detector.Detect(media, [&] {
      pulse_.Beat();
      EndOverdueIfDue();
      return request.cancelled.load();
    });
    if (request.cancelled) return;
    if (!request.only_speech) {
      for (auto& window : MakeSpeechWindows(speech, media)) windows.push_back({std::move(window), {}, 0, false});
    }
  } else {
    windows.push_back({SpeechWindow({{0, static_cast<int64_t>(media.size())}}), {}, 0, false});
  }

  std::lock_guard lock(mutex_);
  if (request.stage != Request::Stage::kAnalysing) return;
  if (windows.empty()) {
    End(request, {.speech = std::move(speech)});
    return;
  }
  request.windows = std::move(windows);
  request.language = std::move(language);
  request.stage = Request::Stage::kTranscribing;
}

void WhisperEngine::Transcribe(Request& request, size_t index) {
  Language language;
  {
    std::lock_guard lock(mutex_);
    language = request.language;
  }
  auto& window = request.windows[index];
  TranscribeWindow(*model_, {window.speech, request.samples, request.params, options_.threads, request.cancelled, pulse_, language, [&](std::vector<WhisperSegment> segments) {
                               std::lock_guard lock(mutex_);
                               if (request.language.code.empty()) request.language = language;
                               std::move(segments.begin(), segments.end(), std::back_inserter(window.segments));
                               FlushSegments(request);
                             },
                             [this] { EndOverdueIfDue(); }});
  steps_++;
  std::lock_guard lock(mutex_);
  if (request.language.code.empty()) request.language = language;
  window.done = true;
  FlushSegments(request);
}

void WhisperEngine::FlushSegments(Request& request) {
  if (request.stage != Request::Stage::kTranscribing) return;
  while (request.first_unfinished < request.windows.size()) {
    auto& window = request.windows[request.first_unfinished];
    for (; window.delivered < window.segments.size(); window.delivered++) {
      if (request.on_segment) request.on_segment(window.segments[window.delivered]);
    }
    if (!window.done) return;
    request.first_unfinished++;
  }
  TranscriptionOutcome outcome;
  outcome.result.language = request.language.code;
  outcome.result.language_probability = request.language.probability;
  for (auto& window : request.windows) {
    std::move(window.segments.begin(), window.segments.end(), std::back_inserter(outcome.result.segments));
  }
  End(request, std::move(outcome));
}

void WhisperEngine::End(Request& request, TranscriptionOutcome outcome) {
  if (request.stage == Request::Stage::kEnded) return;
  request.stage = Request::Stage::kEnded;
  request.cancelled = true;
  std::erase_if(turn_, [&](const RequestPtr& other) { return other.get() == &request; });
  const auto on_end = std::move(request.on_end);
  request.on_segment = nullptr;
  request_by_id_.erase(request.id);
  on_end(std::move(outcome));
}

}  // namespace aana
