#include "core/whisper/whisper_model.h"

#include <whisper.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/devices.h"
#include "core/engine_log.h"
#include "core/whisper/model_file.h"
#include "core/whisper/search/suppressed_tokens.h"

namespace aana {
namespace {

struct Preset {
  std::string_view size;
  whisper_alignment_heads_preset heads;
  int text_layers;
};

// A size stands before the sizes that are prefixes of its name.
constexpr std::array kPresets = {
    Preset{"tiny.en", WHISPER_AHEADS_TINY_EN, 4},
    Preset{"tiny", WHISPER_AHEADS_TINY, 4},
    Preset{"base.en", WHISPER_AHEADS_BASE_EN, 6},
    Preset{"base", WHISPER_AHEADS_BASE, 6},
    Preset{"small.en", WHISPER_AHEADS_SMALL_EN, 12},
    Preset{"small", WHISPER_AHEADS_SMALL, 12},
    Preset{"medium.en", WHISPER_AHEADS_MEDIUM_EN, 24},
    Preset{"medium", WHISPER_AHEADS_MEDIUM, 24},
    Preset{"large-v3-turbo", WHISPER_AHEADS_LARGE_V3_TURBO, 4},
    Preset{"turbo", WHISPER_AHEADS_LARGE_V3_TURBO, 4},
    Preset{"large-v1", WHISPER_AHEADS_LARGE_V1, 32},
    Preset{"large-v2", WHISPER_AHEADS_LARGE_V2, 32},
    Preset{"large-v3", WHISPER_AHEADS_LARGE_V3, 32},
};

// Returns the size of the loaded model. Large v1 and v2 cannot be distinguished.
std::string SizeOf(whisper_context* context) {
  std::string type = whisper_model_type_readable(context);
  if (type == "large") {
    if (whisper_model_n_mels(context) != 128) return "large-v2";
    return whisper_model_n_text_layer(context) == 4 ? "large-v3-turbo" : "large-v3";
  }
  return whisper_is_multilingual(context) ? type : type + ".en";
}

// Returns NONE for a model with other dimensions, such as a distilled model, because the heads of another model would
// be out of range.
whisper_alignment_heads_preset PresetFor(whisper_context* context, const std::string& model_size) {
  const auto found = SizeOf(context);
  const int layers = whisper_model_n_text_layer(context);
  const bool english = !whisper_is_multilingual(context);
  for (const std::string_view size : {std::string_view(model_size), std::string_view(found)}) {
    for (const auto& preset : kPresets) {
      if (!size.starts_with(preset.size)) continue;
      if (preset.text_layers == layers && preset.size.ends_with(".en") == english) return preset.heads;
      break;
    }
  }
  return WHISPER_AHEADS_NONE;
}

// Returns the number of the GPU among the GPUs of ggml's devices, as whisper.cpp counts.
int GpuNumber(const WhisperOptions& options) {
  int number = 0;
  for (const auto& device : ListDevices()) {
    if (device.type != DeviceType::kGpu) continue;
    if (device.name == options.device) return number;
    number++;
  }
  throw WhisperError("model file " + options.model_path + " cannot be loaded onto " + options.device +
                     ": there is no such GPU");
}

WhisperContextPtr Load(const WhisperOptions& options) {
  InitEngines();
  CheckWhisperFile(options.model_path);
  const ScopedLoadLog load_log;
  auto params = whisper_context_default_params();
  params.use_gpu = options.use_gpu;
  if (options.use_gpu && !options.device.empty()) params.gpu_device = GpuNumber(options);
  params.flash_attn = true;
  try {
    WhisperContextPtr context(whisper_init_from_file_with_params_no_state(options.model_path.c_str(), params));
    if (context) return context;
  } catch (const std::exception& error) {
    throw WhisperError(NotLoaded(options.model_path, error.what()));
  }
  throw WhisperError(NotLoaded(options.model_path, load_log.error()));
}

Vocabulary VocabularyOf(whisper_context* context) {
  Vocabulary vocabulary;
  const int size = whisper_n_vocab(context);
  vocabulary.texts.reserve(static_cast<size_t>(size));
  for (int token = 0; token < size; token++) vocabulary.texts.emplace_back(whisper_token_to_str(context, token));
  vocabulary.end = whisper_token_eot(context);
  vocabulary.start = whisper_token_sot(context);
  vocabulary.translate = whisper_token_translate(context);
  vocabulary.transcribe = whisper_token_transcribe(context);
  vocabulary.previous = whisper_token_prev(context);
  vocabulary.no_speech = whisper_token_nosp(context);
  vocabulary.no_timestamps = whisper_token_not(context);
  vocabulary.first_time = whisper_token_beg(context);
  if (whisper_is_multilingual(context)) {
    vocabulary.first_language = whisper_token_lang(context, 0);
    vocabulary.n_languages = vocabulary.translate - vocabulary.first_language;
  }
  return vocabulary;
}

std::vector<AlignmentHead> HeadsFor(whisper_context* context, const std::string& model_size) {
  const auto preset = PresetFor(context, model_size);
  if (preset != WHISPER_AHEADS_NONE) return AlignmentHeadsOf(preset);
  const int n_layers = whisper_model_n_text_layer(context);
  std::vector<AlignmentHead> heads;
  for (int layer = n_layers / 2; layer < n_layers; layer++) {
    for (int head = 0; head < whisper_model_n_text_head(context); head++) heads.push_back({layer, head});
  }
  return heads;
}

}  // namespace

WhisperModel::WhisperModel(const WhisperOptions& options)
    : context_(Load(options)),
      spectrogram_(SpectrogramFiltersOf(context_.get())),
      vocabulary_(VocabularyOf(context_.get())),
      non_speech_tokens_(NonSpeechTokens(vocabulary_)),
      alignment_heads_(HeadsFor(context_.get(), options.model_size)),
      lacks_timestamps_(whisper_model_n_text_layer(context_.get()) == 2 && whisper_n_vocab(context_.get()) != 51866) {}

WhisperModelInfo WhisperModel::info() const {
  return {whisper_is_multilingual(context()) != 0, whisper_n_vocab(context()), whisper_model_type_readable(context())};
}

std::vector<int32_t> WhisperModel::Tokenise(const std::string& text) const {
  if (text.empty()) return {};
  std::vector<int32_t> tokens(text.size());  // a token has at least one byte
  tokens.resize(static_cast<size_t>(
      std::max(0, whisper_tokenize(context(), text.c_str(), tokens.data(), static_cast<int>(tokens.size())))));
  return tokens;
}

WhisperStatePtr WhisperModel::NewState() const {
  const ScopedLoadLog load_log;
  WhisperStatePtr state(whisper_init_state(context()));
  if (!state) {
    const auto reason = load_log.error().empty() ? "" : " (" + load_log.error() + ")";
    throw WhisperError("not enough memory for another transcription" + reason + ": lower max_states");
  }
  return state;
}

void WhisperModel::SetAudio(whisper_state* state, std::span<const float> samples) const {
  const auto bands = spectrogram_.Of(samples);
  const auto n_frames = static_cast<int>(Spectrogram::FramesOf(samples.size()));
  const auto n_bands = static_cast<int>(spectrogram_.n_bands());
  if (whisper_set_mel_with_state(context(), state, bands.data(), n_frames, n_bands) != 0)
    throw WhisperError("the spectrogram could not be computed");
}

}  // namespace aana
