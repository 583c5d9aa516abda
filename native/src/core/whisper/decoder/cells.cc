#include "core/whisper/decoder/cells.h"

namespace aana {

int32_t Cells::Take() {
  if (free_.empty()) {
    users_.push_back(1);
    return static_cast<int32_t>(users_.size()) - 1;
  }
  const int32_t cell = free_.top();
  free_.pop();
  users_[static_cast<size_t>(cell)] = 1;
  return cell;
}

void Cells::Share(std::span<const int32_t> cells) {
  for (const int32_t cell : cells) users_[static_cast<size_t>(cell)]++;
}

void Cells::Release(std::span<const int32_t> cells) {
  for (const int32_t cell : cells) {
    if (--users_[static_cast<size_t>(cell)] == 0) free_.push(cell);
  }
}

}  // namespace aana
