// Attention in graphs of ggml on our device, beside ggml's own: also kinds that our kernels must leave to ggml.
#include <ggml-backend.h>
#include <ggml-cpp.h>
#include <ggml.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "../check.h"
#include "core/compute/device/processor_device.h"
#include "core/compute/device/processor_threads.h"
#include "tests.h"

namespace aana::test {
namespace {

using namespace compute;

enum class Mask { kNone, kCausal, kWindow, kHoles, kBiases };

// What llama.cpp asks of an attention.
struct AttentionCase {
  int n_tokens = 5;
  int n_heads = 4;
  int n_kv_heads = 2;
  int n_values = 64;
  int n_threads = 2;
  ggml_type memory = GGML_TYPE_F16;
  Mask mask = Mask::kCausal;
  int n_mask_heads = 1;
  float scale = 0.125F;
  float max_bias = 0;
  float softcap = 0;
  bool has_sinks = false;
};

constexpr int kMemoryCells = 256, kMemoryStreams = 2;

std::mt19937 graph_numbers(17);

// The mask of a cell for a token: what is added to their score.
float MaskOfCell(Mask mask, int64_t cell, int64_t last) {
  const float hidden = -std::numeric_limits<float>::infinity();
  if (cell > last) return hidden;
  if (mask == Mask::kWindow && cell + 40 < last) return hidden;
  if (mask == Mask::kHoles && cell < last && graph_numbers() % 3 == 0) return hidden;
  return mask == Mask::kBiases ? -0.1F * static_cast<float>(last - cell) : 0;
}

// Attention with a memory of two streams, in a graph, beside ggml's own.
void TestAttentionGraph(const AttentionCase& of) {
  auto* device = ProcessorDevice();
  const ggml_backend_ptr ours(ggml_backend_dev_init(device, nullptr));
  const ggml_backend_ptr cpu(ggml_backend_dev_init(CpuDevice(), nullptr));
  const auto set_threads = reinterpret_cast<ggml_backend_set_n_threads_t>(
      ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(device), "ggml_backend_set_n_threads"));
  set_threads(ours.get(), of.n_threads);
  const ggml_context_ptr owner(ggml_init({.mem_size = 64 << 20, .mem_buffer = nullptr, .no_alloc = false}));
  auto* context = owner.get();
  // As llama.cpp has them: heads of a token beside each other.
  const auto tensor = [&](ggml_type type, int n_heads, int n_rows) {
    auto* made = ggml_new_tensor_4d(context, type, of.n_values, n_heads, n_rows, kMemoryStreams);
    std::vector<float> values(static_cast<size_t>(ggml_nelements(made)));
    for (auto& value : values) value = std::normal_distribution<float>()(graph_numbers);
    if (type == GGML_TYPE_F32)
      std::memcpy(made->data, values.data(), values.size() * sizeof(float));
    else
      ggml_quantize_chunk(type, values.data(), made->data, 0, ggml_nelements(made) / of.n_values, of.n_values, nullptr);
    return ggml_permute(context, made, 0, 2, 1, 3);
  };
  auto* q = tensor(GGML_TYPE_F32, of.n_heads, of.n_tokens);
  auto* k = tensor(of.memory, of.n_kv_heads, kMemoryCells);
  auto* v = tensor(of.memory, of.n_kv_heads, kMemoryCells);
  ggml_tensor* mask = nullptr;
  if (of.mask != Mask::kNone) {
    mask = ggml_new_tensor_4d(context, GGML_TYPE_F16, kMemoryCells, of.n_tokens, of.n_mask_heads, kMemoryStreams);
    for (int64_t i = 0; i < ggml_nelements(mask); i++) {
      const int64_t token = i / kMemoryCells % of.n_tokens, head = i / kMemoryCells / of.n_tokens % of.n_mask_heads;
      const int64_t stream = i / kMemoryCells / of.n_tokens / of.n_mask_heads;
      static_cast<uint16_t*>(mask->data)[i] =
          ggml_fp32_to_fp16(MaskOfCell(of.mask, i % kMemoryCells, 100 + 50 * stream + 9 * head + token));
    }
  }
  auto* attention = ggml_flash_attn_ext(context, q, k, v, mask, of.scale, of.max_bias, of.softcap);
  if (of.has_sinks) {
    auto* sinks = ggml_new_tensor_1d(context, GGML_TYPE_F32, of.n_heads);
    std::fill_n(static_cast<float*>(sinks->data), of.n_heads, 3.0F);
    ggml_flash_attn_ext_add_sinks(attention, sinks);
  }
  auto* graph = ggml_new_graph(context);
  ggml_build_forward_expand(graph, attention);
  Expect(ggml_backend_graph_compute(cpu.get(), graph) == GGML_STATUS_SUCCESS, "ggml failed");
  const std::vector<float> expected(static_cast<float*>(attention->data),
                                    static_cast<float*>(attention->data) + ggml_nelements(attention));
  std::fill_n(static_cast<float*>(attention->data), expected.size(), std::numeric_limits<float>::quiet_NaN());
  Expect(ggml_backend_graph_compute(ours.get(), graph) == GGML_STATUS_SUCCESS, "the device failed");
  // ggml sums values of 16 bits.
  for (size_t i = 0; i < expected.size(); i++)
    ExpectNear(static_cast<float*>(attention->data)[i], expected[i], 0.01, "value " + std::to_string(i));
}

}  // namespace

void TestAttentionGraphs() {
  Test("attention in a graph is that of ggml", [] {
    for (const int n_threads : {1, 3, 7}) {
      for (const int n_tokens : {1, 2, 19}) {
        for (const auto& [n_heads, n_kv_heads] : {std::pair(6, 2), std::pair(30, 1), std::pair(4, 4)})
          TestAttentionGraph(
              {.n_tokens = n_tokens, .n_heads = n_heads, .n_kv_heads = n_kv_heads, .n_threads = n_threads});
      }
    }
  });
  Test("attention with any mask and scale is that of ggml", [] {
    for (const auto mask : {Mask::kCausal, Mask::kWindow, Mask::kHoles, Mask::kBiases}) {
      for (const int n_values : {64, 80, 128}) {
        for (const float scale : {0.05F, 0.125F, 0.3F})
          TestAttentionGraph({.n_values = n_values, .mask = mask, .scale = scale});
      }
    }
  });
  // Each of these tests fails if the kernels take an attention that they do not compute.
  Test("attention without a mask is that of ggml", [] { TestAttentionGraph({.mask = Mask::kNone}); });
  Test("attention whose heads have masks of their own is that of ggml",
       [] { TestAttentionGraph({.n_mask_heads = 4}); });
  Test("attention with linear biases is that of ggml",
       [] { TestAttentionGraph({.mask = Mask::kBiases, .max_bias = 8}); });
  Test("attention with capped scores is that of ggml", [] { TestAttentionGraph({.scale = 0.3F, .softcap = 0.5F}); });
  Test("attention with sinks is that of ggml", [] { TestAttentionGraph({.has_sinks = true}); });
  Test("attention to a quantized memory is that of ggml", [] { TestAttentionGraph({.memory = GGML_TYPE_Q8_0}); });
  Test("attention with heads of other sizes is that of ggml", [] {
    for (const int n_values : {72, 96, 576}) TestAttentionGraph({.n_values = n_values});
  });
}

}  // namespace aana::test
