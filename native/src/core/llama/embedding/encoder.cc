#include "core/llama/embedding/encoder.h"

#include <gguf.h>

#include <algorithm>
#include <stdexcept>

#include "core/engine_log.h"
#include "core/llama/model/load_error.h"

namespace aana::llama {
namespace {

// llama.cpp allows no more sequences.
constexpr int32_t kMaxTexts = 256;
constexpr int32_t kAborted = 2;

// Whether the model's scores are the probabilities of "yes" and "no".
bool HasProbabilities(const Model& model) {
  const auto architecture = MetadataOf(model.get(), "general.architecture").value_or("");
  return architecture == "qwen3" || architecture == "qwen3vl";
}

bool HasClassifier(const std::string& path) {
  const std::unique_ptr<gguf_context, Deleter<gguf_free>> header(
      gguf_init_from_file(path.c_str(), {.no_alloc = true, .ctx = nullptr}));
  return header && (gguf_find_tensor(header.get(), "cls.output.weight") >= 0 ||
                    gguf_find_tensor(header.get(), "cls.weight") >= 0);
}

enum llama_pooling_type ChooseRank(const Model& model, const std::string& path) {
  if (StatedPooling(model) != LLAMA_POOLING_TYPE_RANK) {
    throw LoadError("model file " + path + " is not a reranker: its file does not state the pooling \"rank\"");
  }
  // Without it llama.cpp would return numbers of the last layer as scores.
  if (!HasClassifier(path)) throw LoadError("model file " + path + " is not a reranker: it has no classification head");
  const auto n_scores = llama_model_n_cls_out(model.get());
  if (n_scores != 1 && !(n_scores == 2 && HasProbabilities(model))) {
    throw LoadError("model file " + path + " is not a reranker: it has " + std::to_string(n_scores) +
                    " scores for a text");
  }
  return LLAMA_POOLING_TYPE_RANK;
}

enum llama_pooling_type ChooseEmbedding(const Model& model, const EmbeddingOptions& options) {
  const auto stated = StatedPooling(model);
  if (stated == LLAMA_POOLING_TYPE_RANK)
    throw LoadError("model file " + options.model_path + " is a reranker: use it with a LlamaRerankDeployment");
  if (!options.pooling && !stated) {
    throw LoadError("model file " + options.model_path +
                    " is not a model for embeddings: its file states no pooling. If it is one, set the pooling to "
                    "mean, cls or last");
  }
  return options.pooling.value_or(stated.value_or(LLAMA_POOLING_TYPE_MEAN));
}

enum llama_pooling_type ChoosePooling(const Model& model, const EmbeddingOptions& options) {
  if (llama_model_has_encoder(model.get()) && llama_model_has_decoder(model.get())) {
    throw LoadError("model file " + options.model_path +
                    " is an encoder with a decoder; only one of both can be used for embeddings");
  }
  return options.task == EmbeddingTask::kRank ? ChooseRank(model, options.model_path) : ChooseEmbedding(model, options);
}

// Whether a token may attend to later ones, as far as the file states it.
bool IsNonCausal(const Model& model) {
  const auto architecture = MetadataOf(model.get(), "general.architecture").value_or("");
  return MetadataOf(model.get(), architecture + ".attention.causal") == "false" ||
         !llama_model_has_decoder(model.get());
}

int32_t MostTokens(const Model& model, const EmbeddingOptions& options) {
  const int32_t n_trained = llama_model_n_ctx_train(model.get());
  return options.n_context <= 0 ? n_trained : std::min(options.n_context, n_trained);
}

}  // namespace

llama_context_params PlannedContext(const EmbeddingOptions& options) {
  auto params = ContextParams(options, nullptr, nullptr);
  params.embeddings = true;
  const auto n_tokens = static_cast<uint32_t>(std::max(options.n_batch, options.n_context));
  params.n_ctx = params.n_batch = params.n_ubatch = n_tokens;
  params.kv_unified = true;
  return params;
}

Encoder::Encoder(const Model& model, const EmbeddingOptions& options, ggml_abort_callback abort, void* abort_data)
    : model_(model), pooling_(ChoosePooling(model, options)), n_context_(MostTokens(model, options)) {
  n_values_ =
      static_cast<size_t>(pooling_ == LLAMA_POOLING_TYPE_RANK ? static_cast<int32_t>(llama_model_n_cls_out(model.get()))
                                                              : llama_model_n_embd_out(model.get()));
  // Only the last vector of a text can be computed from its parts.
  const bool is_last =
      pooling_ == LLAMA_POOLING_TYPE_LAST || (pooling_ == LLAMA_POOLING_TYPE_RANK && HasProbabilities(model));
  const bool is_whole = IsNonCausal(model) || !is_last;
  MakeContext(options, is_whole, abort, abort_data);
  // A model without keys and values is not causal, even where its file does not say so.
  if (!is_whole && !llama_get_memory(context_.get())) MakeContext(options, true, abort, abort_data);
  batch_ = std::make_unique<Batch>(n_batch_);
}

void Encoder::MakeContext(const EmbeddingOptions& options, bool is_whole, ggml_abort_callback abort, void* abort_data) {
  // llama.cpp ends the process for a text that is not causal and longer than a batch.
  n_batch_ = is_whole ? std::max(options.n_batch, n_context_) : options.n_batch;
  n_texts_ = static_cast<size_t>(std::clamp(n_batch_ / 2, 1, kMaxTexts));
  auto params = ContextParams(options, abort, abort_data);
  params.embeddings = true;
  params.pooling_type = pooling_;
  params.n_ctx = static_cast<uint32_t>(std::max(n_batch_, n_context_));
  params.n_batch = params.n_ubatch = static_cast<uint32_t>(n_batch_);
  params.n_seq_max = static_cast<uint32_t>(n_texts_);
  // Texts of any lengths share the cells.
  params.kv_unified = true;
  context_.reset();
  threads_.reset();
  context_.reset(llama_init_from_model(model_.get(), params));
  if (!context_) {
    throw LoadError("no context for texts of " + std::to_string(n_context_) + " tokens could be made with model file " +
                    options.model_path + ": there is not enough memory");
  }
  threads_ = AttachThreads(context_.get(), options);
}

EmbeddingModelInfo Encoder::Describe() const {
  EmbeddingModelInfo info{
      .description = DescriptionOf(model_),
      .n_vocab = model_.n_vocab(),
      .n_context = n_context_,
      .n_batch = n_batch_,
      .n_values = static_cast<int32_t>(n_values_),
      .pooling = pooling_,
      .has_probabilities = pooling_ == LLAMA_POOLING_TYPE_RANK && HasProbabilities(model_),
  };
  return info;
}

Encoder::Result Encoder::Encode(std::span<const Text> texts, std::vector<float>& values,
                                const std::atomic<bool>& is_aborted) {
  const ScopedLogDemotion demotion(is_aborted);
  if (auto* memory = llama_get_memory(context_.get())) llama_memory_clear(memory, false);
  batch_->Clear();
  for (size_t i = 0; i < texts.size(); i++) {
    for (size_t at = 0; at < texts[i].size(); at++) {
      if (batch_->size() == n_batch_) {  // the beginning of a long text
        if (is_aborted) return Result::kAborted;
        if (Compute() == kAborted) return Result::kAborted;
        batch_->Clear();
      }
      batch_->Add(texts[i][at], static_cast<llama_pos>(at), static_cast<llama_seq_id>(i), true);
    }
  }
  if (Compute() == kAborted) return Result::kAborted;
  values.clear();
  for (size_t i = 0; i < texts.size(); i++) {
    const float* answer = llama_get_embeddings_seq(context_.get(), static_cast<llama_seq_id>(i));
    if (!answer) throw std::runtime_error("llama.cpp has no answer for a text of the batch");
    values.insert(values.end(), answer, answer + n_values_);
  }
  return Result::kDone;
}

int32_t Encoder::Compute() {
  const bool has_memory = llama_get_memory(context_.get()) != nullptr && !llama_model_has_encoder(model_.get());
  const int32_t result =
      has_memory ? llama_decode(context_.get(), batch_->get()) : llama_encode(context_.get(), batch_->get());
  if (result != 0 && result != kAborted) throw std::runtime_error("llama.cpp returned " + std::to_string(result));
  return result;
}

}  // namespace aana::llama
