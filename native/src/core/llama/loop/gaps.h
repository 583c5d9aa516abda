#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/llama/loop/scheduler.h"

namespace aana::llama {

// A slot outside a step that could take part in it with one token.
struct Filler {
  size_t slot = 0;
  bool is_idle = false;  // its token would be computed for nothing
};

// Fills gaps between the slots of a step, where each sequence has cells of its own: llama.cpp computes sequences with
// consecutive ids in one pass over the weights, so a gap costs a pass. A gap gets the next prompt tokens of its slots,
// and at most `most_idle` tokens for nothing; it stays where that is not enough. Sorts the plan by slot. `fillers` are
// sorted by slot.
void FillGaps(std::vector<Share>& plan, std::span<const Filler> fillers, double most_idle);

}  // namespace aana::llama
