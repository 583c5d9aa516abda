#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "binding/at_exit.h"
#include "binding/exports.h"
#include "binding/js_queue.h"
#include "binding/engine_object.h"
#include "binding/promise_work.h"
#include "binding/values.h"
#include "binding/whisper/audio_values.h"
#include "core/whisper/whisper_engine.h"

namespace aana {
namespace {

Napi::Object ToJs(Napi::Env env, const WhisperToken& token) {
  auto entry = Napi::Object::New(env);
  entry.Set("id", token.id);
  entry.Set("bytes", ToBuffer(env, token.bytes));
  entry.Set("logprob", token.log_probability);
  return entry;
}

Napi::Object ToJs(Napi::Env env, const WhisperWord& word) {
  auto entry = Napi::Object::New(env);
  entry.Set("word", word.word);
  entry.Set("start", word.start);
  entry.Set("end", word.end);
  entry.Set("probability", word.probability);
  return entry;
}

Napi::Object ToJs(Napi::Env env, const Language& language) {
  auto entry = Napi::Object::New(env);
  entry.Set("language", language.code);
  entry.Set("probability", language.probability);
  return entry;
}

Napi::Object ToJs(Napi::Env env, const WhisperSegment& segment) {
  const auto to_js = [env](const auto& item) { return ToJs(env, item); };
  auto entry = Napi::Object::New(env);
  entry.Set("text", segment.text);
  entry.Set("start", segment.start);
  entry.Set("end", segment.end);
  entry.Set("averageLogProbability", segment.average_log_probability);
  entry.Set("noSpeechProbability", segment.no_speech_probability);
  entry.Set("words", ToArray(env, segment.words, to_js));
  if (!segment.tokens.empty()) entry.Set("tokens", ToArray(env, segment.tokens, to_js));
  if (!segment.language.empty()) {
    entry.Set("language", segment.language);
    entry.Set("languageProbability", segment.language_probability);
  }
  return entry;
}

Napi::Object ToJs(Napi::Env env, const WhisperResult& result) {
  const auto to_js = [env](const auto& item) { return ToJs(env, item); };
  auto entry = Napi::Object::New(env);
  entry.Set("segments", ToArray(env, result.segments, to_js));
  entry.Set("language", result.language);
  entry.Set("languageProbability", result.language_probability);
  if (!result.languages.empty()) entry.Set("allLanguageProbs", ToArray(env, result.languages, to_js));
  return entry;
}

SpeechRegion ReadClip(const Napi::Value& value) {
  const auto clip = ToObject(value.Env(), value, "a clip");
  const auto sample = [&](const char* key) { return static_cast<int64_t>(Number(clip, key, 0, kMaxSamples)); };
  return {sample("begin"), clip.Has("end") ? sample("end") : static_cast<int64_t>(kMaxSamples)};
}

// Of the durations that rules for speech have.
constexpr double kMostRuleSeconds = 60;

SpeechRules ReadSpeechRules(const Napi::Object& object) {
  SpeechRules rules;
  const auto probability = [&](const char* key, float& value) {
    if (object.Has(key)) value = static_cast<float>(Number(object, key, 0, 1));
  };
  const auto length = [&](const char* key, double least, double most, int64_t& value) {
    if (object.Has(key)) value = static_cast<int64_t>(Number(object, key, least, most) * kSampleRate);
  };
  probability("threshold", rules.threshold);
  probability("negThreshold", rules.neg_threshold);
  length("minSpeechS", 0, kMostRuleSeconds, rules.min_speech);
  length("minSilenceS", 0, kMostRuleSeconds, rules.min_silence);
  length("padS", 0, kMostRuleSeconds, rules.pad);
  length("maxSpeechS", 1, kMaxSamples / kSampleRate, rules.max_speech);
  length("maxWindowS", 1, 30, rules.max_window);
  return rules;
}

WhisperParams ReadParams(const Napi::Object& object) {
  WhisperParams params;
  const auto text = [&](const char* key, std::string& value) {
    if (object.Get(key).IsString()) value = object.Get(key).ToString();
  };
  const auto number = [&](const char* key, auto& value) {
    if (object.Get(key).IsNumber()) value = object.Get(key).ToNumber();
  };
  const auto flag = [&](const char* key, bool& value) {
    if (object.Get(key).IsBoolean()) value = object.Get(key).ToBoolean();
  };
  const auto list = [&]<class Item>(const char* key, std::vector<Item>& values) {
    const auto read = [](const Napi::Value& item) -> Item { return item.ToNumber(); };
    if (object.Get(key).IsArray()) values = OptionalList<Item>(object, key, read);
  };
  text("language", params.language);
  flag("translate", params.translate);
  flag("multilingual", params.multilingual);
  number("languageDetectionThreshold", params.language_detection_threshold);
  number("languageDetectionSegments", params.language_detection_segments);
  flag("allLanguageProbs", params.all_language_probs);
  text("initialPrompt", params.initial_prompt);
  text("prefix", params.prefix);
  text("hotwords", params.hotwords);
  flag("conditionOnPreviousText", params.condition_on_previous_text);
  number("promptResetOnTemperature", params.prompt_reset_on_temperature);
  number("beamSize", params.beam_size);
  number("patience", params.patience);
  number("bestOf", params.best_of);
  list("temperatures", params.temperatures);
  if (params.temperatures.empty()) throw Napi::RangeError::New(object.Env(), "temperatures is empty");
  number("logProbThreshold", params.log_prob_threshold);
  number("noSpeechThreshold", params.no_speech_threshold);
  number("compressionRatioThreshold", params.compression_ratio_threshold);
  number("lengthPenalty", params.length_penalty);
  number("repetitionPenalty", params.repetition_penalty);
  number("noRepeatNgramSize", params.no_repeat_ngram_size);
  flag("suppressBlank", params.suppress_blank);
  list("suppressTokens", params.suppress_tokens);
  number("maxInitialTimestamp", params.max_initial_timestamp);
  number("maxNewTokens", params.max_new_tokens);
  number("audioContext", params.audio_context);
  flag("withoutTimestamps", params.without_timestamps);
  flag("wordTimestamps", params.word_timestamps);
  if (object.Get("hallucinationSilenceThreshold").IsNumber())
    params.hallucination_silence_threshold = object.Get("hallucinationSilenceThreshold").ToNumber().DoubleValue();
  flag("logprobs", params.logprobs);
  text("prependPunctuations", params.prepend_punctuations);
  text("appendPunctuations", params.append_punctuations);
  flag("vad", params.vad);
  if (object.Has("speech")) params.speech = ReadSpeechRules(ToObject(object.Env(), object.Get("speech"), "speech"));
  if (object.Get("clips").IsArray()) params.clips = OptionalList<SpeechRegion>(object, "clips", ReadClip);
  if (object.Get("maxWindows").IsNumber())
    params.max_windows = std::max(0, object.Get("maxWindows").ToNumber().Int32Value());
  return params;
}

WhisperOptions ReadOptions(const Napi::Object& object) {
  WhisperOptions options;
  options.model_path = object.Get("modelPath").ToString();
  options.vad_model_path = object.Get("vadModelPath").ToString();
  options.use_gpu = object.Get("useGpu").ToBoolean();
  if (object.Get("device").IsString()) options.device = object.Get("device").ToString();
  options.threads = object.Get("threads").ToNumber();
  options.max_states = object.Get("maxStates").ToNumber();
  if (object.Get("batchSize").IsNumber()) options.batch_size = object.Get("batchSize").ToNumber();
  if (object.Get("modelSize").IsString()) options.model_size = object.Get("modelSize").ToString();
  return options;
}

constexpr Named<TranscriptionEnd> kEndCodes[] = {
    {"cancelled", TranscriptionEnd::kCancelled},
    {"deadline-exceeded", TranscriptionEnd::kOverdue},
    {"unreadable-audio", TranscriptionEnd::kUnreadable},
    {"failed", TranscriptionEnd::kFailed},
};

void Settle(const Napi::Promise::Deferred& deferred, const TranscriptionOutcome& outcome) {
  const auto env = deferred.Env();
  if (outcome.end == TranscriptionEnd::kDone) return deferred.Resolve(ToJs(env, outcome.result));
  const auto* const code = NameOf(outcome.end, kEndCodes);
  if (outcome.end == TranscriptionEnd::kCancelled)
    return deferred.Reject(Failure(env, code, "the transcription was cancelled", Fault::kCancelled));
  deferred.Reject(Failure(env, code, outcome.error, outcome.fault));
}

// JavaScript's side of an engine, on JavaScript's thread. It keeps Node running, and itself alive, while it has
// requests.
class WhisperSession : public std::enable_shared_from_this<WhisperSession> {
 public:
  WhisperSession(Napi::Env env, std::shared_ptr<WhisperEngine> engine)
      : env_(env), engine_(std::move(engine)), queue_(std::make_shared<JsQueue>(env, "aana whisper")) {
    AddAtExit(env_, OnExit, this);
  }
  ~WhisperSession() { Release(); }
  WhisperSession(const WhisperSession&) = delete;
  WhisperSession& operator=(const WhisperSession&) = delete;

