#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/llama/model/adapter_use.h"

namespace aana::llama {

// Decides which adapter a step computes with, because all sequences of a step share one. Adapters take turns.
class AdapterTurns {
 public:
  // Returns the one of `wanted`, which is not empty, whose last step was the longest ago.
  AdapterUse Next(std::span<const AdapterUse> wanted) {
    std::erase_if(turns_, [&](const Turn& turn) { return std::ranges::find(wanted, turn.use) == wanted.end(); });
    for (const auto& use : wanted) {
      if (std::ranges::find(turns_, use, &Turn::use) == turns_.end()) turns_.push_back({use, 0});
    }
    auto& next = *std::ranges::min_element(turns_, {}, &Turn::step);
    next.step = ++step_;
    return next.use;
  }

 private:
  struct Turn {
    AdapterUse use;
    uint64_t step = 0;  // its last one
  };

  std::vector<Turn> turns_;
  uint64_t step_ = 0;
};

}  // namespace aana::llama
