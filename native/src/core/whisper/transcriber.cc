#include "core/whisper/transcriber.h"

#include <whisper.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <functional>
#include <span>
#include <stdexcept>
#include <utility>

#include "core/engine_log.h"
#include "core/whisper/compute_watch.h"
#include "core/whisper/words/alignment.h"
#include "core/whisper/search/hallucinations.h"
#include "core/whisper/search/suppressed_tokens.h"
#include "core/whisper/speech/window_size.h"

namespace aana {
namespace {

constexpr int kFramesPerSecond = 100;  // of the spectrogram
constexpr double kPartSeconds = static_cast<double>(kWindow) / kSampleRate;
// A rest of a window that is shorter is not decoded.
constexpr double kLeastPart = 0.1;

// Lends the state the memory into which it encodes.
class LentAudio {
 public:
  LentAudio(whisper_state* state, EncodedAudio* audio) : state_(state), audio_(audio) {
    SwapEncodedAudio(state_, audio_);
  }
  ~LentAudio() { SwapEncodedAudio(state_, audio_); }
  LentAudio(const LentAudio&) = delete;
  LentAudio& operator=(const LentAudio&) = delete;

 private:
  whisper_state* state_;
  EncodedAudio* audio_;
};

std::vector<int32_t> TextTokens(const std::vector<TokenSegment>& segments) {
  std::vector<int32_t> tokens;
  for (const auto& segment : segments) {
    for (const auto& token : segment.tokens) tokens.push_back(token.id);
  }
  return tokens;
}

template <class Work>
std::exception_ptr FailureOf(Work work) {
  try {
    work();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace

bool KnownLanguage(const WhisperModel& model, const std::string& asked, Language& language) {
  if (model.vocabulary().n_languages == 0) {
    language = {"en", 1};
    return true;
  }
  if (asked.empty() || asked == "auto") return false;
  const int id = whisper_lang_id(asked.c_str());
  if (id < 0 || id >= model.vocabulary().n_languages) throw WhisperError("unknown language " + asked, Fault::kCaller);
  language = {whisper_lang_str(id), 1};
  return true;
}

size_t RowsOf(const WhisperParams& params) {
  return static_cast<size_t>(std::max({1, params.beam_size, params.temperatures.size() > 1 ? params.best_of : 1}));
}

// A window that is being transcribed, part by part: a part is what the text of one decoding covers.
struct Transcriber::Running {
  explicit Running(TranscriptionJob asked) : job(std::move(asked)) {}

  double seconds_left() const { return duration - begin; }

  TranscriptionJob job;
  std::vector<int32_t> initial_prompt = {};
  std::vector<int32_t> hotwords = {};
  std::vector<int32_t> prefix = {};
  double duration = 0;                    // of the window
  double begin = 0;                       // of the part
  std::optional<double> speech_end = {};  // of the last word of the parts before
  EncodedAudioPtr audio = nullptr;
  AudioKeys keys = {};
  std::vector<int32_t> begun = {};  // the text that the prompt of the part ends with
  std::unique_ptr<WindowDecoder> decoder = nullptr;
};

Transcriber::Transcriber(const WhisperModel& model, int threads, Pulse& pulse, std::function<void()> on_node)
    : model_(model), threads_(threads), pulse_(pulse), on_node_(std::move(on_node)) {}

Transcriber::~Transcriber() = default;

void Transcriber::Begin(TranscriptionJob job) {
  running_.push_back(std::make_unique<Running>(std::move(job)));
  const auto place = std::prev(running_.end());
  try {
    Prepare(**place);
    BeginPart(**place);
    if (!(*place)->decoder) End(place, nullptr);
  } catch (...) {
    End(place, std::current_exception());
  }
}

void Transcriber::Prepare(Running& running) {
  const auto& params = *running.job.params;
  for (const auto token : params.suppress_tokens) {
    if (token < -1 || token >= model_.vocabulary().size())
      throw WhisperError("suppress_tokens: the model has no token " + std::to_string(token), Fault::kCaller);
  }
  running.initial_prompt = model_.Tokenise(params.initial_prompt);
  if (!params.hotwords.empty()) running.hotwords = model_.Tokenise(" " + params.hotwords);
  if (!params.prefix.empty() && running.job.is_first) running.prefix = model_.Tokenise(" " + params.prefix);
  if (params.condition_on_previous_text && running.job.is_first) running.job.previous = running.initial_prompt;
  const Pulse::Pause pause(pulse_);  // allocating cannot beat
  if (!state_) state_ = model_.NewState();
  if (!decoder_) decoder_ = std::make_unique<Decoder>(model_.context());
  if (!free_audio_.empty()) {
    running.audio = std::move(free_audio_.back());
    free_audio_.pop_back();
  } else {
    running.audio.reset(NewEncodedAudio(model_.context(), state_.get()));
    if (!running.audio) throw WhisperError("not enough memory for another window: lower batch_size");
  }
  running.keys = {running.audio.get(), whisper_model_n_audio_ctx(model_.context())};
}

void Transcriber::BeginPart(Running& running) {
  {
    const Pulse::Pause pause(pulse_);  // reading and the spectrogram cannot beat
    const auto samples = running.job.window->Samples(*running.job.media);
    running.duration = static_cast<double>(samples.size()) / kSampleRate;
    model_.SetAudio(state_.get(), samples);
  }
  const int most = whisper_model_n_audio_ctx(model_.context());
  const int asked = running.job.params->audio_context;
  // The audio must fit.
  running.keys.n_positions =
      asked > 0 ? std::clamp(asked, std::min(most, static_cast<int>(std::ceil(running.duration / kTimeStep))), most)
                : most;
  SetAudioPositions(state_.get(), running.keys.n_positions);
  {
    const ScopedLogDemotion demotion(*running.job.cancelled);
    const ComputeWatch watch(pulse_, [&] {
      on_node_();
      return running.job.cancelled->load(std::memory_order_relaxed);
    });
    const int offset = static_cast<int>(std::lround(running.begin * kFramesPerSecond));
    const LentAudio lent(state_.get(), running.audio.get());
    const bool is_encoded = whisper_encode_with_state(model_.context(), state_.get(), offset, threads_) == 0;
    if (*running.job.cancelled) return;
    if (!is_encoded) throw WhisperError("whisper.cpp could not encode the audio");
  }
  if (running.job.language.code.empty()) {
    const auto languages = DetectLanguages(running);
    running.job.language = languages.front();
    if (!running.job.on_language(languages)) return;
  }
  auto task = TaskFor(running);
  running.begun = task.prompt.begun;
  std::erase_if(running.begun, [&](int32_t token) { return !model_.vocabulary().IsText(token); });
  running.decoder =
      std::make_unique<WindowDecoder>(model_.vocabulary(), decoder_->cells(), running.keys, std::move(task));
}

std::vector<Language> Transcriber::DetectLanguages(Running& running) {
  const auto& vocabulary = model_.vocabulary();
  CellList cells(decoder_->cells());
  cells.Append();
  const DecoderRow row{vocabulary.start, &running.keys, cells.all(), true};
  const auto logits =
      decoder_->Compute({&row, 1}, threads_)
          .subspan(static_cast<size_t>(vocabulary.first_language), static_cast<size_t>(vocabulary.n_languages));
  RequireNumbers(logits);
  const auto total = LogSumExp(logits);
  std::vector<Language> languages;
  for (size_t i = 0; i < logits.size(); i++)
    languages.push_back({whisper_lang_str(static_cast<int>(i)), std::exp(static_cast<double>(logits[i] - total))});
  std::ranges::stable_sort(languages, std::greater<>{}, &Language::probability);
  return languages;
}

DecodingTask Transcriber::TaskFor(const Running& running) const {
  const auto& params = *running.job.params;
  const auto& vocabulary = model_.vocabulary();
  const bool without_timestamps = params.without_timestamps || model_.lacks_timestamps();
  PromptParts parts;
  parts.language = vocabulary.n_languages > 0 ? whisper_lang_id(running.job.language.code.c_str()) : -1;
  parts.translate = params.translate;
  parts.without_timestamps = without_timestamps;
  parts.previous = params.condition_on_previous_text ? running.job.previous : running.initial_prompt;
  parts.hotwords = running.hotwords;
  if (running.begin == 0) parts.prefix = running.prefix;
  const int n_positions = decoder_->weights().text_positions;

  DecodingTask task;
  task.prompt = MakePrompt(vocabulary, parts, n_positions);
  task.logits.space = TokenOf(vocabulary, " ");
  task.logits.suppress_blank = params.suppress_blank;
  task.logits.without_timestamps = without_timestamps;
  task.logits.max_initial_time =
      static_cast<int32_t>(std::lround(static_cast<double>(params.max_initial_timestamp) / kTimeStep));
  task.logits.repetition_penalty = params.repetition_penalty;
  task.logits.no_repeat_ngram_size = params.no_repeat_ngram_size;
  for (const auto token : params.suppress_tokens) {
    if (token >= 0)
      task.logits.suppressed.push_back(token);
    else
      task.logits.suppressed.insert(task.logits.suppressed.end(), model_.non_speech_tokens().begin(),
                                    model_.non_speech_tokens().end());
  }
  const int room = std::min(n_positions / 2, n_positions - static_cast<int>(task.prompt.tokens.size()));
  task.search = {.beam_size = params.beam_size,
                 .best_of = params.best_of,
                 .temperature = 0,
                 .patience = params.patience,
                 .length_penalty = params.length_penalty,
                 .max_tokens = params.max_new_tokens > 0 ? std::min(params.max_new_tokens, room) : room,
                 .seed = 0};
  task.temperatures = params.temperatures;
  task.log_prob_threshold = static_cast<double>(params.log_prob_threshold);
  task.no_speech_threshold = static_cast<double>(params.no_speech_threshold);
  task.compression_ratio_threshold = static_cast<double>(params.compression_ratio_threshold);
  return task;
}

size_t Transcriber::rows() const {
  size_t rows = 0;
  for (const auto& running : running_) rows += RowsOf(*running->job.params);
  return rows;
}

void Transcriber::Step() {
  for (auto place = running_.begin(); place != running_.end();)
    place = *(*place)->job.cancelled ? End(place, nullptr) : std::next(place);
  std::vector<DecoderRow> rows;
  std::vector<size_t> n_wanted;
  for (const auto& running : running_) {
    const auto before = rows.size();
    running->decoder->AddRows(rows);
    n_wanted.push_back(static_cast<size_t>(std::count_if(rows.begin() + static_cast<std::ptrdiff_t>(before), rows.end(),
                                                         [](const auto& row) { return row.wants_logits; })));
  }
  if (rows.empty()) return;
  std::span<float> logits;
  try {
    const ComputeWatch watch(pulse_);
    logits = decoder_->Compute(rows, threads_);
  } catch (...) {  // nobody knows what the cache holds now
    const auto failure = std::current_exception();
    for (auto place = running_.begin(); place != running_.end();) place = End(place, failure);
    return;
  }
  // All windows take their logits first, because the end of a window computes, too.
  std::vector<std::exception_ptr> failures;
  for (const auto& running : running_) {
    const auto n = n_wanted[failures.size()] * static_cast<size_t>(model_.vocabulary().size());
    failures.push_back(FailureOf([&] { running->decoder->Advance(logits.first(n)); }));
    logits = logits.subspan(n);
  }
  auto failure = failures.begin();
  for (auto place = running_.begin(); place != running_.end(); failure++) {
    bool goes_on = !(*place)->decoder->text();
    if (!*failure && !goes_on) {
      *failure = FailureOf([&] {
        goes_on = EndPart(**place);
        if (goes_on) BeginPart(**place);
      });
    }
    place = goes_on && !*failure ? std::next(place) : End(place, *failure);
  }
}

bool Transcriber::EndPart(Running& running) {
  const auto& params = *running.job.params;
  const auto& vocabulary = model_.vocabulary();
  const auto text = *running.decoder->text();
  const double duration = std::min(kPartSeconds, running.seconds_left());
  running.decoder.reset();
  auto [segments, next] = SplitByTimes(vocabulary, text.tokens, duration);
  if (!text.is_speech) {
    segments.clear();
    next = duration;
  }
  PartText part{running.begin, std::move(segments), {}, text.no_speech_probability};
  if (params.word_timestamps) part.words = TimeWordsOf(running, part.segments, duration);
  if (params.hallucination_silence_threshold) next = LeaveOutHallucinationsOf(running, part, duration).value_or(next);
  if (params.condition_on_previous_text) {
    const auto tokens = TextTokens(part.segments);
    running.job.previous.insert(running.job.previous.end(), tokens.begin(), tokens.end());
    if (text.temperature > params.prompt_reset_on_temperature) running.job.previous.clear();
  }
  const bool whole_window = (params.without_timestamps || model_.lacks_timestamps()) && params.vad;
  auto read = ReadSegments(vocabulary, part,
                           {*running.job.window, static_cast<double>(running.job.media->size()) / kSampleRate,
                            whole_window, params.logprobs});
  if (!read.empty()) running.job.on_segments(std::move(read), running.job.language);
  running.begin += next;
  return running.seconds_left() >= kLeastPart && !*running.job.cancelled;
}

std::optional<double> Transcriber::LeaveOutHallucinationsOf(Running& running, PartText& part, double duration) const {
  if (part.words.empty()) return std::nullopt;
  auto& speech_end = running.speech_end;
  if (speech_end) *speech_end -= running.begin;
  const auto next = LeaveOutHallucinations({part.segments, part.words, duration, speech_end},
                                           *running.job.params->hallucination_silence_threshold);
  for (size_t i = 0; i < part.words.size(); i++) {
    if (!part.words[i].empty()) speech_end = part.segments[i].end;
  }
  if (speech_end) *speech_end += running.begin;
  return next;
}

std::vector<std::vector<TimedWord>> Transcriber::TimeWordsOf(Running& running, std::vector<TokenSegment>& segments,
                                                             double duration) {
  const auto& vocabulary = model_.vocabulary();
  const auto text = TextTokens(segments);
  if (text.empty()) return {};
  const int32_t language = vocabulary.n_languages > 0 ? whisper_lang_id(running.job.language.code.c_str()) : -1;
  auto tokens = StartTokens(vocabulary, language, running.job.params->translate);
  const auto first = tokens.size();
  tokens.push_back(vocabulary.no_timestamps);
  // The prefix of the text is spoken, too.
  const auto room = static_cast<size_t>(decoder_->weights().text_positions) - tokens.size() - text.size() - 1;
  const auto begun = std::span(running.begun).last(std::min(running.begun.size(), room));
  tokens.insert(tokens.end(), begun.begin(), begun.end());
  tokens.insert(tokens.end(), text.begin(), text.end());
  tokens.push_back(vocabulary.end);

  CellList cells(decoder_->cells());
  for (size_t i = 0; i < tokens.size(); i++) cells.Append();
  std::vector<DecoderRow> rows;
  for (size_t i = 0; i < tokens.size(); i++) rows.push_back({tokens[i], &running.keys, cells.first(i + 1), false});
  const int n_frames = std::clamp(static_cast<int>(std::ceil(duration / kTimeStep)), 1, running.keys.n_positions);
  const auto& heads = model_.alignment_heads();
  const ComputeWatch watch(pulse_);
  const auto scores = decoder_->ComputeAlignment(rows, heads, n_frames, threads_);
  const auto positions =
      AlignTokens({scores, heads.size(), tokens.size(), static_cast<size_t>(n_frames)}, first, tokens.size() - 1);
  std::vector<double> starts;
  for (const auto position : std::span(positions).subspan(begun.size()))
    starts.push_back(kTimeStep * static_cast<double>(position));
  const auto& params = *running.job.params;
  return TimeWords(
      vocabulary, segments, starts,
      {IsWrittenWithoutSpaces(running.job.language.code), params.prepend_punctuations, params.append_punctuations});
}

Transcriber::Place Transcriber::End(Place place, const std::exception_ptr& failure) {
  auto running = std::move(*place);
  const auto next = running_.erase(place);
  if (running->audio) free_audio_.push_back(std::move(running->audio));
  running->decoder.reset();
  // The next window begins at once with the memory of this one. Without further windows, that of the others is given
  // back.
  if (running_.empty() && free_audio_.size() > 1) free_audio_.resize(1);
  running->job.on_end(failure, std::move(running->job.previous));
  return next;
}

}  // namespace aana
