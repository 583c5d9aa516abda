#pragma once

#include <optional>
#include <string>

#include "core/llama/model/model.h"

namespace aana::llama {

// How the vectors of a text's tokens become the answer for the text.
enum class Pooling {
  kMean,
  kCls,   // the vector of the first token
  kLast,  // the vector of the last token
  kRank,  // scores that the model's classification head computes
};

const char* NameOf(Pooling pooling);

// Returns the value of a key of the model's metadata; without a value, nothing.
std::optional<std::string> MetadataOf(const Model& model, const std::string& key);
// Returns the pooling that the model's file states; nothing for a model that generates text.
std::optional<Pooling> StatedPooling(const Model& model);

// Throws LoadError when the model at `path` is made for embeddings or scores, or is an encoder with a decoder.
void RequireTextModel(const Model& model, const std::string& path);

}  // namespace aana::llama
