#include "binding/whisper/engine_wrap.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "binding/at_exit.h"
#include "binding/whisper/audio_values.h"
#include "binding/js_queue.h"
#include "binding/request_values.h"
#include "binding/values.h"
#include "core/whisper/whisper_engine.h"

namespace aana {
namespace {

using EnginePtr = std::shared_ptr<WhisperEngine>;

Napi::Array ToJs(Napi::Env env, const std::vector<WhisperToken>& tokens) {
  auto list = Napi::Array::New(env, tokens.size());
  for (size_t i = 0; i < tokens.size(); i++) {
    auto entry = Napi::Object::New(env);
    entry.Set("id", tokens[i].id);
    entry.Set("bytes", Napi::Buffer<char>::Copy(env, tokens[i].bytes.data(), tokens[i].bytes.size()));
    entry.Set("logprob", tokens[i].log_probability);
    list.Set(static_cast<uint32_t>(i), entry);
  }
  return list;
}

Napi::Object ToJs(Napi::Env env, const WhisperSegment& segment) {
  auto words = Napi::Array::New(env, segment.words.size());
  for (size_t i = 0; i < segment.words.size(); i++) {
    const auto& word = segment.words[i];
    auto entry = Napi::Object::New(env);
    entry.Set("word", word.word);
    entry.Set("start", word.start);
    entry.Set("end", word.end);
    entry.Set("probability", word.probability);
    words.Set(static_cast<uint32_t>(i), entry);
  }
  auto entry = Napi::Object::New(env);
  entry.Set("text", segment.text);
  entry.Set("start", segment.start);
  entry.Set("end", segment.end);
  entry.Set("averageLogProbability", segment.average_log_probability);
  entry.Set("noSpeechProbability", segment.no_speech_probability);
  entry.Set("words", words);
  if (!segment.tokens.empty()) entry.Set("tokens", ToJs(env, segment.tokens));
  if (!segment.language.empty()) {
    entry.Set("language", segment.language);
    entry.Set("languageProbability", segment.language_probability);
  }
  return entry;
}

Napi::Array ToJs(Napi::Env env, const std::vector<Language>& languages) {
  auto list = Napi::Array::New(env, languages.size());
  for (size_t i = 0; i < languages.size(); i++) {
    auto entry = Napi::Object::New(env);
    entry.Set("language", languages[i].code);
    entry.Set("probability", languages[i].probability);
    list.Set(static_cast<uint32_t>(i), entry);
  }
  return list;
}

Napi::Object ToJs(Napi::Env env, const WhisperResult& result) {
  auto segments = Napi::Array::New(env, result.segments.size());
  for (size_t i = 0; i < result.segments.size(); i++)
    segments.Set(static_cast<uint32_t>(i), ToJs(env, result.segments[i]));
  auto entry = Napi::Object::New(env);
  entry.Set("segments", segments);
  entry.Set("language", result.language);
  entry.Set("languageProbability", result.language_probability);
  if (!result.languages.empty()) entry.Set("allLanguageProbs", ToJs(env, result.languages));
  return entry;
}

Napi::Value Failure(Napi::Env env, const char* code, const std::string& message, Fault fault = Fault::kDeployment) {
  auto error = Napi::Error::New(env, message);
  error.Set("code", Napi::String::New(env, code));
  error.Set("fault", Napi::String::New(env, NameOf(fault)));
  return error.Value();
}

std::vector<SpeechRegion> ReadClips(const Napi::Array& list) {
  std::vector<SpeechRegion> clips;
  for (uint32_t i = 0; i < list.Length(); i++) {
    const Napi::Value value = list.Get(i);
    if (!value.IsObject()) throw Napi::TypeError::New(list.Env(), "a clip is not an object");
    const auto clip = value.As<Napi::Object>();
    const auto sample = [&](const char* key) { return static_cast<int64_t>(Number(clip, key, 0, kMaxSamples)); };
    clips.push_back({sample("begin"), clip.Has("end") ? sample("end") : static_cast<int64_t>(kMaxSamples)});
  }
  return clips;
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
  const auto list = [&](const char* key, auto& values) {
    if (!object.Get(key).IsArray()) return;
    values.clear();
    const auto array = object.Get(key).As<Napi::Array>();
    for (uint32_t i = 0; i < array.Length(); i++) values.push_back(array.Get(i).ToNumber());
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
  if (object.Get("clips").IsArray()) params.clips = ReadClips(object.Get("clips").As<Napi::Array>());
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

// A request whose promise is open. JavaScript thread only.
struct Waiting {
  Napi::Promise::Deferred deferred;
  Napi::FunctionReference on_segment = {};
  Napi::FunctionReference on_progress = {};
};

// The part of the wrap that posted functions use, because they may run after the wrap was collected.
struct WaitingRequests {
  std::unordered_map<uint64_t, Waiting> by_ticket;
};

class WhisperEngineWrap : public Napi::ObjectWrap<WhisperEngineWrap> {
 public:
  static Napi::Object Create(Napi::Env env, EnginePtr engine) {
    const auto constructor =
        DefineClass(env, "WhisperEngine",
                    {
                        InstanceMethod<&WhisperEngineWrap::Transcribe>("transcribe"),
                        InstanceMethod<&WhisperEngineWrap::CancelTranscription>("cancelTranscription"),
                        InstanceMethod<&WhisperEngineWrap::Close>("close"),
                        InstanceAccessor<&WhisperEngineWrap::Info>("info"),
                        InstanceAccessor<&WhisperEngineWrap::Steps>("steps"),
                        InstanceAccessor<&WhisperEngineWrap::Busy>("busy"),
                        InstanceAccessor<&WhisperEngineWrap::Beats>("beats"),
                    });
    return constructor.New({Napi::External<EnginePtr>::New(env, &engine)});
  }

  explicit WhisperEngineWrap(const Napi::CallbackInfo& info)
      : ObjectWrap(info),
        engine_(*info[0].As<Napi::External<EnginePtr>>().Data()),
        queue_(std::make_shared<JsQueue>(info.Env(), "aana whisper")),
        waiting_(std::make_shared<WaitingRequests>()) {
    AddAtExit(info.Env(), OnEnvironmentEnd, this);
  }

  ~WhisperEngineWrap() override {
    if (!ended_) RemoveAtExit(Env(), OnEnvironmentEnd, this);
    Release();
  }

 private:
  static void OnEnvironmentEnd(void* self) {
    static_cast<WhisperEngineWrap*>(self)->ended_ = true;
    static_cast<WhisperEngineWrap*>(self)->Release();
  }

  void Release() {
    engine_->Close();
    queue_->Close();
    waiting_->by_ticket.clear();
  }

  // Returns a promise that is settled when the engine ends the request of `ticket`. Keeps this object and the process
  // alive until then.
  Napi::Value Await(Napi::Env env, uint64_t ticket, WhisperEngine::OnEnd* on_end) {
    const auto deferred = Napi::Promise::Deferred::New(env);
    waiting_->by_ticket.emplace(ticket, Waiting{deferred});
    if (waiting_->by_ticket.size() == 1) {
      queue_->Ref(env);
      Ref();
    }
    *on_end = [this, queue = queue_, waiting = waiting_, ticket](TranscriptionOutcome outcome) {
      // Shared, because a posted function must be copyable.
      auto shared = std::make_shared<TranscriptionOutcome>(std::move(outcome));
      queue->Post([this, waiting, ticket, shared](Napi::Env call_env) {
        const auto found = waiting->by_ticket.find(ticket);
        if (found == waiting->by_ticket.end()) return;
        const auto settled = found->second.deferred;
        waiting->by_ticket.erase(found);
        if (waiting->by_ticket.empty()) {
          queue_->Unref(call_env);
          Unref();
        }
        switch (shared->end) {
          case TranscriptionEnd::kDone:
            settled.Resolve(ToJs(call_env, shared->result));
            break;
          case TranscriptionEnd::kCancelled:
            settled.Reject(Failure(call_env, "cancelled", "the transcription was cancelled", Fault::kCancelled));
            break;
          case TranscriptionEnd::kOverdue:
            settled.Reject(Failure(call_env, "deadline-exceeded", shared->error, shared->fault));
            break;
          case TranscriptionEnd::kUnreadable:
            settled.Reject(Failure(call_env, "unreadable-audio", shared->error, shared->fault));
            break;
          case TranscriptionEnd::kFailed:
            settled.Reject(Failure(call_env, "failed", shared->error, shared->fault));
            break;
        }
      });
    };
    return deferred.Promise();
  }

  // Returns a function for any thread that calls `listener` of the request with a value, while its promise is open.
  template <class Value, class ToValue>
  std::function<void(const Value&)> ToListener(uint64_t ticket, Napi::FunctionReference Waiting::* listener,
                                               ToValue to_value) {
    return [queue = queue_, waiting = waiting_, ticket, listener, to_value](const Value& value) {
      queue->Post([waiting, ticket, listener, to_value, value](Napi::Env env) {
        const auto found = waiting->by_ticket.find(ticket);
        if (found != waiting->by_ticket.end()) (found->second.*listener).Call({to_value(env, value)});
      });
    };
  }

  Napi::Value Transcribe(const Napi::CallbackInfo& info) {
    const auto env = info.Env();
    const auto id = static_cast<uint64_t>(info[0].ToNumber().Int64Value());
    auto audio = ReadAudio(info[1]);
    auto params = ReadParams(info[2].ToObject());
    auto terms = ToRequestTerms(info[2].ToObject());
    const auto ticket = next_ticket_++;
    WhisperEngine::Listener listener;
    auto promise = Await(env, ticket, &listener.on_end);
    auto& open = waiting_->by_ticket.at(ticket);
    if (info[3].IsFunction()) {
      open.on_segment = Napi::Persistent(info[3].As<Napi::Function>());
      listener.on_segment = ToListener<WhisperSegment>(
          ticket, &Waiting::on_segment,
          [](Napi::Env call_env, const WhisperSegment& segment) { return ToJs(call_env, segment); });
    }
    if (info[4].IsFunction()) {
      open.on_progress = Napi::Persistent(info[4].As<Napi::Function>());
      listener.on_progress = ToListener<double>(ticket, &Waiting::on_progress, [](Napi::Env call_env, double fraction) {
        return Napi::Number::New(call_env, fraction);
      });
    }
    engine_->Transcribe(id, std::move(audio), std::move(params), std::move(terms), std::move(listener));
    return promise;
  }

  void CancelTranscription(const Napi::CallbackInfo& info) {
    engine_->Cancel(static_cast<uint64_t>(info[0].ToNumber().Int64Value()));
  }

  Napi::Value Info(const Napi::CallbackInfo& info) {
    auto entry = Napi::Object::New(info.Env());
    entry.Set("multilingual", engine_->info().multilingual);
    entry.Set("vocabularySize", engine_->info().vocabulary_size);
    entry.Set("type", engine_->info().type);
    return entry;
  }

  Napi::Value Steps(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), static_cast<double>(engine_->steps()));
  }

  Napi::Value Busy(const Napi::CallbackInfo& info) { return Napi::Boolean::New(info.Env(), engine_->IsBusy()); }

  Napi::Value Beats(const Napi::CallbackInfo& info) {
    return Napi::Number::New(info.Env(), static_cast<double>(engine_->beats()));
  }

  Napi::Value Close(const Napi::CallbackInfo& info) {
    class Closing : public Napi::AsyncWorker {
     public:
      Closing(Napi::Env env, EnginePtr engine)
          : AsyncWorker(env), deferred(Napi::Promise::Deferred::New(env)), engine_(std::move(engine)) {}
      const Napi::Promise::Deferred deferred;

     private:
      void Execute() override { engine_->Close(); }  // waits for running windows
      void OnOK() override { deferred.Resolve(Env().Undefined()); }
      void OnError(const Napi::Error& error) override { deferred.Reject(error.Value()); }
      EnginePtr engine_;
    };
    auto* closing = new Closing(info.Env(), engine_);  // deletes itself
    auto promise = closing->deferred.Promise();
    closing->Queue();
    return promise;
  }

  const EnginePtr engine_;
  const std::shared_ptr<JsQueue> queue_;
  const std::shared_ptr<WaitingRequests> waiting_;
  uint64_t next_ticket_ = 1;
  bool ended_ = false;
};

class EngineLoading : public Napi::AsyncWorker {
 public:
  EngineLoading(Napi::Env env, WhisperOptions options)
      : AsyncWorker(env), deferred(Napi::Promise::Deferred::New(env)), options_(std::move(options)) {}
  const Napi::Promise::Deferred deferred;

 private:
  void Execute() override { engine_ = std::make_shared<WhisperEngine>(std::move(options_)); }
  void OnOK() override { deferred.Resolve(WhisperEngineWrap::Create(Env(), std::move(engine_))); }
  void OnError(const Napi::Error& error) override { deferred.Reject(Failure(Env(), "failed", error.Message())); }

  WhisperOptions options_;
  EnginePtr engine_;
};

}  // namespace

Napi::Value LoadWhisper(const Napi::CallbackInfo& info) {
  auto* loading = new EngineLoading(info.Env(), ReadOptions(info[0].ToObject()));  // deletes itself
  auto promise = loading->deferred.Promise();
  loading->Queue();
  return promise;
}

}  // namespace aana
