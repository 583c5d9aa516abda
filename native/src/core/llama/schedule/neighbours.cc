#include "core/llama/schedule/neighbours.h"

#include <algorithm>
#include <cstdint>

namespace aana::llama {

Distance DistanceToOthers(size_t slot, const std::vector<bool>& runs) {
  size_t before = SIZE_MAX;
  size_t after = SIZE_MAX;
  for (size_t i = 0; i < slot; i++) {
    if (runs[i]) before = slot - i;
  }
  for (size_t i = runs.size(); i-- > slot + 1;) {
    if (runs[i]) after = i - slot;
  }
  return std::minmax(before, after);
}

}  // namespace aana::llama
