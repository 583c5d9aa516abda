#pragma once

#include <llama.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/llama/prompt_cache/state_bytes.h"

namespace aana::llama {

// What llama_state_seq_get_data returned for consecutive tokens, taken apart, so that some tokens can be cut out of it
// and states of consecutive tokens can be joined. The form is that of llama.cpp's cache for attention without windows,
// which no header states.
class StateParts {
 public:
  // Empty when the state has another form, or another number of tokens, which begin at the position `first`. `state`
  // must outlive the result.
  static std::optional<StateParts> Of(std::span<const uint8_t> state, size_t n_tokens, size_t first = 0);

  // Returns the state of `n` tokens from the token `at` on.
  StateBytes Cut(size_t at, size_t n) const;
  // Returns the state of the tokens of all parts in a context with `n_caches` separate caches. Empty when the parts do
  // not have the same form.
  static StateBytes Join(std::span<const StateParts> parts, uint32_t n_caches);

 private:
  // Numbers of all tokens. There are `n_rows` of them for each token, which have `n_bytes`.
  struct Plane {
    std::span<const uint8_t> head;  // what lies before the plane
    size_t n_rows = 0;
    size_t n_bytes = 0;
    const uint8_t* bytes = nullptr;
  };
  // Some tokens of a state.
  struct Range {
    const StateParts* of;
    size_t at;
    size_t n;
  };

  class Reader;

  static std::optional<StateParts> OfCells(Reader reader, size_t n_tokens, size_t first, size_t n_cell_bytes,
                                           size_t n_behind);
  static StateBytes Write(std::span<const Range> ranges, uint32_t n_caches);
  bool HasFormOf(const StateParts& other) const;
  // Copies what a row of a plane has of the tokens, and returns where that ends.
  uint8_t* CopyRow(const Plane& plane, size_t row, size_t at, size_t n, uint8_t* to) const;

  std::vector<size_t> cells_;  // where the state has each token
  std::vector<Plane> planes_;
};

}  // namespace aana::llama