  const std::shared_ptr<WhisperEngine>& engine() const { return engine_; }

  // Returns a promise that is settled when the engine ends the request.
  Napi::Value Transcribe(const Napi::CallbackInfo& info) {
    const auto env = info.Env();
    const auto id = static_cast<uint64_t>(info[0].ToNumber().Int64Value());
    auto audio = ReadAudio(info[1]);
    auto params = ReadParams(info[2].ToObject());
    auto terms = ToRequestTerms(info[2].ToObject());
    const auto ticket = next_ticket_++;
    auto& request = requests_.emplace(ticket, Request{Napi::Promise::Deferred(env)}).first->second;
    if (!std::exchange(keep_alive_, shared_from_this())) queue_->Ref(env);
    WhisperEngine::Listener listener;
    // Shared, because a posted function must be copyable.
    listener.on_end = [this, post = ToPost(ticket)](TranscriptionOutcome outcome) {
      post([this, outcome = std::make_shared<TranscriptionOutcome>(std::move(outcome))](auto found) {
        const auto settled = found->second.deferred;
        requests_.erase(found);
        if (requests_.empty()) {
          keep_alive_ = nullptr;
          queue_->Unref(env_);
        }
        Settle(settled, *outcome);
      });
    };
    if (info[3].IsFunction()) {
      request.on_segment = Napi::Persistent(info[3].As<Napi::Function>());
      listener.on_segment = [this, post = ToPost(ticket)](const WhisperSegment& segment) {
        post([this, segment](auto found) { found->second.on_segment.Call({ToJs(env_, segment)}); });
      };
    }
    if (info[4].IsFunction()) {
      request.on_progress = Napi::Persistent(info[4].As<Napi::Function>());
      listener.on_progress = [this, post = ToPost(ticket)](double fraction) {
        post([this, fraction](auto found) { found->second.on_progress.Call({Napi::Number::New(env_, fraction)}); });
      };
    }
    engine_->Transcribe(id, std::move(audio), std::move(params), std::move(terms), std::move(listener));
    return request.deferred.Promise();
  }

