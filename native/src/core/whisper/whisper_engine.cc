#include "core/whisper/whisper_engine.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <limits>
#include <utility>

#include "core/thread_name.h"
#include "core/whisper/compute_watch.h"
#include "core/whisper/speech/clip_windows.h"
#include "core/whisper/transcriber.h"
#include "core/whisper/whisper_request.h"

namespace aana {
namespace {

using Clock = std::chrono::steady_clock;

// The part of an audio after which an analysis that finds no window ends, so that other requests get their turn.
constexpr int64_t kTurnSamples = 120 * kSampleRate;
// The most rows of a step of the decoder on a processor, if several windows share it. The kernels read each weight once
// for 16 rows, so more rows take memory and save no time.
constexpr size_t kMostRows = 20;
// Progress is reported after each percent.
constexpr double kProgressStep = 0.01;
// The most progress before the end. The length that is expected of an audio that grows may be too short.
constexpr double kMostProgress = 0.99;
// Between two looks at an audio that lacks samples.
constexpr auto kLookInterval = std::chrono::milliseconds(20);

TranscriptionOutcome OutcomeOf(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const AudioError& thrown) {
    return {.end = TranscriptionEnd::kUnreadable, .error = thrown.what(), .fault = thrown.fault()};
  } catch (const WhisperError& thrown) {
    return {.end = TranscriptionEnd::kFailed, .error = thrown.what(), .fault = thrown.fault()};
  } catch (const std::exception& thrown) {
    return {.end = TranscriptionEnd::kFailed, .error = thrown.what()};
  } catch (...) {
    return {.end = TranscriptionEnd::kFailed, .error = "unknown failure"};
  }
}

}  // namespace

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

