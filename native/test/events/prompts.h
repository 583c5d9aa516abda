#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/llama/vision/prompt_image.h"
#include "random.h"

namespace aana::test {

// How the model of an engine reads images.
enum class Sight { kNone, kCausal, kWhole, kPositions };

// A prompt with images.
struct FakePrompt {
  std::vector<llama_token> tokens;
  std::vector<llama::PromptImage> images;
  std::vector<int32_t> pictures;  // of the images
};

// The prompts of one engine. Most of them have one of a few beginnings.
class Prompts {
 public:
  // Their beginnings have at least `n_beginning` tokens. `random` must outlive this.
  Prompts(Random& random, Sight sight, int n_beginning);

  FakePrompt Next();

 private:
  void AddTokens(FakePrompt& prompt, int n);
  // The size of a picture follows from the picture.
  void AddImage(FakePrompt& prompt);

  Random& random_;
  const Sight sight_;
  std::array<FakePrompt, 3> beginnings_;
};

}  // namespace aana::test
