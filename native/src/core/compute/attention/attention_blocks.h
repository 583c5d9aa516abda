#pragma once

#include <ggml.h>

#include <cstdint>
#include <vector>

// Which cells the tokens of an attention see.
namespace aana::compute {

// Tokens, one after another, that see about the same cells.
struct AttentionBlock {
  int64_t stream;
  int64_t first;
  int n_tokens;
  // Of AttentionBlocks::cells; the last ones repeat a cell.
  size_t cells_begin;
  int n_cells;
  // Of AttentionBlocks::masks: n_cells halves for each token. Negative: the tokens see all cells, except for the
  // repeated ones.
  int64_t masks_begin;
};

struct AttentionBlocks {
  std::vector<AttentionBlock> blocks;
  std::vector<int32_t> cells;
  std::vector<uint16_t> masks;
  int most_cells = 0;

  // Reads a mask of halves, [cells, at least n_tokens, 1, streams]: minus infinity hides a cell. Blocks have up to
  // `most_tokens` tokens.
  void Read(const ggml_tensor* mask, int64_t n_tokens, int most_tokens);
};

}  // namespace aana::compute
