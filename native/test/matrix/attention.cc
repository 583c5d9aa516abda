// Attention to cells against plain loops in double precision.
#include "core/compute/kernel_sets.h"

#include <ggml.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "../check.h"
#include "core/compute/attention/attention_blocks.h"
#include "tests.h"

namespace aana::test {
namespace {

using namespace compute;

constexpr uint16_t kHidden = 0xFC00;

std::mt19937 attention_numbers(5);

float Random() { return std::normal_distribution<float>()(attention_numbers); }

// Softmax attention of a query to the cells that the mask shows.
std::vector<double> Expected(const float* q, const std::vector<uint16_t>& k, const std::vector<uint16_t>& v,
                             size_t stride, int n_values, const std::vector<int>& cells,
                             const std::vector<double>& added, double scale) {
  std::vector<double> scores;
  double most = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < cells.size(); i++) {
    double score = added[i];
    for (int c = 0; c < n_values; c++)
      score += scale * q[c] * ggml_fp16_to_fp32(k[static_cast<size_t>(cells[i]) * stride + static_cast<size_t>(c)]);
    scores.push_back(score);
    most = std::max(most, score);
  }
  std::vector<double> out(static_cast<size_t>(n_values));
  double sum = 0;
  for (auto& score : scores) sum += score = std::exp(score - most);
  for (size_t i = 0; i < cells.size(); i++) {
    for (int c = 0; c < n_values; c++) {
      out[static_cast<size_t>(c)] +=
          scores[i] / sum * ggml_fp16_to_fp32(v[static_cast<size_t>(cells[i]) * stride + static_cast<size_t>(c)]);
    }
  }
  return out;
}

void TestKernel(const KernelSet& set, int n_values, int n_rows, int n_cells, bool has_masks, float size) {
  const size_t stride = static_cast<size_t>(n_values) * 2;  // another head stands beside this one
  const int n_all = 2 * n_cells + 3;
  std::vector<uint16_t> k(static_cast<size_t>(n_all) * stride), v(k.size());
  for (auto& value : k) value = ggml_fp32_to_fp16(Random());
  for (auto& value : v) value = ggml_fp32_to_fp16(Random());
  std::vector<int32_t> cells;
  for (int i = 0; i < n_cells; i++) cells.push_back(n_all - 1 - 2 * i);
  std::vector<std::vector<float>> q(static_cast<size_t>(n_rows)),
      out(q.size(), std::vector<float>(static_cast<size_t>(n_values), 9));
  std::vector<std::vector<uint16_t>> masks(q.size(), std::vector<uint16_t>(static_cast<size_t>(n_cells)));
  std::vector<const float*> queries;
  std::vector<const uint16_t*> mask_rows;
  std::vector<float*> results;
  for (size_t row = 0; row < q.size(); row++) {
    for (int i = 0; i < n_values; i++) q[row].push_back(size * Random());
    for (int i = 0; i < n_cells; i++)
      masks[row][static_cast<size_t>(i)] = attention_numbers() % 3 == 0 ? kHidden : ggml_fp32_to_fp16(Random());
    if (row == 1) std::fill(masks[row].begin(), masks[row].end(), kHidden);  // it sees nothing
    queries.push_back(q[row].data());
    mask_rows.push_back(masks[row].data());
    results.push_back(out[row].data());
  }
  std::vector<float> scratch(AttentionScratchValues(n_rows, n_cells, n_values),
                             std::numeric_limits<float>::quiet_NaN());
  const float scale = 1 / std::sqrt(static_cast<float>(n_values));
  set.attention(n_values)({.k = k.data(),
                           .v = v.data(),
                           .k_stride = stride,
                           .v_stride = stride,
                           .cells = cells.data(),
                           .n_cells = n_cells,
                           .n_values = n_values,
                           .scale = scale,
                           .n_rows = n_rows,
                           .q = queries.data(),
                           .masks = has_masks ? mask_rows.data() : nullptr,
                           .out = results.data(),
                           .scratch = scratch.data()});
  for (size_t row = 0; row < q.size(); row++) {
    std::vector<int> seen;
    std::vector<double> added;
    for (size_t i = 0; i < cells.size(); i++) {
      if (has_masks && masks[row][i] == kHidden) continue;
      seen.push_back(cells[i]);
      added.push_back(has_masks ? ggml_fp16_to_fp32(masks[row][i]) : 0);
    }
    const auto expected = Expected(q[row].data(), k, v, stride, n_values, seen, added, scale);
    for (size_t i = 0; i < expected.size(); i++)
      ExpectNear(out[row][i], expected[i], 1e-5, "value " + std::to_string(i) + " of row " + std::to_string(row));
  }
}

// A mask of halves, and what Read() makes of it.
struct MaskOf {
  MaskOf(int64_t n_cells, int64_t n_tokens, int64_t n_streams)
      : context(ggml_init({.mem_size = 1 << 22, .mem_buffer = nullptr, .no_alloc = false}), ggml_free) {
    tensor = ggml_new_tensor_4d(context.get(), GGML_TYPE_F16, n_cells, n_tokens, 1, n_streams);
    std::fill_n(static_cast<uint16_t*>(tensor->data), ggml_nelements(tensor), kHidden);
  }
  uint16_t& At(int64_t stream, int64_t token, int64_t cell) const {
    return static_cast<uint16_t*>(tensor->data)[(stream * tensor->ne[1] + token) * tensor->ne[0] + cell];
  }

