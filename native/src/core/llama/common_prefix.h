#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace aana::llama {

// Returns how many tokens at the beginning of both texts are the same.
inline size_t CommonPrefix(std::span<const int32_t> a, std::span<const int32_t> b) {
  return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace aana::llama
