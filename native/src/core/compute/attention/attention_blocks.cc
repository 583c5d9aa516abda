#include "core/compute/attention/attention_blocks.h"

#include <algorithm>
#include <span>

#include "core/compute/attention/attention_kernel.h"

namespace aana::compute {
namespace {

constexpr uint16_t kHidden = 0xFC00;  // minus infinity

using Row = std::span<const uint16_t>;

void FindSeen(Row mask, std::vector<int32_t>& cells) {
  cells.clear();
  constexpr size_t kStep = 16;
  size_t i = 0;
  for (; i + kStep <= mask.size(); i += kStep) {
    bool any = false;
    for (size_t j = 0; j < kStep; j++) any |= mask[i + j] != kHidden;
    if (!any) continue;
    for (size_t j = i; j < i + kStep; j++) {
      if (mask[j] != kHidden) cells.push_back(static_cast<int32_t>(j));
    }
  }
  for (; i < mask.size(); i++) {
    if (mask[i] != kHidden) cells.push_back(static_cast<int32_t>(i));
  }
}

}  // namespace

void AttentionBlocks::Read(const ggml_tensor* mask, int64_t n_tokens, int most_tokens) {
  blocks.clear();
  cells.clear();
  masks.clear();
  most_cells = 0;
  const auto row_of = [&](int64_t stream, int64_t token) {
    return Row(reinterpret_cast<const uint16_t*>(static_cast<const char*>(mask->data) +
                                                 static_cast<size_t>(stream) * mask->nb[3] +
                                                 static_cast<size_t>(token) * mask->nb[1]),
               static_cast<size_t>(mask->ne[0]));
  };
  std::vector<int32_t> seen;
  std::vector<int32_t> next;
  std::vector<int32_t> both;
  for (int64_t stream = 0; stream < mask->ne[3]; stream++) {
    for (int64_t token = 0; token < n_tokens;) {
      AttentionBlock block{.stream = stream,
                           .first = token,
                           .n_tokens = 1,
                           .cells_begin = cells.size(),
                           .n_cells = 0,
                           .masks_begin = -1};
      FindSeen(row_of(stream, token), seen);
      while (block.n_tokens < most_tokens && token + block.n_tokens < n_tokens) {
        FindSeen(row_of(stream, token + block.n_tokens), next);
        both.clear();
        std::set_union(seen.begin(), seen.end(), next.begin(), next.end(), std::back_inserter(both));
        // With few cells in common, the tokens would take longer together.
        if (both.size() * 4 > std::min(seen.size(), next.size()) * 5 + 64) break;
        seen.swap(both);
        block.n_tokens++;
      }
      token += block.n_tokens;
      const auto n_seen = static_cast<int>(seen.size());
      block.n_cells = (n_seen + kCellLanes - 1) / kCellLanes * kCellLanes;
      most_cells = std::max(most_cells, block.n_cells);
      const auto value_at = [&](int i, int j) {
        return row_of(stream, block.first + i)[static_cast<size_t>(seen[static_cast<size_t>(j)])];
      };
      bool is_plain = n_seen == block.n_cells;
      for (int i = 0; i < block.n_tokens && is_plain; i++) {
        for (int j = 0; j < n_seen && is_plain; j++) is_plain = value_at(i, j) == 0;
      }
      if (!is_plain) {
        block.masks_begin = static_cast<int64_t>(masks.size());
        for (int i = 0; i < block.n_tokens; i++) {
          for (int j = 0; j < n_seen; j++) masks.push_back(value_at(i, j));
          masks.insert(masks.end(), static_cast<size_t>(block.n_cells - n_seen), kHidden);
        }
      }
      cells.insert(cells.end(), seen.begin(), seen.end());
      if (n_seen > 0) cells.insert(cells.end(), static_cast<size_t>(block.n_cells - n_seen), seen.back());
      blocks.push_back(block);
    }
  }
}

}  // namespace aana::compute