  std::unique_ptr<ggml_context, void (*)(ggml_context*)> context;
  ggml_tensor* tensor;
};

// The blocks show each token what its mask shows, and nothing else.
void ExpectSame(const MaskOf& mask, const AttentionBlocks& blocks, int64_t n_tokens) {
  int64_t n_found = 0;
  for (const auto& block : blocks.blocks) {
    Expect(block.n_cells % kCellLanes == 0 && block.n_cells <= blocks.most_cells,
           "a block has a wrong number of cells");
    for (int i = 0; i < block.n_tokens; i++, n_found++) {
      std::vector<std::pair<int, uint16_t>> seen, expected;
      for (int j = 0; j < block.n_cells; j++) {
        const auto value =
            block.masks_begin < 0
                ? uint16_t{0}
                : blocks.masks[static_cast<size_t>(block.masks_begin) + static_cast<size_t>(i * block.n_cells + j)];
        if (value != kHidden) seen.emplace_back(blocks.cells[block.cells_begin + static_cast<size_t>(j)], value);
      }
      for (int64_t cell = 0; cell < mask.tensor->ne[0]; cell++) {
        const auto value = mask.At(block.stream, block.first + i, cell);
        if (value != kHidden) expected.emplace_back(static_cast<int>(cell), value);
      }
      Expect(seen == expected, "token " + std::to_string(block.first + i) + " sees other cells");
    }
  }
  Expect(n_found == n_tokens * mask.tensor->ne[3], "tokens are missing");
}

}  // namespace

void TestAttention(const KernelSet& set) {
  const std::string with = std::string(" with ") + set.name;
  Test("attention to cells is that of a plain loop, for all sizes of heads and numbers of rows" + with, [&set] {
    for (const int n_values : {16, 32, 48, 64, 80, 96, 112, 128, 256}) {
      const bool is_common = n_values >= 64 && n_values != 112;
      Expect(set.attention(n_values) || !is_common, "there is no kernel for " + std::to_string(n_values));
      if (!set.attention(n_values)) continue;
      for (const bool has_masks : {false, true}) {
        for (const int n_rows : {1, 2, 3, 4, 5, 8, 24}) TestKernel(set, n_values, n_rows, 48, has_masks, 1);
        TestKernel(set, n_values, 3, 1040, has_masks, 1);
      }
    }
  });
  Test("attention with large scores has no overflow" + with, [&set] { TestKernel(set, 64, 4, 64, true, 40); });
  Test("there is no kernel for heads of other sizes" + with,
       [&set] { Expect(!set.attention(72) && !set.attention(0) && !set.attention(576), "there is one"); });
}

void TestAttentionBlocks() {
  Test("tokens of a prompt share blocks, and see what came before them", [] {
    const MaskOf mask(256, 40, 2);
    for (int64_t stream = 0; stream < 2; stream++) {
      for (int64_t token = 0; token < 40; token++) {
        for (int64_t cell = 0; cell <= 150 + token; cell++) mask.At(stream, token, cell) = 0;
      }
    }
    AttentionBlocks blocks;
    blocks.Read(mask.tensor, 40, 8);
    ExpectSame(mask, blocks, 40);
    Expect(blocks.blocks.size() == 10, "there are " + std::to_string(blocks.blocks.size()) + " blocks");
  });
  Test("tokens of several sequences in one memory have blocks of their own", [] {
    const MaskOf mask(1024, 8, 1);
    for (int64_t cell = 0; cell < 1000; cell++) mask.At(0, cell % 8, cell) = 0;
    AttentionBlocks blocks;
    blocks.Read(mask.tensor, 8, 8);
    ExpectSame(mask, blocks, 8);
    Expect(blocks.blocks.size() == 8, "sequences are mixed");
  });
  Test("masks with other numbers, holes and tokens that see nothing are kept", [] {
    const MaskOf mask(77, 30, 1);
    for (int64_t token = 0; token < 30; token++) {
      for (int64_t cell = 0; cell < 77; cell++) {
        if (token % 7 != 3 && attention_numbers() % 4 != 0)
          mask.At(0, token, cell) = attention_numbers() % 2 == 0 ? 0 : ggml_fp32_to_fp16(-1.5F);
      }
    }
    AttentionBlocks blocks;
    for (const int most : {1, 3, 8}) {
      blocks.Read(mask.tensor, 30, most);
      ExpectSame(mask, blocks, 30);
    }
    blocks.Read(mask.tensor, 11, 4);  // masks may have more rows than there are tokens
    ExpectSame(mask, blocks, 11);
  });
}

}  // namespace aana::test
