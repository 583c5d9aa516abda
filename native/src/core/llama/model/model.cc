#include "core/llama/model/model.h"

#include <algorithm>
#include <array>
#include <limits>

#include "core/compute/device/packed_buffers.h"
#include "core/compute/device/processor_device.h"
#include "core/compute/kernel_sets.h"
#include "core/engine_log.h"
#include "core/llama/gguf/file_identity.h"
#include "core/llama/gguf/file_mapping.h"
#include "core/llama/gguf/gguf_check.h"
#include "core/llama/model/load_error.h"
#include "core/llama/model/shifting.h"

namespace aana::llama {
namespace {

// The state of a load. llama.cpp reports its progress for the first time when it begins to read the weights.
struct Load {
  const LoadProgress& progress;
  bool is_mapped;
  std::optional<compute::SetsWeights> sets_weights = std::nullopt;
};

bool OnProgress(float fraction, void* data) {
  auto& load = *static_cast<Load*>(data);
  if (!load.is_mapped && !load.sets_weights) load.sets_weights.emplace();
  return !load.progress || load.progress(fraction);
}

// Tokens that a sequence can hold at most.
int32_t MostTokens(const Model& model, const RopeScaling& scaling) {
  const int32_t n_original = scaling.n_original > 0 ? scaling.n_original : llama_model_n_ctx_train(model.get());
  return static_cast<int32_t>(std::min(static_cast<double>(n_original) * scaling.factor, 1.0 * (1 << 30)));
}

int32_t ContextTokens(const Model& model, const LoadOptions& options) {
  const int32_t n_most = MostTokens(model, options.rope_scaling);
  const int32_t n_context = options.n_context <= 0 ? n_most : std::min(options.n_context, n_most);
  if (static_cast<int64_t>(n_context) * options.n_sequences > std::numeric_limits<int32_t>::max()) {
    throw LoadError(options.model_path + ": " + std::to_string(options.n_sequences) + " sequences of " +
                    std::to_string(n_context) + " tokens are too many");
  }
  return n_context;
}

// Tokens of a step whose logits are needed: one of each sequence, guessed ones, and those of prompts that are scored.
int32_t Outputs(const LoadOptions& options) { return options.n_sequences + options.n_drafted + Context::kMostScored; }

bool IsUnified(const LoadOptions& options) { return options.n_cells > 0; }

// Why a context may fail because of the types of its keys and values.
std::string KvHint(const LoadOptions& options) {
  if (options.key_type == options.value_type && !ggml_is_quantized(options.key_type)) return "";
  return std::string(", or keys in ") + ggml_type_name(options.key_type) + " and values in " +
         ggml_type_name(options.value_type) + " do not fit the model";
}

int64_t Cells(const LoadOptions& options, int32_t n_context) {
  const int64_t n_most = static_cast<int64_t>(n_context) * options.n_sequences;
  // The longest sequence must fit when it is alone.
  return options.n_cells <= 0 ? n_most : std::clamp<int64_t>(options.n_cells, n_context, n_most);
}

llama_load_mode LoadModeOf(const ModelOptions& options) {
  if (options.is_mapped) return options.is_locked ? LLAMA_LOAD_MODE_MMAP_MLOCK : LLAMA_LOAD_MODE_MMAP;
  return options.is_locked ? LLAMA_LOAD_MODE_MLOCK : LLAMA_LOAD_MODE_NONE;
}

bool UsesGpu(const ModelOptions& options) {
  if (options.n_gpu_layers == 0) return false;
  return ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_GPU) ||
         ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_IGPU);
}

// Our device, where the model computes on it; else null.
ggml_backend_dev_t DeviceOfProcessor(const ModelOptions& options) {
  // Devices that the options name without a GPU are an error.
  if (UsesGpu(options) || (options.n_gpu_layers != 0 && !options.devices.empty())) return nullptr;
  return compute::ProcessorDevice();
}

// The devices to use, ended by a null; empty leaves the choice to llama.cpp, the null alone is ggml's processor
// backend.
std::vector<ggml_backend_dev_t> FindDevices(const ModelOptions& options) {
  if (auto* fast = DeviceOfProcessor(options)) return {fast, nullptr};
  if (options.n_gpu_layers == 0) return {nullptr};
  if (options.devices.empty()) return {};
  std::vector<ggml_backend_dev_t> devices;
  for (const auto& name : options.devices) {
    auto* device = ggml_backend_dev_by_name(name.c_str());
    if (!device)
      throw LoadError("model file " + options.model_path + " is to be loaded onto " + name +
                      ", a device that is not there");
    devices.push_back(device);
  }
  devices.push_back(nullptr);
  return devices;
}

}  // namespace

LoadProgress PartOf(const LoadProgress& whole, float begin, float end) {
  return [&whole, begin, end](float fraction) { return !whole || whole(begin + (end - begin) * fraction); };
}

