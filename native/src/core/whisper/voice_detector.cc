#include "core/whisper/voice_detector.h"

#include <whisper.h>

#include <algorithm>

#include "core/engine_log.h"
#include "core/whisper/model_file.h"

namespace aana {
namespace {

constexpr float kSpeech = 0.5F;
// Speech continues until the probability stays below this for kMinimumSilence.
constexpr float kStillSpeech = 0.35F;
constexpr double kMinimumSpeechS = 0.25;
constexpr double kMinimumSilenceS = 0.1;
// Number of samples per call, a multiple of the model's frame.
constexpr size_t kCallSamples = static_cast<size_t>(kSampleRate) * 32;

}  // namespace

VoiceDetector::VoiceDetector(const std::string& model_path) {
  CheckVoiceActivityFile(model_path);
  auto params = whisper_vad_default_context_params();
  params.n_threads = 1;
  params.use_gpu = false;  // frames are too small for a GPU
  const ScopedLoadLog load_log;
  try {
    context_.reset(whisper_vad_init_from_file_with_params(model_path.c_str(), params));
  } catch (const std::exception& error) {
    throw WhisperError(NotLoaded(model_path, error.what()));
  }
  if (!context_) throw WhisperError(NotLoaded(model_path, load_log.error()));
}

std::vector<SpeechRegion> VoiceDetector::Detect(std::span<const float> samples, const std::function<bool()>& is_cancelled) {
  whisper_vad_reset_state(context_.get());
  std::vector<float> probabilities;
  for (size_t at = 0; at < samples.size() && !is_cancelled(); at += kCallSamples) {
    const auto part = samples.subspan(at, std::min(kCallSamples, samples.size() - at));
    if (!whisper_vad_detect_speech_no_reset(context_.get(), part.data(), static_cast<int>(part.size()))) {
      throw WhisperError("voice activity detection failed");
    }
    const float* found = whisper_vad_probs(context_.get());
    probabilities.insert(probabilities.end(), found, found + whisper_vad_n_probs(context_.get()));
  }
  constexpr int64_t kFrame = 512;
  return RegionsOfSpeech(probabilities, kFrame, static_cast<int64_t>(samples.size()));
}

std::vector<SpeechRegion> RegionsOfSpeech(std::span<const float> probabilities, int64_t frame_samples, int64_t total_samples) {
  const auto minimum_speech = static_cast<int64_t>(kMinimumSpeechS * kSampleRate);
  const auto minimum_silence = static_cast<int64_t>(kMinimumSilenceS * kSampleRate);
  std::vector<SpeechRegion> regions;
  int64_t speech_begin = -1;   // of the open region
  int64_t silence_begin = -1;  // inside the open region
  const auto close = [&](int64_t end) {
    if (end - speech_begin >= minimum_speech) regions.push_back({speech_begin, std::min(end, total_samples)});
    speech_begin = silence_begin = -1;
  };
  for (size_t i = 0; i < probabilities.size(); i++) {
    const auto at = static_cast<int64_t>(i) * frame_samples;
    if (probabilities[i] >= kSpeech) {
      if (speech_begin < 0) speech_begin = at;
      silence_begin = -1;
    } else if (speech_begin >= 0 && probabilities[i] < kStillSpeech) {
      if (silence_begin < 0) silence_begin = at;
      if (at + frame_samples - silence_begin >= minimum_silence) close(silence_begin);
    }
  }
  if (speech_begin >= 0) close(silence_begin >= 0 ? silence_begin : total_samples);
  return regions;
}

}  // namespace aana
