#pragma once

#include <llama.h>

#include <cstddef>
#include <vector>

#include "core/llama/prompt_cache/state_bytes.h"
#include "core/llama/vision/prompt_image.h"

namespace aana::llama {

// What a slot held of a sequence that is paused, with the keys and values themselves, so that the sequence goes on as
// if it had never been paused.
struct Suspended {
  std::vector<llama_token> decoded;
  std::vector<ImageCells> images;
  size_t n_exact = 0;
  size_t n_fixed = 0;
  StateBytes state;
};

}  // namespace aana::llama
