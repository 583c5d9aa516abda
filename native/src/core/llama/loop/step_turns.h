#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/llama/model/adapter_use.h"

namespace aana::llama {

// What the sequences of a step have in common.
struct StepKind {
  AdapterUse adapter;
  std::optional<size_t>
      alone;  // the slot of a reproducible sequence, or of one that reads an image, which has the step to itself
  bool operator==(const StepKind&) const = default;
};

// Decides which sequences a step computes, because all sequences of a step share one adapter, and a reproducible
// sequence and an image are computed alone. The kinds take turns.
class StepTurns {
 public:
  // Returns the one of `wanted`, which is not empty, whose last step was the longest ago.
  StepKind Next(std::span<const StepKind> wanted) {
    std::erase_if(turns_, [&](const Turn& turn) { return std::ranges::find(wanted, turn.kind) == wanted.end(); });
    for (const auto& kind : wanted) {
      if (std::ranges::find(turns_, kind, &Turn::kind) == turns_.end()) turns_.push_back({kind, 0});
    }
    auto& next = *std::ranges::min_element(turns_, {}, &Turn::step);
    next.step = ++step_;
    return next.kind;
  }

 private:
  struct Turn {
    StepKind kind;
    uint64_t step = 0;  // its last one
  };

  std::vector<Turn> turns_;
  uint64_t step_ = 0;
};

}  // namespace aana::llama
