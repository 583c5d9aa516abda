#include "core/llama/model/purpose.h"

#include <array>

#include "core/llama/model/load_error.h"

namespace aana::llama {

std::optional<std::string> MetadataOf(const llama_model* model, const std::string& key) {
  std::array<char, 256> value{};
  if (llama_model_meta_val_str(model, key.c_str(), value.data(), value.size()) < 0) return std::nullopt;
  return value.data();
}

std::optional<enum llama_pooling_type> StatedPooling(const Model& model) {
  const auto architecture = MetadataOf(model.get(), "general.architecture").value_or("");
  const auto number = MetadataOf(model.get(), architecture + ".pooling_type").value_or("");
  for (const auto type :
       {LLAMA_POOLING_TYPE_MEAN, LLAMA_POOLING_TYPE_CLS, LLAMA_POOLING_TYPE_LAST, LLAMA_POOLING_TYPE_RANK}) {
    if (number == std::to_string(type)) return type;
  }
  return std::nullopt;
}

void RequireTextModel(const Model& model, const std::string& path) {
  const auto pooling = StatedPooling(model);
  if (pooling == LLAMA_POOLING_TYPE_RANK)
    throw LoadError("model file " + path + " is a reranker: use it with a LlamaRerankDeployment");
  if (pooling)
    throw LoadError("model file " + path + " is a model for embeddings: use it with a LlamaEmbeddingDeployment");
  if (!llama_model_has_decoder(model.get()) || llama_model_has_encoder(model.get())) {
    throw LoadError("model file " + path + " is not a model that generates text");
  }
}

}  // namespace aana::llama
