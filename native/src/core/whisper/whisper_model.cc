#include "core/whisper/whisper_model.h"

#include <whisper.h>

#include <array>
#include <string_view>

#include "core/devices.h"
#include "core/engine_log.h"
#include "core/whisper/model_file.h"

namespace aana {
namespace {

struct Preset {
  std::string_view size;
  whisper_alignment_heads_preset heads;
  int text_layers;
};

// A size stands before the sizes that are prefixes of its name.
constexpr std::array kPresets = {
    Preset{"tiny.en", WHISPER_AHEADS_TINY_EN, 4},          Preset{"tiny", WHISPER_AHEADS_TINY, 4},
    Preset{"base.en", WHISPER_AHEADS_BASE_EN, 6},          Preset{"base", WHISPER_AHEADS_BASE, 6},
    Preset{"small.en", WHISPER_AHEADS_SMALL_EN, 12},       Preset{"small", WHISPER_AHEADS_SMALL, 12},
    Preset{"medium.en", WHISPER_AHEADS_MEDIUM_EN, 24},     Preset{"medium", WHISPER_AHEADS_MEDIUM, 24},
    Preset{"large-v3-turbo", WHISPER_AHEADS_LARGE_V3_TURBO, 4}, Preset{"turbo", WHISPER_AHEADS_LARGE_V3_TURBO, 4},
    Preset{"large-v1", WHISPER_AHEADS_LARGE_V1, 32},       Preset{"large-v2", WHISPER_AHEADS_LARGE_V2, 32},
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
  throw WhisperError("model file " + options.model_path + " cannot be loaded onto " + options.device + ": there is no such GPU");
}

WhisperContextPtr Load(const WhisperOptions& options, whisper_alignment_heads_preset heads) {
  CheckWhisperFile(options.model_path);
  const ScopedLoadLog load_log;
  auto params = whisper_context_default_params();
  params.use_gpu = options.use_gpu;
  if (options.use_gpu && !options.device.empty()) params.gpu_device = GpuNumber(options);
  params.flash_attn = heads == WHISPER_AHEADS_NONE;
  params.dtw_token_timestamps = heads != WHISPER_AHEADS_NONE;
  params.dtw_aheads_preset = heads;
  try {
    WhisperContextPtr context(whisper_init_from_file_with_params_no_state(options.model_path.c_str(), params));
    if (context) return context;
  } catch (const std::exception& error) {
    throw WhisperError(NotLoaded(options.model_path, error.what()));
  }
  throw WhisperError(NotLoaded(options.model_path, load_log.error()));
}

}  // namespace

WhisperWeights::WhisperWeights(const WhisperOptions& options, int alignment_heads)
    : context_(Load(options, static_cast<whisper_alignment_heads_preset>(alignment_heads))), has_alignment_(alignment_heads != WHISPER_AHEADS_NONE) {}

WhisperWeights::BorrowedState WhisperWeights::Borrow() {
  {
    std::lock_guard lock(mutex_);
    if (!free_states_.empty()) {
      auto state = std::move(free_states_.back());
      free_states_.pop_back();
      return {*this, std::move(state)};
    }
  }
  const ScopedLoadLog load_log;
  WhisperStatePtr state(whisper_init_state(context_.get()));
  if (!state) throw WhisperError("not enough memory for another transcription: lower max_states");
  return {*this, std::move(state)};
}

WhisperWeights::BorrowedState::~BorrowedState() {
  if (!state_) return;
  std::lock_guard lock(weights_.mutex_);
  weights_.free_states_.push_back(std::move(state_));
}

WhisperModel::WhisperModel(WhisperOptions options) : options_(std::move(options)) {
  InitEngines();
  plain_ = std::make_unique<WhisperWeights>(options_, WHISPER_AHEADS_NONE);
}

WhisperModelInfo WhisperModel::info() const {
  auto* context = plain_->context();
  return {whisper_is_multilingual(context) != 0, whisper_n_vocab(context), whisper_model_type_readable(context)};
}

WhisperWeights& WhisperModel::with_word_times() {
  std::lock_guard lock(mutex_);
  if (with_word_times_) return *with_word_times_;
  const auto heads = PresetFor(plain_->context(), options_.model_size);
  if (heads == WHISPER_AHEADS_NONE) return *plain_;
  with_word_times_ = std::make_unique<WhisperWeights>(options_, heads);
  return *with_word_times_;
}

}  // namespace aana