Model::Model(const ModelOptions& options, const LoadProgress& progress,
             const std::function<void(llama_model_params&)>& place) {
  InitEngines();
  CheckGguf(options.model_path);

  auto params = llama_model_default_params();
  auto devices = FindDevices(options);
  auto tensor_split = options.tensor_split;
  params.n_gpu_layers = DeviceOfProcessor(options) ? -1 : options.n_gpu_layers;
  if (!devices.empty()) params.devices = devices.data();
  // Where nothing lies on a GPU there is nothing to split, and llama.cpp refuses some of the modes.
  params.split_mode = UsesGpu(options) ? options.split_mode : LLAMA_SPLIT_MODE_LAYER;
  params.main_gpu = options.main_gpu;
  if (!tensor_split.empty()) {
    tensor_split.resize(std::max(tensor_split.size(), llama_max_devices()));
    params.tensor_split = tensor_split.data();
  }
  if (place) place(params);
  params.load_mode = LoadModeOf(options);
  params.progress_callback = OnProgress;
  Load load{.progress = progress, .is_mapped = options.is_mapped};
  params.progress_callback_user_data = &load;
  const size_t packed_before = compute::PackedBytes();
  if (options.is_mapped && !options.packed_path.empty() && !UsesGpu(options))
    packed_ = std::make_unique<compute::PackedFile>(
        options.packed_path, IdentityOfFile(options.model_path) + " packed " + std::to_string(compute::PackingMark()));
  {
    const compute::LoadsInto loads(packed_.get());
    model_.reset(llama_model_load_from_file(options.model_path.c_str(), params));
  }
  load.sets_weights.reset();
  if (model_ && packed_) packed_->Publish();

  const auto& path = options.model_path;
  if (!model_) throw LoadError("model file " + path + " could not be loaded");
  // Packed matrices are copies. Where they are most of a file, little of its mapping is read again.
  // What is locked of it stays.
  const size_t n_packed = compute::PackedBytes() - packed_before;
  if (options.is_mapped && n_packed > llama_model_size(model_.get()) / 2) ReleaseMappings(path);
  if (DeviceOfProcessor(options)) {
    Log(LogLevel::kInfo, std::to_string(n_packed) + " of " + std::to_string(llama_model_size(model_.get())) +
                             " bytes of weights are packed for the kernels " + compute::FastKernelSet()->name);
  }
  vocab_ = llama_model_get_vocab(model_.get());
  if (llama_vocab_type(vocab_) == LLAMA_VOCAB_TYPE_NONE) throw LoadError("model file " + path + " has no vocabulary");
}

std::vector<llama_token> Model::Tokenize(std::span<const PromptPart> parts) const {
  std::vector<llama_token> tokens;
  static const PromptPart kNothing{};
  if (parts.empty()) Append(tokens, kNothing, true);
  for (const auto& part : parts) Append(tokens, part, &part == parts.data());
  // llama_tokenize puts it behind the first part.
  if (parts.size() > 1 && llama_vocab_get_add_eos(vocab_)) {
    const auto last = llama_vocab_eos(vocab_);
    const auto found = std::ranges::find(tokens, last);
    if (found != tokens.end()) tokens.erase(found);
    tokens.push_back(last);
  }
  return tokens;
}

std::vector<llama_token> Model::TokenizeInner(const std::string& text) const {
  const std::array part{PromptPart{.text = text}};
  return TokenizeInner(part);
}

std::vector<llama_token> Model::TokenizeInner(std::span<const PromptPart> parts) const {
  std::vector<llama_token> tokens;
  for (const auto& part : parts) Append(tokens, part, false);
  return tokens;
}

void Model::Append(std::vector<llama_token>& tokens, const PromptPart& part, bool is_first) const {
  const auto& text = part.text;
  if (text.size() > std::numeric_limits<int32_t>::max() / 2) throw std::length_error("text is too long to tokenize");
  const size_t n_before = tokens.size();
  tokens.resize(n_before + text.size() + 2);
  const auto tokenize = [&] {
    return llama_tokenize(vocab_, text.data(), static_cast<int32_t>(text.size()), tokens.data() + n_before,
                          static_cast<int32_t>(tokens.size() - n_before), is_first, part.has_control_tokens);
  };
  int32_t n_tokens = tokenize();
  if (n_tokens < 0) {
    tokens.resize(n_before + static_cast<size_t>(-static_cast<int64_t>(n_tokens)));
    n_tokens = tokenize();
  }
  tokens.resize(n_before + static_cast<size_t>(std::max(n_tokens, 0)));
}

std::optional<llama_token> Model::FindToken(const std::string& text) const {
  std::vector<llama_token> tokens;
  Append(tokens, {.text = text, .has_control_tokens = true}, false);
  return tokens.size() == 1 ? std::optional(tokens[0]) : std::nullopt;
}

std::string Model::Piece(llama_token token, bool has_control_texts) const {
  std::string piece(32, '\0');
  const auto write = [&] {
    return llama_token_to_piece(vocab_, token, piece.data(), static_cast<int32_t>(piece.size()), 0, has_control_texts);
  };
  int32_t n_bytes = write();
  if (n_bytes < 0) {
    piece.resize(static_cast<size_t>(-n_bytes));
    n_bytes = write();
  }
  piece.resize(static_cast<size_t>(std::max(n_bytes, 0)));
  return piece;
}

