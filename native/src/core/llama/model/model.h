#pragma once

#include <llama.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/compute/device/processor_threads.h"
#include "core/compute/device/packed_file.h"
#include "core/deleter.h"
#include "core/llama/prompt/prompt.h"

namespace aana::llama {

// The file of a model and where it is computed.
struct ModelOptions {
  std::string model_path;
  int32_t n_threads = 1;
  int32_t n_gpu_layers = -1;  // -1: all
  // Names of the GPUs to use, as ListDevices has them; empty: all that the process sees.
  std::vector<std::string> devices;
  // What is divided between several GPUs; with rows and tensors, where the backend and the model can.
  llama_split_mode split_mode = LLAMA_SPLIT_MODE_LAYER;
  int32_t main_gpu = 0;             // the one of the GPUs that has all of it when nothing is split
  std::vector<float> tensor_split;  // the part of each GPU; empty: by their free memory
  // As many layers are put on the GPUs as fit there beside the context (LayerFit), in place of n_gpu_layers. There is
  // no tensor_split then.
  bool fits_gpu_layers = false;
  // Automatic: where the processors of the model can. Without it the values cannot be quantized.
  llama_flash_attn_type flash_attention = LLAMA_FLASH_ATTN_TYPE_AUTO;
  bool is_mapped = true;   // the weights stay in the file, which is mapped
  bool is_locked = false;  // the weights are kept in memory, as far as the limit of the process allows
  // File of the weights as our kernels need them, which processes share. Made if it does not exist. Empty: none.
  std::string packed_path;
};

// Where what was computed for prompts is kept on disk.
struct PromptCacheOptions {
  std::string folder;  // empty: nowhere
  uint64_t max_bytes = 0;
  int32_t n_least = 256;  // tokens of a prompt that no other one has
};

// How positions are scaled, so that sequences can be longer than what the model was trained with.
struct RopeScaling {
  llama_rope_scaling_type type = LLAMA_ROPE_SCALING_TYPE_UNSPECIFIED;  // as the file says
  float factor = 1;
  int32_t n_original = 0;  // tokens that `factor` multiplies; 0: what the model was trained with
  // Begin and end of the dimensions that YaRN mixes.
  float beta_fast = -1;
  float beta_slow = -1;
};

struct LoadOptions : ModelOptions {
  // Per sequence, at most what the model was trained with or the scaling allows; 0: as many as that.
  int32_t n_context = 0;
  RopeScaling rope_scaling;
  float rope_frequency_base = 0;  // 0: as the file says
  int32_t n_sequences = 1;
  int32_t n_prefill_per_step = 256;
  // Tokens of completions that are guessed and computed together with the next ones in a step, all sequences together;
  // 0: none.
  int32_t n_drafted = 0;
  std::string draft_model_path;  // of the model that guesses them; empty: they are guessed from the text itself
  // A draft model guesses no token that it holds for less likely.
  float least_draft_probability = 0.5F;
  ggml_type key_type = GGML_TYPE_F16;
  ggml_type value_type = GGML_TYPE_F16;
  int32_t n_cells = 0;  // that all sequences share; 0: each has its own
  // Layers whose tokens attend to the last ones only (sliding window) keep all tokens. Else they keep little more than
  // their window, so a sequence can be taken back by a few hundred tokens, and none is shifted.
  bool keeps_all_windows = true;
  PromptCacheOptions prompt_cache;
  uint64_t n_kept_bytes = 0;          // of main memory, for what was computed for texts that lost their slot
  int32_t n_ubatch = 512;             // tokens of a pass over the weights at most
  std::string projector_path;         // of the encoder of images or sounds; empty: the model reads texts only
  std::vector<std::string> adapters;  // files of LoRA adapters
  std::string chat_template;          // empty: the model's own
  // Choosing the tokens of a step is divided among up to `n_threads` threads that have at least so much work each. Less
  // is for tests.
  std::chrono::microseconds least_sampling_work{200};
  // How long a request may wait for a reader that takes nothing, before it ends.
  std::chrono::milliseconds reader_timeout{60'000};
};

struct ModelInfo {
  std::string description;
  int32_t n_context = 0;  // per sequence
  int32_t n_vocab = 0;
  bool can_shift = false;
  bool reads_images = false;
  bool reads_sounds = false;
  int32_t n_window_tokens = 0;  // that each whole `kSoundWindow` of a sound has at least
};

// Gets 0 to 1; false ends the load.
using LoadProgress = std::function<bool(float fraction)>;
// Returns the progress of a part of a load, which lasts from `begin` to `end` of the whole.
LoadProgress PartOf(const LoadProgress& whole, float begin, float end);

// A model's weights and vocabulary. What is const may be called on any thread.
class Model {
 public:
  // `place` may change where the parts of the model lie, and what it sets must live as long as the model is loaded.
  // Throws LoadError.
  Model(const ModelOptions& options, const LoadProgress& progress,
        const std::function<void(llama_model_params&)>& place = {});