void WhisperEngine::Transcribe(uint64_t id, OpenAudio open_audio, WhisperParams params, RequestTerms terms,
                               Listener listener) {
  auto request = std::make_shared<Request>(id, std::move(open_audio), std::move(params));
  request->terms = std::move(terms);
  request->listener = std::move(listener);
  std::lock_guard lock(mutex_);
  const auto& on_end = request->listener.on_end;
  if (stopping_) return on_end({.end = TranscriptionEnd::kFailed, .error = "the engine is closed"});
  if (request_by_id_.contains(request->id)) {
    return on_end({.end = TranscriptionEnd::kFailed,
                   .error = "a request with id " + std::to_string(request->id) + " is running"});
  }
  if (request->terms.IsOverdue(Clock::now())) {
    return on_end({.end = TranscriptionEnd::kOverdue,
                   .error = "its deadline had passed before the engine received it",
                   .fault = Fault::kOverload});
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
  Transcriber transcriber(*model_, options_.threads, pulse_, [this] { EndOverdueIfDue(); });
  std::unique_lock lock(mutex_);
  while (true) {
    auto work = TakeWork(transcriber);
    while (!work && transcriber.size() == 0) {
      if (stopping_) return;
      const auto next_look = NextLook();
      if (next_look == Clock::time_point::max())
        wake_.wait(lock);
      else
        wake_.wait_until(lock, next_look);
      work = TakeWork(transcriber);
    }
    lock.unlock();
    if (!work) {
      transcriber.Step();
      EndOverdueIfDue();
    } else if (work->window) {
      transcriber.Begin(JobFor(work->request, work->window));
    } else {
      RunAnalysis(*work->request, detector);
    }
    lock.lock();
  }
}

void WhisperEngine::RunAnalysis(Request& request, std::unique_ptr<VoiceDetector>& detector) {
  std::exception_ptr failure;
  try {
    if (!detector) detector = std::make_unique<VoiceDetector>(options_.vad_model_path);
    Analyse(request, *detector);
  } catch (...) {
    failure = std::current_exception();
  }
  std::lock_guard lock(mutex_);
  turns_.End(request.terms.tenant);
  if (failure) End(request, OutcomeOf(failure));
  wake_.notify_all();  // work that waited for this can continue
}

std::optional<WhisperEngine::Work> WhisperEngine::TakeWork(const Transcriber& transcriber) {
  EndOverdue();
  if (stopping_ || transcriber.size() >= static_cast<size_t>(std::max(1, options_.batch_size))) return std::nullopt;
  const auto rank = [&](const RequestPtr& request) {
    return std::pair(turns_.Rank(request->terms.tenant), -static_cast<int64_t>(request->terms.priority));
  };
  auto chosen = turn_.end();
  for (auto it = turn_.begin(); it != turn_.end(); ++it) {
    if (HasWork(**it, transcriber) && (chosen == turn_.end() || rank(*it) < rank(*chosen))) chosen = it;
  }
  if (chosen == turn_.end()) return std::nullopt;
  auto request = *chosen;
  turn_.erase(chosen);
  turn_.push_back(request);
  turns_.Begin(request->terms.tenant);
  // A window that is known goes first, so that its segments come early. Other threads look for more.
  if (request->CanTranscribe()) {
    const auto place = request->waiting.begin() + static_cast<std::ptrdiff_t>(request->next_place());
    auto window = std::move(*place);
    request->waiting.erase(place);
    request->has_begun = true;
    request->n_running++;
    return Work{std::move(request), std::move(window)};
  }
  request->is_analysing = true;
  return Work{std::move(request), nullptr};
}

std::chrono::steady_clock::time_point WhisperEngine::NextLook() const {
  const auto now = Clock::now();
  auto next = next_deadline_.load();
  for (const auto& request : turn_) {
    if (request->next_look > now) next = std::min(next, request->next_look);
  }
  return next;
}

bool WhisperEngine::HasWork(const Request& request, const Transcriber& transcriber) const {
  if (transcriber.size() > 0) {
    const auto rows = RowsOf(request.params);
    const auto most_rows = options_.use_gpu ? std::numeric_limits<size_t>::max() : kMostRows;
    if (transcriber.rows() + rows > most_rows) return false;
    // The first text of a request does not wait until further windows of the request were encoded. One place stays free
    // for another request.
    if (request.n_running > 0 && !request.has_text) return false;
    const bool is_last_place =
        transcriber.size() + 1 >= static_cast<size_t>(options_.batch_size) || transcriber.rows() + 2 * rows > most_rows;
    if (request.n_running > 0 && is_last_place) return false;
  }
  if (request.CanTranscribe()) return true;
  // No thread has to wait for a window, but a request that is cancelled early was not analysed to its end.
  const auto ahead = std::max(static_cast<size_t>(std::max(1, options_.max_states)), request.next_place()) + 1;
  return !request.is_analysed && !request.is_analysing && request.waiting.size() < ahead &&
         request.next_look <= Clock::now();
}

void WhisperEngine::EndOverdue() {
  const auto now = Clock::now();
  if (now < next_deadline_.load()) return;
  auto next = Clock::time_point::max();
  std::vector<RequestPtr> overdue;
  for (const auto& [id, request] : request_by_id_) {
    if (request->terms.IsOverdue(now))
      overdue.push_back(request);
    else if (request->terms.deadline)
      next = std::min(next, *request->terms.deadline);
  }
  next_deadline_ = next;
  for (const auto& request : overdue) {
    const bool has_begun = request->has_begun;
    End(*request, {.end = TranscriptionEnd::kOverdue,
                   .error = has_begun ? "its deadline passed before its answer was complete"
                                      : "its deadline passed while it waited for its turn",
                   .fault = has_begun ? Fault::kCancelled : Fault::kOverload});
  }
}

void WhisperEngine::EndOverdueIfDue() {
  if (Clock::now() < next_deadline_.load(std::memory_order_relaxed)) return;
  std::lock_guard lock(mutex_);
  EndOverdue();
}

void WhisperEngine::Analyse(Request& request, VoiceDetector& detector) {
  Language language;
  if (!request.scan) {
    KnownLanguage(*model_, request.params.language, language);
    const Pulse::Pause pause(pulse_);  // a slow file system cannot beat
    request.audio = request.open_audio();
    request.scan.emplace(*request.audio, request.params.vad ? Coverage::kSpeech : Coverage::kWhole,
                         request.params.speech);
  }
  auto& scan = *request.scan;
  const auto& clips = request.params.clips;
  std::vector<SpeechWindow> windows;
  bool is_analysed = false;
  bool lacks_samples = false;
  {
    const Pulse::Pause pause(pulse_);
    request.audio->Refresh();
    if (clips && CanCutClips(*request.audio, *clips)) {
      windows = ClipWindows(*request.audio, *clips, request.params.speech.max_window);
      is_analysed = true;
    }
  }
  if (clips) {
    lacks_samples = !is_analysed;
  } else {
    const auto turn_end = scan.position() + kTurnSamples;
    while (windows.empty() && !scan.is_complete() && scan.CanAdvance() && scan.position() < turn_end &&
           !request.cancelled) {
      windows = scan.Advance(detector);
      pulse_.Beat();
      EndOverdueIfDue();
    }
    is_analysed = scan.is_complete();
    lacks_samples = !is_analysed && windows.empty() && !scan.CanAdvance();
  }
  pulse_.Beat();  // an engine that waits for samples does not hang

  std::lock_guard lock(mutex_);
  request.is_analysing = false;
  if (request.has_ended) return;
  if (request.language.code.empty()) request.language = std::move(language);
  request.is_analysed = is_analysed;
  request.next_look = lacks_samples ? Clock::now() + kLookInterval : Clock::time_point::min();
  request.next_window_begin = scan.next_begin();
  for (auto& speech : windows) {
    request.windows.push_back(std::make_shared<Window>(std::move(speech), request.n_windows++));
    request.waiting.push_back(request.windows.back());
  }
  request.EndVote();
  Flush(request);
}

TranscriptionJob WhisperEngine::JobFor(const RequestPtr& request, const WindowPtr& window) {
  std::lock_guard lock(mutex_);
  TranscriptionJob job{.window = &window->speech,
                       .media = request->audio.get(),
                       .params = &request->params,
                       .cancelled = &request->cancelled,
                       .is_first = window->number == 0,
                       .language = request->params.multilingual ? Language{} : request->language,
                       .previous = request->previous,
                       .on_language = {},
                       .on_segments = {},
                       .on_end = {}};
  job.on_language = [this, request, window](const std::vector<Language>& languages) {
    std::lock_guard guard(mutex_);
    wake_.notify_all();  // the other windows of the request can begin
    return request->Vote(*window, languages);
  };
  job.on_segments = [this, request, window](std::vector<WhisperSegment> segments, const Language& language) {
    LeaveOutInvented(window->speech, request->params, segments);
    if (request->params.multilingual) {
      for (auto& segment : segments) {
        segment.language = language.code;
        segment.language_probability = language.probability;
      }
    }
    std::lock_guard guard(mutex_);
    std::move(segments.begin(), segments.end(), std::back_inserter(window->segments));
    request->has_text = true;
    Flush(*request);
  };
  // It holds the request and the window until it was called, and with them what the job points to.
  job.on_end = [this, request, window](const std::exception_ptr& failure, std::vector<int32_t> previous) {
    std::lock_guard guard(mutex_);
    turns_.End(request->terms.tenant);
    request->n_running--;
    if (failure) {
      End(*request, OutcomeOf(failure));
    } else if (window->is_postponed) {
      request->TakeBack(window);
    } else if (!request->cancelled) {
      steps_++;
      request->has_text = true;
      request->previous = std::move(previous);
      window->is_done = true;
      Flush(*request);
    }
    wake_.notify_all();
  };
  return job;
}

void WhisperEngine::Flush(Request& request) {
  if (request.has_ended) return;
  const auto& listener = request.listener;
  while (!request.windows.empty()) {
    auto& window = *request.windows.front();
    for (; window.n_delivered < window.segments.size(); window.n_delivered++) {
      if (listener.on_segment) listener.on_segment(window.segments[window.n_delivered]);
    }
    if (!window.is_done) break;
    // A long audio has many segments, so only one side keeps them.
    if (!listener.on_segment)
      std::move(window.segments.begin(), window.segments.end(), std::back_inserter(request.result.segments));
    request.windows.pop_front();
  }
  const bool is_done = request.windows.empty() && request.is_analysed;
  if (listener.on_progress) {
    const double progress = is_done ? 1
                                    : std::min(kMostProgress, static_cast<double>(request.SamplesDone()) /
                                                                  static_cast<double>(request.audio->expected_size()));
    if (progress - request.progress >= kProgressStep || (is_done && request.progress < 1)) {
      request.progress = progress;
      listener.on_progress(progress);
    }
  }
  if (!is_done) return;
  TranscriptionOutcome outcome;
  outcome.result = std::move(request.result);
  if (request.has_begun) {
    outcome.result.language = request.language.code;
    outcome.result.language_probability = request.language.probability;
  }
  End(request, std::move(outcome));
}

void WhisperEngine::End(Request& request, TranscriptionOutcome outcome) {
  if (request.has_ended) return;
  request.has_ended = true;
  request.cancelled = true;
  std::erase_if(turn_, [&](const RequestPtr& other) { return other.get() == &request; });
  const auto on_end = std::move(request.listener.on_end);
  request.listener = {};
  request_by_id_.erase(request.id);
  on_end(std::move(outcome));
}

}  // namespace aana
