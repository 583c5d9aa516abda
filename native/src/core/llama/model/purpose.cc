#include "core/llama/model/purpose.h"

#include <array>

#include "core/llama/model/load_error.h"

namespace aana::llama {

const char* NameOf(Pooling pooling) {
  switch (pooling) {
    case Pooling::kMean:
      return "mean";
    case Pooling::kCls:
      return "cls";
    case Pooling::kLast:
      return "last";
    case Pooling::kRank:
      return "rank";
  }
  return "mean";
}

std::optional<std::string> MetadataOf(const Model& model, const std::string& key) {
  std::array<char, 256> value{};
  if (llama_model_meta_val_str(model.get(), key.c_str(), value.data(), value.size()) < 0) return std::nullopt;
  return value.data();
}

std::optional<Pooling> StatedPooling(const Model& model) {
  const auto architecture = MetadataOf(model, "general.architecture").value_or("");
  const auto number = MetadataOf(model, architecture + ".pooling_type").value_or("");
  if (number == std::to_string(LLAMA_POOLING_TYPE_MEAN)) return Pooling::kMean;
  if (number == std::to_string(LLAMA_POOLING_TYPE_CLS)) return Pooling::kCls;
  if (number == std::to_string(LLAMA_POOLING_TYPE_LAST)) return Pooling::kLast;
  if (number == std::to_string(LLAMA_POOLING_TYPE_RANK)) return Pooling::kRank;
  return std::nullopt;
}

void RequireTextModel(const Model& model, const std::string& path) {
  const auto pooling = StatedPooling(model);
  if (pooling == Pooling::kRank)
    throw LoadError("model file " + path + " is a reranker: use it with a LlamaRerankDeployment");
  if (pooling)
    throw LoadError("model file " + path + " is a model for embeddings: use it with a LlamaEmbeddingDeployment");
  if (!llama_model_has_decoder(model.get()) || llama_model_has_encoder(model.get())) {
    throw LoadError("model file " + path + " is not a model that generates text");
  }
}

}  // namespace aana::llama
