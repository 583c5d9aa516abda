#include "core/whisper/voice_detector.h"

#include <whisper.h>

#include "core/engine_log.h"
#include "core/whisper/model_file.h"

// Added to whisper.cpp by native/cmake/whisper.cmake. The first one returns the number of values, which it writes unless
// `values` is null.
extern "C" size_t aana_vad_get_state(whisper_vad_context* context, float* values);
extern "C" void aana_vad_set_state(whisper_vad_context* context, const float* values);

namespace aana {

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

size_t VoiceDetector::state_size() const { return aana_vad_get_state(context_.get(), nullptr); }

std::span<const float> VoiceDetector::Detect(std::span<const float> samples, State& state) {
  if (samples.empty()) return {};
  if (state.empty()) whisper_vad_reset_state(context_.get());
  else aana_vad_set_state(context_.get(), state.data());
  if (!whisper_vad_detect_speech_no_reset(context_.get(), samples.data(), static_cast<int>(samples.size()))) {
    throw WhisperError("voice activity detection failed");
  }
  state.resize(state_size());
  aana_vad_get_state(context_.get(), state.data());
  return {whisper_vad_probs(context_.get()), static_cast<size_t>(whisper_vad_n_probs(context_.get()))};
}

}  // namespace aana