namespace {

llama_flash_attn_type FlashTypeOf(const ModelOptions& options) {
  // Every processor can.
  const bool is_certain = options.flash_attention == LLAMA_FLASH_ATTN_TYPE_AUTO && !UsesGpu(options);
  return is_certain ? LLAMA_FLASH_ATTN_TYPE_ENABLED : options.flash_attention;
}

}  // namespace

llama_context_params ContextParams(const ModelOptions& options, ggml_abort_callback abort, void* abort_data) {
  auto params = llama_context_default_params();
  params.n_threads = options.n_threads;
  params.n_threads_batch = options.n_threads;
  params.flash_attn_type = FlashTypeOf(options);
  params.no_perf = true;
  params.abort_callback = abort;
  params.abort_callback_data = abort_data;
  return params;
}

std::unique_ptr<compute::ProcessorThreads> AttachThreads(llama_context* context, const ModelOptions& options) {
  if (options.n_threads < 2 || DeviceOfProcessor(options) || !compute::CpuDevice()) return nullptr;
  auto threads = std::make_unique<compute::ProcessorThreads>(options.n_threads);
  llama_attach_threadpool(context, threads->get(), threads->get());
  return threads;
}

namespace {

// Sets what does not depend on the loaded model.
void SetShape(llama_context_params& params, const LoadOptions& options) {
  params.n_ubatch = static_cast<uint32_t>(options.n_ubatch);
  params.n_seq_max = static_cast<uint32_t>(options.n_sequences);
  // Without this the logits' buffer has room for a whole batch.
  params.n_outputs_max = static_cast<uint32_t>(Outputs(options));
  params.type_k = options.key_type;
  params.type_v = options.value_type;
  params.kv_unified = IsUnified(options);
  params.swa_full = options.keeps_all_windows;
  params.rope_freq_base = options.rope_frequency_base;
  const auto& scaling = options.rope_scaling;
  if (scaling.type == LLAMA_ROPE_SCALING_TYPE_UNSPECIFIED) return;
  params.rope_scaling_type = scaling.type;
  params.rope_freq_scale = 1.0F / scaling.factor;
  params.yarn_orig_ctx = static_cast<uint32_t>(scaling.n_original);
  params.yarn_beta_fast = scaling.beta_fast;
  params.yarn_beta_slow = scaling.beta_slow;
}

}  // namespace

llama_context_params PlannedContext(const LoadOptions& options) {
  auto params = ContextParams(options, nullptr, nullptr);
  // 0 lets llama.cpp take the length that the model was trained with, for each sequence.
  params.n_ctx = options.n_context <= 0
                     ? 0
                     : static_cast<uint32_t>(std::min<int64_t>(Cells(options, options.n_context), UINT32_MAX));
  params.n_batch = static_cast<uint32_t>(options.n_ubatch);
  SetShape(params, options);
  return params;
}

Context::Context(const Model& model, const LoadOptions& options, ggml_abort_callback abort, void* abort_data)
    : n_context_(ContextTokens(model, options)),
      n_cells_(Cells(options, n_context_)),
      n_batch_(std::max(options.n_ubatch, options.n_prefill_per_step + Outputs(options))),
      is_unified_(IsUnified(options)),
      has_streams_(!is_unified_ || !model.CanRollBack()) {
  if (options.flash_attention == LLAMA_FLASH_ATTN_TYPE_DISABLED && ggml_is_quantized(options.value_type)) {
    throw LoadError("values in " + std::string(ggml_type_name(options.value_type)) +
                    " need flash attention, which is off");
  }
  if (is_unified_ && !options.keeps_all_windows) {
    throw LoadError(
        "layers can keep only their window where each sequence has a cache of its own, and the sequences "
        "share one (n_ctx_total)");
  }
  auto params = ContextParams(options, abort, abort_data);
  params.n_ctx = static_cast<uint32_t>(n_cells_);
  params.n_batch = static_cast<uint32_t>(n_batch_);
  SetShape(params, options);
  context_.reset(llama_init_from_model(model.get(), params));
  if (!context_) {
    throw LoadError("no context of " + std::to_string(options.n_sequences) + " sequences of " +
                    std::to_string(n_context_) + " tokens could be made with model file " + options.model_path +
                    ": there is not enough memory" + KvHint(options));
  }
  threads_ = AttachThreads(context_.get(), options);
  // Encoders such as BERT have none.
  if (!memory()) throw LoadError("model file " + options.model_path + " is not a model that generates text");
  n_ubatch_ = static_cast<int32_t>(llama_n_ubatch(context_.get()));
  can_shift_ = CanShift(context_.get(), params.type_k);
}

std::string DescriptionOf(const Model& model) {
  std::array<char, 256> description{};
  llama_model_desc(model.get(), description.data(), description.size());
  return description.data();
}

ModelInfo Describe(const Model& model, const Context& context) {
  return {
      .description = DescriptionOf(model),
      .n_context = context.n_context(),
      .n_vocab = llama_vocab_n_tokens(model.vocab()),
      .can_shift = context.can_shift(),
  };
}

}  // namespace aana::llama
