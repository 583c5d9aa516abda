#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace aana::llama {

// How far a slot is from the next slots on both sides that take part in steps, the nearer one first. SIZE_MAX: there is
// none.
using Distance = std::pair<size_t, size_t>;

// `runs` says which slots take part.
Distance DistanceToOthers(size_t slot, const std::vector<bool>& runs);

}  // namespace aana::llama
