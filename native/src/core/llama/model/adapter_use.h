#pragma once

#include <cstdint>

namespace aana::llama {

// The LoRA adapter with which a sequence is computed.
struct AdapterUse {
  int32_t index = -1;  // among the engine's adapters; -1: none
  float scale = 1.0F;  // how strongly it changes the model

  bool operator==(const AdapterUse&) const = default;
};

}  // namespace aana::llama
