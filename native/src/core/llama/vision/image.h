#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace aana::llama {

// The pixels of an image, decoded elsewhere: this code never sees a file of an image.
struct Image {
  uint32_t width = 0;
  uint32_t height = 0;
  std::shared_ptr<const std::vector<uint8_t>> pixels;  // RGB, row by row, without padding
  std::array<uint32_t, 8> digest{};                    // the SHA-256 of the pixels
};

}  // namespace aana::llama
