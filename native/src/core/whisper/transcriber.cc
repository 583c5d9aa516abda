#include "core/whisper/transcriber.h"

#include <whisper.h>

#include <algorithm>
#include <exception>
#include <optional>

#include "core/engine_log.h"
#include "core/whisper/asked_temperatures.h"
#include "core/whisper/segments.h"

namespace aana {
namespace {

constexpr int kMaxDecoders = 8;      // whisper.cpp's limit
constexpr int kStateFreed = -7;      // code of whisper_full_with_state when it has freed the state

// State shared by the callbacks of whisper_full_with_state.
struct Run {
  const TranscriptionJob& job;
  SegmentReading reading;
  std::optional<Pulse::Pause>& pause;
  int read = 0;  // number of segments passed on so far
  std::exception_ptr failure = nullptr;

  void HandOn(whisper_context* context, whisper_state* state) noexcept {
    try {
      const int count = whisper_full_n_segments_from_state(state);
      if (count == read) return;
      auto segments = ReadSegments(context, state, read, reading);
      read = count;
      if (!segments.empty()) job.on_segments(std::move(segments));
    } catch (...) {
      failure = std::current_exception();
    }
  }
};

// Lifts `pause` while it computes graphs, because their progress can be followed.
Language DetectLanguage(whisper_context* context, whisper_state* state, const std::vector<float>& samples, const TranscriptionJob& job, std::optional<Pulse::Pause>& pause) {
  const int threads = job.threads;
  if (whisper_pcm_to_mel_with_state(context, state, samples.data(), static_cast<int>(samples.size()), threads) != 0) throw WhisperError("the spectrogram could not be computed");
  pause.reset();
  std::vector<float> probabilities(static_cast<size_t>(whisper_lang_max_id()) + 1);
  const int id = whisper_lang_auto_detect_with_state(context, state, 0, threads, probabilities.data());
  pause.emplace(job.pulse);
  if (id < 0) throw WhisperError("the language could not be detected");
  return {whisper_lang_str(id), probabilities[static_cast<size_t>(id)]};
}

whisper_full_params FullParams(const WhisperParams& params, int threads) {
  const float first = params.temperatures.empty() ? 0 : params.temperatures.front();
  const bool beams = params.beam_size > 1 && first == 0;
  auto full = whisper_full_default_params(beams ? WHISPER_SAMPLING_BEAM_SEARCH : WHISPER_SAMPLING_GREEDY);
  full.n_threads = threads;
  full.no_context = true;  // requests share states, so the previous text belongs to another request
  full.no_timestamps = params.without_timestamps;
  full.print_progress = false;
  full.print_realtime = false;
  full.print_timestamps = false;
  full.translate = params.translate;
  if (!params.initial_prompt.empty()) full.initial_prompt = params.initial_prompt.c_str();
  full.temperature = first;
  full.logprob_thold = params.log_prob_threshold;
  full.no_speech_thold = params.no_speech_threshold;
  full.length_penalty = params.length_penalty;
  full.max_initial_ts = params.max_initial_timestamp;
  full.greedy.best_of = std::clamp(params.best_of, 1, kMaxDecoders);
  full.beam_search.beam_size = std::clamp(params.beam_size, 1, kMaxDecoders);
  return full;
}

}  // namespace

bool KnownLanguage(whisper_context* context, const std::string& asked, Language& language) {
  if (!whisper_is_multilingual(context)) {
    language = {"en", 1};
    return true;
  }
  if (asked.empty() || asked == "auto") return false;
  const int id = whisper_lang_id(asked.c_str());
  if (id < 0) throw WhisperError("unknown language " + asked, Fault::kCaller);
  language = {whisper_lang_str(id), 1};
  return true;
}

void TranscribeWindow(WhisperModel& model, const TranscriptionJob& job) {
  const ScopedLogDemotion demotion(job.cancelled);
  const auto& params = job.params;
  // Reading weights and computing the spectrogram of hours of audio cannot beat.
  std::optional<Pulse::Pause> pause(job.pulse);
  auto& weights = params.word_timestamps ? model.with_word_times() : model.plain();
  auto* context = weights.context();
  auto borrowed = weights.Borrow();
  const auto samples = job.window.Samples(job.media);
  try {
    if (job.language.code.empty()) job.language = DetectLanguage(context, borrowed.get(), samples, job, pause);
    if (job.cancelled) return;

    const bool aligned = params.word_timestamps && weights.has_alignment();
    auto full = FullParams(params, job.threads);
    full.language = job.language.code.c_str();
    full.token_timestamps = params.word_timestamps && !aligned;
    Run run{job,
            {job.window, static_cast<double>(job.media.size()) / kSampleRate, params.word_timestamps, aligned, params.without_timestamps && params.vad, job.language.code.c_str()},
            pause};
    full.encoder_begin_callback = [](whisper_context*, whisper_state*, void* user) {
      auto& begun = *static_cast<Run*>(user);
      begun.pause.reset();  // the spectrogram is ready; from now on graphs are computed
      return !begun.job.cancelled;
    };
    full.encoder_begin_callback_user_data = &run;
    full.abort_callback = [](void* user) -> bool {
      const auto& callback_job = static_cast<Run*>(user)->job;
      callback_job.pulse.Beat();
      callback_job.on_node();
      return callback_job.cancelled;
    };
    full.abort_callback_user_data = &run;
    if (!aligned) {  // with alignment it is called before the times are known
      full.new_segment_callback = [](whisper_context* callback_context, whisper_state* state, int, void* user) { static_cast<Run*>(user)->HandOn(callback_context, state); };
      full.new_segment_callback_user_data = &run;
    }
    const AskedTemperatures temperatures(params.temperatures);
    const int code = whisper_full_with_state(context, borrowed.get(), full, samples.data(), static_cast<int>(samples.size()));
    if (code == kStateFreed) borrowed.Lost();
    if (job.cancelled) return;
    if (code != 0) throw WhisperError("whisper.cpp failed with code " + std::to_string(code));
    run.HandOn(context, borrowed.get());
    if (run.failure) std::rethrow_exception(run.failure);
  } catch (const WhisperError&) {
    throw;
  } catch (const std::exception& error) {
    borrowed.Discard();
    throw WhisperError(std::string("whisper.cpp failed: ") + error.what());
  }
}

}  // namespace aana
