#pragma once

#include <llama.h>

#include <memory>
#include <string>
#include <vector>

#include "core/llama/model/model.h"
#include "core/llama/vision/prompt_image.h"

struct mtmd_context;

namespace aana::llama {

// An image encoder whose output a language model reads like embeddings of tokens. Uses llama.cpp's library for that, mtmd.
class Projector {
 public:
  // `model` must outlive this. Throws LoadError.
  Projector(const LoadOptions& options, const Model& model, const LoadProgress& progress);
  ~Projector();
  Projector(const Projector&) = delete;
  Projector& operator=(const Projector&) = delete;

  // Whether the model reads an image in one pass.
  bool NeedsWholeImages() const;

  struct Layout {
    std::vector<llama_token> tokens;
    std::vector<PromptImage> images;
  };
  // Returns the tokens of a prompt with images, without looking at the pixels. Any thread. Throws std::invalid_argument for an image that the encoder
  // does not take.
  Layout Read(const ImagePrompt& prompt) const;
  // Computes the embeddings of the images of `layout` that come from the part `part` of the prompt. One thread at a time. Throws std::runtime_error.
  void Encode(const ImagePrompt& prompt, size_t part, std::vector<PromptImage>& images);

 private:
  struct FreeContext {
    void operator()(mtmd_context* context) const;
  };

  const int32_t n_embedding_;
  std::unique_ptr<mtmd_context, FreeContext> context_;
};

}  // namespace aana::llama
