#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "binding/exports.h"
#include "binding/promise_work.h"
#include "binding/values.h"
#include "binding/whisper/audio_values.h"
#include "core/whisper/voice_detector.h"

namespace aana {
namespace {

// A detector for one thread at a time.
struct SharedDetector {
  explicit SharedDetector(const std::string& model_path) : detector(model_path) {}

  std::mutex mutex;
  VoiceDetector detector;
};

struct Detected {
  std::vector<float> probabilities;
  VoiceDetector::State state;
  std::string unreadable;  // why the audio could not be read; empty: it was
};

Detected Detect(SharedDetector& shared, const OpenAudio& open_audio, int64_t begin, int64_t samples,
                VoiceDetector::State state) {
  Detected detected{.probabilities = {}, .state = std::move(state), .unreadable = {}};
  try {
    const auto audio = open_audio();
    if (audio->is_growing()) throw AudioError("the audio is not complete");
    begin = std::min(begin, audio->size());
    std::vector<float> part(static_cast<size_t>(std::min(samples, audio->size() - begin)));
    audio->Read(begin, part);
    std::lock_guard lock(shared.mutex);
    const auto found = shared.detector.Detect(part, detected.state);
    detected.probabilities.assign(found.begin(), found.end());
  } catch (const AudioError& error) {
    detected.unreadable = error.what();
  }
  return detected;
}

// Detects the speech of one part of an audio on a thread of the pool.
Napi::Value DetectFromJs(const std::shared_ptr<SharedDetector>& shared, const Napi::CallbackInfo& info) {
  const auto env = info.Env();
  auto open_audio = ReadAudio(info[0]);
  const auto count = [&](size_t index) {
    const double value = info[index].IsNumber() ? info[index].ToNumber().DoubleValue() : -1;
    if (!(value >= 0 && value <= kMaxSamples)) throw Napi::RangeError::New(env, "a number of samples is out of range");
    return static_cast<int64_t>(value);
  };
  const auto begin = count(1);
  const auto samples = count(2);
  VoiceDetector::State state;
  if (info[3].IsTypedArray() && info[3].As<Napi::TypedArray>().TypedArrayType() == napi_float32_array) {
    const auto given = info[3].As<Napi::Float32Array>();
    state.assign(given.Data(), given.Data() + given.ElementLength());
  }
  if (!state.empty() && state.size() != shared->detector.state_size())
    throw Napi::RangeError::New(env, "this is not a state of the detector");
  return RunWork(
      env,
      [shared, open_audio = std::move(open_audio), begin, samples, state = std::move(state)] {
        return Detect(*shared, open_audio, begin, samples, state);
      },
      [](const Napi::Promise::Deferred& deferred, const Detected& detected) {
        const auto of = deferred.Env();
        if (!detected.unreadable.empty()) return deferred.Reject(Failure(of, "unreadable-audio", detected.unreadable));
        auto result = Napi::Object::New(of);
        result.Set("probabilities", ToTypedArray<Napi::Float32Array>(of, detected.probabilities));
        result.Set("state", ToTypedArray<Napi::Float32Array>(of, detected.state));
        deferred.Resolve(result);
      });
}

}  // namespace

Napi::Value LoadVoiceDetector(const Napi::CallbackInfo& info) {
  if (!info[0].IsString()) throw Napi::TypeError::New(info.Env(), "the path of the model is not a string");
  return RunWork(
      info.Env(), [path = info[0].ToString().Utf8Value()] { return std::make_shared<SharedDetector>(path); },
      [](const Napi::Promise::Deferred& deferred, const std::shared_ptr<SharedDetector>& shared) {
        const auto detect = [shared](const Napi::CallbackInfo& call) { return DetectFromJs(shared, call); };
        auto detector = Napi::Object::New(deferred.Env());
        detector.Set("detect", Napi::Function::New(deferred.Env(), detect, "detect"));
        deferred.Resolve(detector);
      });
}

}  // namespace aana
