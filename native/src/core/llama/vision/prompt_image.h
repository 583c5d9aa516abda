#pragma once

#include <llama.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "core/llama/prompt/prompt.h"
#include "core/llama/vision/image.h"

namespace aana::llama {

// Which tokens of a prompt are an image or a tile of one, or a sound or a window of one: the model reads what encoders
// make of sounds like images, and below the prompt both are called images. In lists of tokens they have negative
// numbers that tell them apart.
struct ImageCells {
  size_t first = 0;
  size_t n_cells = 0;
  size_t n_positions = 0;  // that the image takes; fewer than cells in models whose positions have several numbers

  size_t end() const { return first + n_cells; }
};

// Embeddings of an image, which a model reads in the place of tokens.
using Embeddings = std::shared_ptr<const std::vector<float>>;

struct PromptImage : ImageCells {
  // Of each cell, where positions have several numbers, as the model wants them; else empty.
  std::vector<std::array<llama_pos, 4>> positions;
  // Whether a cell attends only to cells before it. Otherwise all cells are computed in one pass.
  bool is_causal = true;
  bool is_sound = false;
  size_t part = 0;        // of the prompt
  Embeddings embeddings;  // null until the image is encoded
};

// What the images of a prompt are made from.
struct MediaPrompt {
  std::vector<PromptPart> parts;
  std::vector<Media> media;
};

// Returns how many tokens of a prompt with these images are sounds, or are images and no sounds.
inline int32_t MediaTokens(const std::vector<PromptImage>& images, bool are_sounds) {
  size_t n = 0;
  for (const auto& image : images) n += image.is_sound == are_sounds ? image.n_cells : 0;
  return static_cast<int32_t>(n);
}

// Returns `n` without the last tokens of an image of which `n` tokens have a part only.
template <class Images>
size_t WholeImages(const Images& images, size_t n) {
  for (const auto& image : images) {
    if (image.first < n && n < image.end()) return image.first;
  }
  return n;
}

// Returns the position of the token behind the first `n`.
template <class Images>
llama_pos PositionAfter(const Images& images, size_t n) {
  size_t position = n;
  for (const auto& image : images) {
    if (image.end() <= n) position -= image.n_cells - image.n_positions;
  }
  return static_cast<llama_pos>(position);
}

// Returns the number of a cell of an image or a sound in a list of tokens: 31 bits of its digest, other ones for each
// of eight neighbours, so that lists with the numbers of a whole image are the same only for the same image.
inline llama_token CellNumber(const Media& media, size_t tile, size_t cell) {
  const auto& digest = std::visit([](const auto& one) -> const auto& { return one.digest; }, media);
  uint32_t word = digest[cell % digest.size()];
  if (cell % digest.size() == 0) {
    // An image and a sound with the same bytes are not the same.
    const auto* image = std::get_if<Image>(&media);
    word ^= image ? image->width * 0x9E3779B1U ^ image->height * 0x85EBCA77U : 0x27D4EB2FU;
  }
  word ^= static_cast<uint32_t>(tile) * 0xC2B2AE3DU;
  return static_cast<llama_token>(word | 0x80000000U);
}

}  // namespace aana::llama
