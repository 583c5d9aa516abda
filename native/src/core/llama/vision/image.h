#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

namespace aana::llama {

// The pixels of an image, decoded elsewhere: this code never sees a file of an image.
struct Image {
  uint32_t width = 0;
  uint32_t height = 0;
  std::shared_ptr<const std::vector<uint8_t>> pixels;  // RGB, row by row, without padding
  std::array<uint32_t, 8> digest{};                    // the SHA-256 of the pixels
};

// Samples per second of the sounds that models read.
constexpr int kSoundRate = 16'000;
// Samples of the longest windows of their encoders.
constexpr size_t kSoundWindow = size_t{30} * kSoundRate;

// The samples of a sound, decoded and mixed elsewhere.
struct Sound {
  std::shared_ptr<const std::vector<float>> samples;  // one channel at `kSoundRate`; at least one, all of them finite
  std::array<uint32_t, 8> digest{};                   // the SHA-256 of the samples
};

// What an encoder makes the embeddings of that a model reads in the place of tokens.
using Media = std::variant<Image, Sound>;

}  // namespace aana::llama
