#pragma once

#include <llama.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/llama/prompt_cache/state_bytes.h"

namespace aana::test {

// How llama.cpp writes the state of a sequence.
struct StateForm {
  uint32_t n_caches = 1;
  uint32_t cache = 0;              // of the sequence
  size_t n_more_bytes = 0;         // of a cell, which some models have
  bool are_values_turned = false;  // as without flash attention
  uint32_t n_layers = 2;
  size_t n_rotated = 0;  // cells whose tokens are elsewhere
};

// The state of these tokens, which begin at the position `first`. What it has of a token follows from the token.
inline llama::StateBytes StateOf(std::span<const llama_token> tokens, const StateForm& form, llama_pos first = 0) {
  std::vector<uint8_t> bytes;
  const auto put = [&](const auto& value) {
    const auto* begin = reinterpret_cast<const uint8_t*>(&value);
    bytes.insert(bytes.end(), begin, begin + sizeof value);
  };
  std::vector<size_t> cells(tokens.size());
  for (size_t i = 0; i < cells.size(); i++) cells[i] = (i + form.n_rotated) % cells.size();
  const auto put_values = [&](size_t n, auto salt) {
    for (const auto cell : cells) {
      for (size_t i = 0; i < n; i++) put(static_cast<uint8_t>(tokens[cell] * 7 + static_cast<int>(salt + i)));
    }
  };
  put(uint32_t{0xaf143cd8});
  put(llama_seq_id{3});
  put(form.n_caches);
  for (uint32_t cache = 0; cache < form.n_caches; cache++) {
    const bool is_here = cache == form.cache && !tokens.empty();
    put(static_cast<uint32_t>(is_here ? tokens.size() : 0));
    if (!is_here) continue;
    for (const auto cell : cells) {
      put(first + static_cast<llama_pos>(cell));
      put(uint32_t{1});
      for (size_t i = 0; i < form.n_more_bytes; i++) put(static_cast<uint8_t>(tokens[cell]));
      put(llama_seq_id{3});
    }
    put(uint32_t{form.are_values_turned});
    put(form.n_layers);
    for (uint32_t layer = 0; layer < form.n_layers; layer++) {
      put(int32_t{1});
      put(uint64_t{16 + layer});
      put_values(16 + layer, layer);
    }
    for (uint32_t layer = 0; layer < form.n_layers; layer++) {
      put(int32_t{1});
      if (!form.are_values_turned) {
        put(uint64_t{8});
        put_values(8, layer + 50);
        continue;
      }
      put(uint32_t{2});
      put(uint32_t{5});
      for (uint32_t row = 0; row < 5; row++) put_values(2, layer + row + 100);
    }
  }
  llama::StateBytes state(bytes.size());
  std::ranges::copy(bytes, state.bytes.get());
  return state;
}

}  // namespace aana::test
