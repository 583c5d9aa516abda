#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

#include "core/llama/sampling/params.h"

namespace aana::test {

// Tokens that count up.
inline std::vector<llama::TokenId> Numbers(llama::TokenId first, size_t n) {
  std::vector<llama::TokenId> tokens(n);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

}  // namespace aana::test
