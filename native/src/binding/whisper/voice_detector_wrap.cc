#include "binding/whisper/voice_detector_wrap.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "binding/whisper/audio_values.h"
#include "binding/request_values.h"
#include "core/whisper/voice_detector.h"

namespace aana {
namespace {

// A detector for one thread at a time.
struct SharedDetector {
  explicit SharedDetector(const std::string& model_path) : detector(model_path) {}

  std::mutex mutex;
  VoiceDetector detector;
};
using DetectorPtr = std::shared_ptr<SharedDetector>;

Napi::Float32Array ToJs(Napi::Env env, const std::vector<float>& values) {
  auto array = Napi::Float32Array::New(env, values.size());
  std::copy(values.begin(), values.end(), array.Data());
  return array;
}

// Detects the speech of one part of an audio on a thread of the pool.
class Detecting : public Napi::AsyncWorker {
 public:
  Detecting(Napi::Env env, DetectorPtr shared, OpenAudio open_audio, int64_t begin, int64_t samples,
            VoiceDetector::State state)
      : AsyncWorker(env),
        deferred(Napi::Promise::Deferred::New(env)),
        shared_(std::move(shared)),
        open_audio_(std::move(open_audio)),
        begin_(begin),
        samples_(samples),
        state_(std::move(state)) {}
  const Napi::Promise::Deferred deferred;

 private:
  void Execute() override {
    try {
      const auto audio = open_audio_();
      if (audio->is_growing()) throw AudioError("the audio is not complete");
      const auto begin = std::min(begin_, audio->size());
      std::vector<float> part(static_cast<size_t>(std::min(samples_, audio->size() - begin)));
      audio->Read(begin, part);
      std::lock_guard lock(shared_->mutex);
      const auto found = shared_->detector.Detect(part, state_);
      probabilities_.assign(found.begin(), found.end());
    } catch (const AudioError&) {
      code_ = "unreadable-audio";
      throw;
    }
  }

  void OnOK() override {
    auto result = Napi::Object::New(Env());
    result.Set("probabilities", ToJs(Env(), probabilities_));
    result.Set("state", ToJs(Env(), state_));
    deferred.Resolve(result);
  }

  void OnError(const Napi::Error& error) override {
    error.Set("code", Napi::String::New(Env(), code_));
    error.Set("fault", Napi::String::New(Env(), NameOf(Fault::kDeployment)));
    deferred.Reject(error.Value());
  }

  const DetectorPtr shared_;
  const OpenAudio open_audio_;
  const int64_t begin_;
  const int64_t samples_;
  VoiceDetector::State state_;
  std::vector<float> probabilities_;
  const char* code_ = "failed";
};

class VoiceDetectorWrap : public Napi::ObjectWrap<VoiceDetectorWrap> {
 public:
  static Napi::Object Create(Napi::Env env, DetectorPtr shared) {
    const auto constructor = DefineClass(env, "VoiceDetector", {InstanceMethod<&VoiceDetectorWrap::Detect>("detect")});
    return constructor.New({Napi::External<DetectorPtr>::New(env, &shared)});
  }

  explicit VoiceDetectorWrap(const Napi::CallbackInfo& info)
      : ObjectWrap(info), shared_(*info[0].As<Napi::External<DetectorPtr>>().Data()) {}

 private:
  Napi::Value Detect(const Napi::CallbackInfo& info) {
    const auto env = info.Env();
    auto open_audio = ReadAudio(info[0]);
    const auto count = [&](size_t index) {
      const double value = info[index].IsNumber() ? info[index].ToNumber().DoubleValue() : -1;
      if (!(value >= 0 && value <= kMaxSamples))
        throw Napi::RangeError::New(env, "a number of samples is out of range");
      return static_cast<int64_t>(value);
    };
    const auto begin = count(1);
    const auto samples = count(2);
    VoiceDetector::State state;
    if (info[3].IsTypedArray() && info[3].As<Napi::TypedArray>().TypedArrayType() == napi_float32_array) {
      const auto given = info[3].As<Napi::Float32Array>();
      state.assign(given.Data(), given.Data() + given.ElementLength());
    }
    if (!state.empty() && state.size() != shared_->detector.state_size())
      throw Napi::RangeError::New(env, "this is not a state of the detector");
    auto* detecting =
        new Detecting(env, shared_, std::move(open_audio), begin, samples, std::move(state));  // deletes itself
    auto promise = detecting->deferred.Promise();
    detecting->Queue();
    return promise;
  }

  const DetectorPtr shared_;
};

class DetectorLoading : public Napi::AsyncWorker {
 public:
  DetectorLoading(Napi::Env env, std::string model_path)
      : AsyncWorker(env), deferred(Napi::Promise::Deferred::New(env)), model_path_(std::move(model_path)) {}
  const Napi::Promise::Deferred deferred;

 private:
  void Execute() override { shared_ = std::make_shared<SharedDetector>(model_path_); }
  void OnOK() override { deferred.Resolve(VoiceDetectorWrap::Create(Env(), std::move(shared_))); }
  void OnError(const Napi::Error& error) override { deferred.Reject(error.Value()); }

  const std::string model_path_;
  DetectorPtr shared_;
};

}  // namespace

Napi::Value LoadVoiceDetector(const Napi::CallbackInfo& info) {
  if (!info[0].IsString()) throw Napi::TypeError::New(info.Env(), "the path of the model is not a string");
  auto* loading = new DetectorLoading(info.Env(), info[0].ToString());  // deletes itself
  auto promise = loading->deferred.Promise();
  loading->Queue();
  return promise;
}

}  // namespace aana
