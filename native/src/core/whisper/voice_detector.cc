#include "core/whisper/voice_detector.h"

#include <whisper.h>

#include <algorithm>
#include <cmath>

#include "core/engine_log.h"
#include "core/whisper/model_file.h"

// Added to whisper.cpp by native/cmake/whisper.cmake. The first one returns the number of values, which it writes
// unless `values` is null.
extern "C" size_t aana_vad_get_state(whisper_vad_context* context, float* values);
extern "C" void aana_vad_set_state(whisper_vad_context* context, const float* values);

namespace aana {
namespace {

// The power to which the loudest frame is raised: an RMS of -26 dBFS, as of speech that peaks at about -14.
constexpr float kSpeechLevel = 0.0025F;
// 40 dB.
constexpr float kMostGain = 100;
// The level fades by 6 dB in a minute, so that a loud noise does not hide quiet speech for ever.
constexpr float kFadeOfFrame = 0.99926F;

// Returns the samples as the model hears them, and updates `level`: the power of the loudest frame so far, which fades.
std::vector<float> Raised(std::span<const float> samples, float& level) {
  std::vector<float> raised(samples.begin(), samples.end());
  for (auto rest = std::span(raised); !rest.empty();) {
    const auto frame = rest.first(std::min<size_t>(VoiceDetector::kFrameSamples, rest.size()));
    rest = rest.subspan(frame.size());
    float power = 0;
    for (const float sample : frame) power += sample * sample;
    level = std::max(level * kFadeOfFrame, power / static_cast<float>(VoiceDetector::kFrameSamples));
    if (level <= 0 || level >= kSpeechLevel) continue;
    const float gain = std::min(kMostGain, std::sqrt(kSpeechLevel / level));
    for (float& sample : frame) sample *= gain;
  }
  return raised;
}

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

size_t VoiceDetector::state_size() const { return aana_vad_get_state(context_.get(), nullptr) + 1; }

std::span<const float> VoiceDetector::Detect(std::span<const float> samples, State& state) {
  if (samples.empty()) return {};
  float level = 0;
  if (state.empty()) {
    whisper_vad_reset_state(context_.get());
  } else {
    level = state.back();
    aana_vad_set_state(context_.get(), state.data());
  }
  const auto heard = Raised(samples, level);
  if (!whisper_vad_detect_speech_no_reset(context_.get(), heard.data(), static_cast<int>(heard.size()))) {
    throw WhisperError("voice activity detection failed");
  }
  state.resize(state_size());
  aana_vad_get_state(context_.get(), state.data());
  state.back() = level;
  return {whisper_vad_probs(context_.get()), static_cast<size_t>(whisper_vad_n_probs(context_.get()))};
}

}  // namespace aana