 private:
  struct Request {
    Napi::Promise::Deferred deferred;
    Napi::FunctionReference on_segment = {};
    Napi::FunctionReference on_progress = {};
  };
  using Requests = std::unordered_map<uint64_t, Request>;
  using Call = std::function<void(Requests::iterator)>;

  static void OnExit(void* self) {
    auto& session = *static_cast<WhisperSession*>(self);
    const auto alive = std::exchange(session.keep_alive_, nullptr);
    session.Release();
  }

  // Returns a function for any thread that runs a function on JavaScript's thread with the request of the ticket, while
  // its promise is open.
  std::function<void(Call)> ToPost(uint64_t ticket) {
    return [weak = weak_from_this(), queue = queue_, ticket](Call call) {
      queue->Post([weak, ticket, call = std::move(call)](Napi::Env) {
        const auto session = weak.lock();
        if (!session) return;
        if (const auto found = session->requests_.find(ticket); found != session->requests_.end()) call(found);
      });
    };
  }

  void Release() {
    if (std::exchange(is_released_, true)) return;
    engine_->Close();
    queue_->Close();
    requests_.clear();
    RemoveAtExit(env_, OnExit, this);
  }

  const napi_env env_;
  const std::shared_ptr<WhisperEngine> engine_;
  const std::shared_ptr<JsQueue> queue_;
  Requests requests_;  // whose promises are open
  std::shared_ptr<WhisperSession> keep_alive_;
  uint64_t next_ticket_ = 1;
  bool is_released_ = false;
};

Napi::Object MakeWhisperObject(Napi::Env env, const std::shared_ptr<WhisperSession>& session) {
  auto object = Napi::Object::New(env);
  AddMethod(object, session, "transcribe",
            [](WhisperSession& of, const Napi::CallbackInfo& info) { return of.Transcribe(info); });
  AddMethod(object, session, "cancelTranscription", [](WhisperSession& of, const Napi::CallbackInfo& info) {
    of.engine()->Cancel(static_cast<uint64_t>(info[0].ToNumber().Int64Value()));
    return info.Env().Undefined();
  });
  AddMethod(object, session, "close", [](WhisperSession& of, const Napi::CallbackInfo& info) {
    const auto close = [engine = of.engine()] {
      engine->Close();  // waits for running windows
      return true;
    };
    return RunWork(info.Env(), close,
                   [](const Napi::Promise::Deferred& deferred, bool) { deferred.Resolve(deferred.Env().Undefined()); });
  });
  AddGetter(object, session, "steps",
            [](const WhisperSession& of) { return static_cast<double>(of.engine()->steps()); });
  AddGetter(object, session, "busy", [](const WhisperSession& of) { return of.engine()->IsBusy(); });
  AddGetter(object, session, "beats",
            [](const WhisperSession& of) { return static_cast<double>(of.engine()->beats()); });
  const auto model = session->engine()->info();
  auto info = Napi::Object::New(env);
  info.Set("multilingual", model.multilingual);
  info.Set("vocabularySize", model.vocabulary_size);
  info.Set("type", model.type);
  object.Set("info", info);
  return object;
}

}  // namespace

Napi::Value LoadWhisper(const Napi::CallbackInfo& info) {
  return RunWork(
      info.Env(), [options = ReadOptions(info[0].ToObject())] { return std::make_shared<WhisperEngine>(options); },
      [](const Napi::Promise::Deferred& deferred, std::shared_ptr<WhisperEngine>& engine) {
        const auto env = deferred.Env();
        deferred.Resolve(MakeWhisperObject(env, std::make_shared<WhisperSession>(env, std::move(engine))));
      });
}

}  // namespace aana
