#include "prompts.h"

#include <cstddef>
#include <utility>

#include "fake_llama.h"

namespace aana::test {

Prompts::Prompts(Random& random, Sight sight, int n_beginning) : random_(random), sight_(sight) {
  for (auto& beginning : beginnings_) {
    AddTokens(beginning, n_beginning + random_.UpTo(30));
    if (sight_ != Sight::kNone && random_.OneIn(2)) AddImage(beginning);
    AddTokens(beginning, 5 + random_.UpTo(20));
  }
}

FakePrompt Prompts::Next() {
  FakePrompt prompt;
  if (random_.OneIn(4))
    AddTokens(prompt, 1 + random_.UpTo(30));
  else
    prompt = beginnings_[static_cast<size_t>(random_.UpTo(2))];
  if (sight_ != Sight::kNone && random_.OneIn(3)) AddImage(prompt);
  // A prompt may end with an image.
  AddTokens(prompt, random_.UpTo(random_.OneIn(3) ? 25 : 3));
  return prompt;
}

void Prompts::AddTokens(FakePrompt& prompt, int n) {
  for (int i = 0; i < n; i++) prompt.tokens.push_back(1 + random_.UpTo(fake::kPlainTokens - 2));
}

void Prompts::AddImage(FakePrompt& prompt) {
  const bool is_broken = random_.UpTo(4) == 0 && random_.UpTo(4) == 0;
  const int32_t picture = is_broken ? fake::kBrokenPicture : 1 + random_.UpTo(4);
  const auto width = static_cast<size_t>(2 + picture % 4);
  const auto height = static_cast<size_t>(1 + picture / 2);
  llama::PromptImage image;
  image.first = prompt.tokens.size();
  image.n_cells = width * height;
  image.n_positions = sight_ == Sight::kPositions ? width : image.n_cells;
  image.is_causal = sight_ != Sight::kWhole;
  image.part = prompt.images.size();
  for (size_t cell = 0; cell < image.n_cells; cell++) prompt.tokens.push_back(fake::CellNumber(picture, cell));
  if (sight_ == Sight::kPositions) {
    const auto begin = llama::PositionAfter(prompt.images, image.first);
    for (size_t cell = 0; cell < image.n_cells; cell++) {
      image.positions.push_back(
          {begin, begin + static_cast<llama_pos>(cell / width), begin + static_cast<llama_pos>(cell % width), 0});
    }
  }
  prompt.images.push_back(std::move(image));
  prompt.pictures.push_back(picture);
}

}  // namespace aana::test
