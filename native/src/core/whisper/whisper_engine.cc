#include "core/whisper/whisper_engine.h"

#include <algorithm>
#include <utility>

#include "core/whisper/compute_watch.h"

namespace aana {

struct WhisperEngine::Request {
  uint64_t id;
  std::vector<float> samples;
  WhisperParams params;
  bool only_speech = false;
  OnSegment on_segment;
  OnEnd on_end;
  std::atomic<bool> cancelled{false};  // nobody waits for the result any more

  // All below is guarded by the engine's lock; `windows` does not change once it is there.
  enum class Stage { kNew, kAnalysing, kTranscribing, kEnded } stage = Stage::kNew;
  struct Window {
    SpeechWindow speech;
    std::vector<WhisperSegment> segments;
    size_t delivered = 0;
    bool done = false;
  };
  std::vector<Window> windows;
  size_t next_window = 0;    // to be transcribed
  size_t first_unfinished = 0;
  Language language;
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
  } catch (...) {  // no further thread; those that run must not outlive this
    Close();
    throw;
  }
}

WhisperEngine::~WhisperEngine() { Close(); }

void WhisperEngine::Transcribe(uint64_t id, std::vector<float> samples, WhisperParams params, OnSegment on_segment, OnEnd on_end) {
  auto request = std::make_shared<Request>();
  request->id = id;
  request->samples = std::move(samples);
  request->params = std::move(params);
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
  if (stopping_) {
    request->on_end({TranscriptionEnd::kFailed, "the engine is closed", {}, {}});
    return;
  }
  if (request_by_id_.contains(request->id)) {
    request->on_end({TranscriptionEnd::kFailed, "a request with id " + std::to_string(request->id) + " is running", {}, {}});
    return;
  }
  request_by_id_[request->id] = request;
  turn_.push_back(std::move(request));
  wake_.notify_one();
}

void WhisperEngine::Cancel(uint64_t id) {
  std::lock_guard lock(mutex_);
  const auto found = request_by_id_.find(id);
  if (found == request_by_id_.end()) return;
  const auto request = found->second;
  End(*request, {TranscriptionEnd::kCancelled, "", {}, {}});
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
      End(*request, {TranscriptionEnd::kCancelled, "", {}, {}});
    }
  }
  wake_.notify_all();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
  model_.reset();
}

void WhisperEngine::RunThread() {
  const ComputeWatch watch(pulse_);
  std::unique_ptr<VoiceDetector> detector;  // its memory is the thread's own
  std::unique_lock lock(mutex_);
  while (true) {
    std::optional<Work> work;
    wake_.wait(lock, [&] { return stopping_ || (work = TakeWork()); });
    if (!work) return;
    lock.unlock();
    std::string error;
    try {
      if (work->analyse) {
        if (!detector) detector = std::make_unique<VoiceDetector>(options_.vad_model_path);
        Analyse(*work->request, *detector);
      } else {
        Transcribe(*work->request, work->window);
      }
    } catch (const std::exception& thrown) {
      error = thrown.what();
    } catch (...) {
      error = "unknown failure";
    }
    lock.lock();
    if (!error.empty()) End(*work->request, {TranscriptionEnd::kFailed, error, {}, {}});
    wake_.notify_all();  // what was waiting for this step can go on
  }
}

std::optional<WhisperEngine::Work> WhisperEngine::TakeWork() {
  for (auto it = turn_.begin(); it != turn_.end(); ++it) {
    auto request = *it;
    std::optional<Work> work;
    if (request->stage == Request::Stage::kNew) {
      request->stage = Request::Stage::kAnalysing;
      work = Work{request, true, 0};
    } else if (request->stage == Request::Stage::kTranscribing && request->next_window < request->windows.size()) {
      // The first window finds the language for the others.
      if (request->next_window > 0 && request->language.code.empty()) continue;
      work = Work{request, false, request->next_window++};
    }
    if (!work) continue;
    turn_.erase(it);
    turn_.push_back(std::move(request));
    return work;
  }
  return std::nullopt;
}

void WhisperEngine::Analyse(Request& request, VoiceDetector& detector) {
  const std::span<const float> media(request.samples);
  std::vector<SpeechRegion> speech;
  std::vector<Request::Window> windows;
  Language language;
  if (!request.only_speech) KnownLanguage(model_->plain().context(), request.params.language, language);
  if (media.empty()) {
    // no speech
  } else if (request.only_speech || request.params.vad) {
    speech = detector.Detect(media, [&] {
      pulse_.Beat();
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
    End(request, {TranscriptionEnd::kDone, "", {}, std::move(speech)});
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
                             }});
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
