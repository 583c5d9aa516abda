#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace aana::llama {

// Bytes that are written as a whole, so they need no zeros before.
struct StateBytes {
  StateBytes() = default;
  explicit StateBytes(size_t n) : bytes(new uint8_t[n]), size(n) {}

  std::span<const uint8_t> span() const { return {bytes.get(), size}; }

  std::unique_ptr<uint8_t[]> bytes;
  size_t size = 0;
};

}  // namespace aana::llama
