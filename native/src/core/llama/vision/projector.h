#pragma once

#include <llama.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/llama/model/model.h"
#include "core/llama/vision/prompt_image.h"

namespace aana::llama {

// An encoder of images, of sounds or of both, whose output a language model reads like embeddings of tokens.
class Projector {
 public:
  virtual ~Projector() = default;

  virtual bool ReadsImages() const = 0;
  virtual bool ReadsSounds() const = 0;
  // Whether the model reads an image in one pass.
  virtual bool NeedsWholeImages() const = 0;
  // Tokens that each whole `kSoundWindow` of a sound has at least.
  virtual size_t n_window_tokens() const = 0;

  struct Layout {
    std::vector<llama_token> tokens;
    std::vector<PromptImage> images;
  };
  // Returns the tokens of a prompt with media, without looking at pixels and samples. Any thread. Throws
  // std::invalid_argument for media that the encoder does not take.
  virtual Layout Read(const MediaPrompt& prompt) const = 0;
  // Computes the embeddings of the images of `layout` that come from the part `part` of the prompt, as long as
  // `goes_on`, which is asked before each. One thread at a time. Throws std::runtime_error.
  virtual void Encode(const MediaPrompt& prompt, size_t part, std::vector<PromptImage>& images,
                      const std::function<bool()>& goes_on) = 0;
};

// `model` must outlive the projector. Throws LoadError.
std::unique_ptr<Projector> LoadProjector(const LoadOptions& options, const Model& model, const LoadProgress& progress);

}  // namespace aana::llama
