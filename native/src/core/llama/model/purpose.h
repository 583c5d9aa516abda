#pragma once

#include <optional>
#include <string>

#include "core/llama/model/model.h"

namespace aana::llama {

// Returns the value of a key of the model's metadata; without a value, nothing.
std::optional<std::string> MetadataOf(const llama_model* model, const std::string& key);
// Returns the pooling that the model's file states; nothing for a model that generates text.
std::optional<enum llama_pooling_type> StatedPooling(const Model& model);

// Throws LoadError when the model at `path` is made for embeddings or scores, or is an encoder with a decoder.
void RequireTextModel(const Model& model, const std::string& path);

}  // namespace aana::llama