  llama_model* get() const { return model_.get(); }
  const llama_vocab* vocab() const { return vocab_; }

  // Returns the tokens of the parts, each read by itself, and those that the model wants around a text, such as the one
  // that begins it. Throws std::length_error for a part of more than 1 GiB.
  std::vector<llama_token> Tokenize(std::span<const PromptPart> parts) const;
  // Returns the tokens of text inside of another text: without tokens around it.
  std::vector<llama_token> TokenizeInner(const std::string& text) const;
  std::vector<llama_token> TokenizeInner(std::span<const PromptPart> parts) const;
  int32_t n_vocab() const { return llama_vocab_n_tokens(vocab_); }
  // The bytes of a token, maybe not whole characters; none for control tokens.
  std::string Piece(llama_token token) const { return Piece(token, false); }
  // The same, and the text of control tokens.
  std::string PieceOrControlText(llama_token token) const { return Piece(token, true); }
  // Returns the token, also a control token, that the text is; empty when it is no single one.
  std::optional<llama_token> FindToken(const std::string& text) const;
  bool EndsGeneration(llama_token token) const { return llama_vocab_is_eog(vocab_, token); }
  // Whether a part of a sequence can be taken back; recurrent models cannot.
  bool CanRollBack() const { return !llama_model_is_recurrent(get()) && !llama_model_is_hybrid(get()); }

 private:
  std::string Piece(llama_token token, bool has_control_texts) const;
  void Append(std::vector<llama_token>& tokens, const PromptPart& part, bool is_first) const;

  std::unique_ptr<compute::PackedFile> packed_;
  std::unique_ptr<llama_model, Deleter<llama_model_free>> model_;
  const llama_vocab* vocab_ = nullptr;
};

// Returns the part of a context's parameters that does not depend on the task of the model.
llama_context_params ContextParams(const ModelOptions& options, ggml_abort_callback abort, void* abort_data);

// Gives a context threads for all of its steps, because ggml else starts new ones for each graph. They must outlive it.
// Returns null where one thread computes, or our device has threads of its own.
std::unique_ptr<compute::ProcessorThreads> AttachThreads(llama_context* context, const ModelOptions& options);

// The keys and values of `n_sequences` sequences over a model, which must outlive it. One thread at a time.
class Context {
 public:
  // Tokens of prompts whose logits one decode can give, besides those of the sequences' last tokens.
  static constexpr int32_t kMostScored = 16;
  // What llama_decode returns for a context besides 0 and other errors below 0.
  static constexpr int32_t kNoRoom = 1;
  static constexpr int32_t kAbandoned = 2;
  static constexpr int32_t kComputeFailed = -3;

  // `abort` is asked during a decode on the CPU and ends it when true. Throws LoadError.
  Context(const Model& model, const LoadOptions& options, ggml_abort_callback abort, void* abort_data);

  llama_context* get() const { return context_.get(); }
  llama_memory_t memory() const { return llama_get_memory(get()); }
  // Tokens that one sequence can hold.
  int32_t n_context() const { return n_context_; }
  // Tokens that all sequences together can hold.
  int64_t n_cells() const { return n_cells_; }
  // Tokens that one decode can take.
  int32_t n_batch() const { return n_batch_; }
  // Tokens that one pass over the weights can take.
  int32_t n_ubatch() const { return n_ubatch_; }
  // Whether tokens can be taken out of the middle of a sequence.
  bool can_shift() const { return can_shift_; }
  // Whether the cells for keys and values belong to all sequences.
  bool is_unified() const { return is_unified_; }
  // Whether each sequence has cells of its own, in place of cells that all share.
  bool has_streams() const { return has_streams_; }

 private:
  int32_t n_context_;
  int64_t n_cells_;
  int32_t n_batch_;
  int32_t n_ubatch_ = 0;
  bool is_unified_;
  bool has_streams_;
  bool can_shift_ = false;
  std::unique_ptr<compute::ProcessorThreads> threads_;
  std::unique_ptr<llama_context, Deleter<llama_free>> context_;
};

// Returns parameters of a context that is as large as the one with these options, or larger where the model was trained
// with shorter texts.
llama_context_params PlannedContext(const LoadOptions& options);

// Returns llama.cpp's description of the model, such as "qwen3 0.6B Q8_0".
std::string DescriptionOf(const Model& model);
ModelInfo Describe(const Model& model, const Context& context);

}  // namespace aana::llama
