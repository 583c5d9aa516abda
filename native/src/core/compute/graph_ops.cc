#include "core/compute/graph_ops.h"

#include <ggml-backend.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "core/compute/kernels.h"
#include "core/compute/q8_rows.h"

namespace aana::compute {
namespace {

// Stands in `extra` of packed weights. ggml's processor backend uses that field only for weights in buffers of special
// types.
char packed_mark;

bool IsPackedInPlace(const ggml_tensor* weights) { return weights->extra == &packed_mark; }

bool IsInMainMemory(const ggml_tensor* tensor) { return tensor->buffer && ggml_backend_buffer_is_host(tensor->buffer); }

bool IsOfProcessor(ggml_backend_buffer_type_t memory) {
  auto* device = ggml_backend_buft_get_device(memory);
  return ggml_backend_buft_is_host(memory) || (device && ggml_backend_dev_type(device) == GGML_BACKEND_DEVICE_TYPE_CPU);
}

// Whether the processor computes with these weights. Some of a model's may be in main memory, and others in a layout of
// ggml's own.
bool IsForProcessor(const ggml_tensor* weights) {
  return weights->buffer && IsOfProcessor(ggml_backend_buffer_get_type(weights->buffer));
}

// A part of `n` things, of which each of `n_threads` threads does one.
struct Part {
  int64_t begin;
  int64_t end;
};
Part PartOf(int64_t n, int thread, int n_threads) { return {n * thread / n_threads, n * (thread + 1) / n_threads}; }

void QuantizeRows(ggml_tensor* out, int thread, int n_threads, void*) {
  const auto* x = out->src[0];
  const auto [begin, end] = PartOf(out->ne[1], thread, n_threads);
  for (int64_t row = begin; row < end; row++) {
    const auto* values =
        reinterpret_cast<const float*>(static_cast<const char*>(x->data) + static_cast<size_t>(row) * x->nb[1]);
    FastKernels()->quantize(values, static_cast<int>(x->ne[0]), static_cast<int>(out->ne[1]), static_cast<int>(row),
                            out->data);
  }
}

void MultiplyRows(ggml_tensor* out, int thread, int n_threads, void*) {
  const auto* weights = out->src[0];
  const auto n_out = static_cast<int>(out->ne[0]);
  const auto [begin, end] = PartOf((n_out + kLanes - 1) / kLanes, thread, n_threads);
  FastKernels()->multiply(weights->data, out->src[1]->data, static_cast<int>(weights->ne[0]), n_out,
                          static_cast<int>(out->ne[1]), static_cast<int>(begin) * kLanes,
                          std::min(n_out, static_cast<int>(end) * kLanes), static_cast<float*>(out->data));
}

void UnpackRows(ggml_tensor* out, int thread, int n_threads, void*) {
  const auto* weights = out->src[0];
  const auto [begin, end] = PartOf(out->ne[1], thread, n_threads);
  for (int64_t i = begin; i < end; i++) {
    const auto row = static_cast<const int32_t*>(out->src[1]->data)[i];
    UnpackRow(weights->data, static_cast<int>(weights->ne[0]), static_cast<int>(weights->ne[1]), row,
              static_cast<float*>(out->data) + i * out->ne[0]);
  }
}

void AttendHeads(ggml_tensor* out, int thread, int n_threads, void*) {
  thread_local std::vector<float> scratch;
  const auto n = static_cast<int>(out->ne[1]);
  scratch.resize(AttentionScratch(n));
  const auto data = [&](int source, int64_t head) {
    return static_cast<const float*>(out->src[source]->data) + head * kHead;
  };
  // Blocks of rows, the ones of a head one after another.
  const int64_t n_blocks = (n + kAttentionRows - 1) / kAttentionRows;
  auto [block, last] = PartOf(out->ne[0] / kHead * n_blocks, thread, n_threads);
  while (block < last) {
    const int64_t head = block / n_blocks;
    const int64_t until = std::min(last, (head + 1) * n_blocks);
    const auto begin = static_cast<int>(block - head * n_blocks) * kAttentionRows;
    const auto end = std::min(n, static_cast<int>(until - head * n_blocks) * kAttentionRows);
    FastKernels()->attend(data(0, head), data(1, head), data(2, head), static_cast<float*>(out->data) + head * kHead,
                          static_cast<size_t>(out->ne[0]), n, begin, end, scratch.data());
    block = until;
  }
}

// The scratch of a thread, with room for `n` values.
float* Scratch(size_t n) {
  thread_local std::vector<float> scratch;
  if (scratch.size() < n) scratch.resize(n);
  return scratch.data();
}

const uint16_t* Halves(const ggml_tensor* tensor, int64_t head) {
  return reinterpret_cast<const uint16_t*>(static_cast<const char*>(tensor->data) +
                                           static_cast<size_t>(head) * tensor->nb[2]);
}

void AttendAudio(ggml_tensor* out, int thread, int n_threads, void* data) {
  const auto& groups = *static_cast<const std::vector<AudioRows>*>(data);
  const int64_t n_heads = out->ne[0] / kHead;
  auto [begin, end] = PartOf(n_heads * static_cast<int64_t>(groups.size()), thread, n_threads);
  for (int64_t i = begin; i < end; i++) {
    const auto& group = groups[static_cast<size_t>(i / n_heads)];
    const int64_t head = i % n_heads;
    const int64_t at = group.begin * out->ne[0] + head * kHead;
    const int n_rows = group.end - group.begin;
    FastKernels()->attend_many(static_cast<const float*>(out->src[0]->data) + at, static_cast<size_t>(out->ne[0]),
                               n_rows, Halves(group.k, head), Halves(group.v, head), group.k->nb[1] / sizeof(uint16_t),
                               group.n, static_cast<float*>(out->data) + at,
                               Scratch(SharedAttentionScratch(group.n, n_rows)));
  }
}

void AttendCells(ggml_tensor* out, int thread, int n_threads, void* data) {
  const auto& cells = *static_cast<const CellLists*>(data);
  const auto *k = out->src[1], *v = out->src[2];
  const int64_t n_heads = out->ne[0] / kHead;
  const auto [begin, end] = PartOf(n_heads * out->ne[1], thread, n_threads);
  for (int64_t i = begin; i < end; i++) {
    const auto& list = cells[static_cast<size_t>(i / n_heads)];
    const auto n = static_cast<int>(list.size());
    const int64_t offset = i % n_heads * kHead;
    FastKernels()->attend_cells(
        static_cast<const float*>(out->src[0]->data) + i * kHead, static_cast<const uint16_t*>(k->data) + offset,
        static_cast<const uint16_t*>(v->data) + offset, k->nb[1] / sizeof(uint16_t), list.data(), n,
        static_cast<float*>(out->data) + i * kHead, Scratch(SharedAttentionScratch(n, 1)));
  }
}

void ConvolveTiles(ggml_tensor* out, int thread, int n_threads, void*) {
  const auto *weights = out->src[0], *x = out->src[1];
  const auto n_out = static_cast<int>(out->ne[0]);
  const auto n_in = static_cast<int>(x->ne[0]);
  const ConvolutionTask task{.weights = static_cast<const uint16_t*>(weights->data),
                             .x = static_cast<const float*>(x->data),
                             .out = static_cast<float*>(out->data),
                             .n_in_channels = static_cast<int>(x->ne[1]),
                             .n_out_channels = static_cast<int>(out->ne[1]),
                             .n_in = n_in,
                             .n_out = n_out,
                             .stride = (n_in + n_out - 1) / n_out};
  const auto [begin, end] = PartOf((n_out + kHead - 1) / kHead, thread, n_threads);
  FastKernels()->convolve(task, static_cast<int>(begin) * kHead, std::min(n_out, static_cast<int>(end) * kHead),
                          Scratch(ConvolutionScratch(task.n_out_channels)));
}

// Source 1 is [values, positions], the output [values of a head, positions, heads].
void StoreValues(ggml_tensor* out, int thread, int n_threads, void*) {
  const auto* x = out->src[1];
  const auto n = static_cast<size_t>(out->ne[0]);
  const auto [begin, end] = PartOf(x->ne[1], thread, n_threads);
  for (int64_t position = begin; position < end; position++) {
    const auto* from = static_cast<const float*>(x->data) + position * x->ne[0];
    auto* to = static_cast<char*>(out->data) + static_cast<size_t>(position) * out->nb[1];
    for (int64_t head = 0; head < out->ne[2]; head++, from += n, to += out->nb[2])
      FastKernels()->to_halves(from, n, reinterpret_cast<uint16_t*>(to));
  }
}

void GeluValues(ggml_tensor* out, int thread, int n_threads, void*) {
  const auto [begin, end] = PartOf(ggml_nelements(out), thread, n_threads);
  auto* values = static_cast<float*>(out->data) + begin;
  FastKernels()->gelu(values, values, static_cast<size_t>(end - begin));
}

template <size_t N>
ggml_tensor* Custom(ggml_context* context, ggml_type type, int64_t n_values, int64_t n_rows,
                    std::array<ggml_tensor*, N> sources, ggml_custom_op_t run, const void* data = nullptr) {
  return ggml_custom_4d(context, type, n_values, n_rows, 1, 1, sources.data(), static_cast<int>(N), run,
                        GGML_N_TASKS_MAX, const_cast<void*>(data));
}

bool IsMatrix(const ggml_tensor* tensor) { return tensor->ne[2] == 1 && tensor->ne[3] == 1; }

// Whether PackWeights reorders such weights in main memory.
bool CanPackInPlace(const ggml_tensor* weights) {
  return FastKernels() && weights->type == GGML_TYPE_Q8_0 && IsMatrix(weights) && ggml_is_contiguous(weights) &&
         weights->ne[0] % kBlock == 0;
}

}  // namespace

ggml_backend_buffer_type_t MemoryFor(const ggml_tensor* weights, ggml_backend_buffer_type_t chosen) {
  return chosen && CanPackInPlace(weights) && IsOfProcessor(chosen) && !ggml_backend_buft_is_host(chosen)
             ? ggml_backend_cpu_buffer_type()
             : chosen;
}

void PackWeights(ggml_tensor* weights) {
  if (!CanPackInPlace(weights) || !IsInMainMemory(weights)) return;
  PackRows(weights->data, static_cast<int>(weights->ne[0]), static_cast<int>(weights->ne[1]));
  weights->extra = &packed_mark;
}

ggml_tensor* MulMat(ggml_context* context, ggml_tensor* weights, ggml_tensor* x) {
  if (!IsPackedInPlace(weights)) return ggml_mul_mat(context, weights, x);
  GGML_ASSERT(x->type == GGML_TYPE_F32 && x->nb[0] == sizeof(float) && IsMatrix(x) && x->ne[0] == weights->ne[0]);
  // Several matrices may have the same input, as queries, keys and values do.
  if (!x->extra)
    x->extra = Custom<1>(context, GGML_TYPE_I8, static_cast<int64_t>(QuantizedBytes(static_cast<int>(x->ne[0]))),
                         x->ne[1], {x}, QuantizeRows);
  return Custom<2>(context, GGML_TYPE_F32, weights->ne[1], x->ne[1], {weights, static_cast<ggml_tensor*>(x->extra)},
                   MultiplyRows);
}

ggml_tensor* Convolution(ggml_context* context, ggml_tensor* weights, ggml_tensor* x, int stride, int dilation) {
  if (!FastKernels() || !IsForProcessor(weights) || weights->type != GGML_TYPE_F16 || !ggml_is_contiguous(weights) ||
      weights->ne[0] != kConvolutionTaps || dilation != 1)
    return ggml_conv_1d_ph(context, weights, x, stride, dilation);
  GGML_ASSERT(x->type == GGML_TYPE_F32 && ggml_is_contiguous(x) && IsMatrix(x) && x->ne[1] == weights->ne[1]);
  GGML_ASSERT(x->ne[0] % stride == 0);
  return Custom<2>(context, GGML_TYPE_F32, x->ne[0] / stride, weights->ne[2], {weights, x}, ConvolveTiles);
}

ggml_tensor* GetRows(ggml_context* context, ggml_tensor* weights, ggml_tensor* rows) {
  if (!IsPackedInPlace(weights)) return ggml_get_rows(context, weights, rows);
  GGML_ASSERT(rows->type == GGML_TYPE_I32 && rows->ne[1] == 1 && IsMatrix(rows));
  return Custom<2>(context, GGML_TYPE_F32, weights->ne[0], rows->ne[0], {weights, rows}, UnpackRows);
}

ggml_tensor* Attention(ggml_context* context, ggml_tensor* q, ggml_tensor* k, ggml_tensor* v, int n_heads,
                       const ggml_tensor* weights) {
  if (!FastKernels() || !IsForProcessor(weights) || q->ne[0] != n_heads * kHead) return nullptr;
  for (const auto* tensor : {q, k, v})
    GGML_ASSERT(tensor->type == GGML_TYPE_F32 && ggml_is_contiguous(tensor) && ggml_are_same_shape(tensor, q) &&
                IsMatrix(tensor));
  return Custom<3>(context, GGML_TYPE_F32, q->ne[0], q->ne[1], {q, k, v}, AttendHeads);
}

bool UsesKernels(int64_t n_values, const ggml_tensor* weights) {
  return FastKernels() && IsForProcessor(weights) && n_values == kHead;
}

namespace {

// Attention of rows `begin` to `end` of `q` by ggml.
ggml_tensor* FlashAttention(ggml_context* context, ggml_tensor* q, int64_t begin, int64_t end, ggml_tensor* k,
                            ggml_tensor* v, ggml_tensor* mask, float scale) {
  const int64_t n_values = k->ne[0];
  auto* rows = ggml_view_3d(context, q, n_values, q->ne[0] / n_values, end - begin,
                            static_cast<size_t>(n_values) * q->nb[0], q->nb[1], static_cast<size_t>(begin) * q->nb[1]);
  auto* out = ggml_flash_attn_ext(context, ggml_permute(context, rows, 0, 2, 1, 3), k, v, mask, scale, 0.0F, 0.0F);
  return ggml_reshape_2d(context, out, q->ne[0], end - begin);
}

}  // namespace

ggml_tensor* HeadsOf(ggml_context* context, ggml_tensor* cache, int64_t n_values, int64_t n_heads, int64_t n_positions,
                     int64_t layer) {
  const size_t head_bytes = ggml_row_size(cache->type, n_values / n_heads);
  const size_t all_bytes = head_bytes * static_cast<size_t>(n_positions);
  return ggml_view_3d(context, cache, n_values / n_heads, n_positions, n_heads, head_bytes, all_bytes,
                      all_bytes * static_cast<size_t>(n_heads * layer));
}

ggml_tensor* StoreHeads(ggml_context* context, ggml_tensor* x, ggml_tensor* heads, const ggml_tensor* weights) {
  if (UsesKernels(heads->ne[0], weights)) {
    GGML_ASSERT(x->type == GGML_TYPE_F32 && ggml_is_contiguous(x) && IsMatrix(x) && heads->type == GGML_TYPE_F16);
    GGML_ASSERT(x->ne[0] == heads->ne[0] * heads->ne[2] && x->ne[1] <= heads->ne[1]);
    return ggml_custom_inplace(context, heads, &x, 1, StoreValues, GGML_N_TASKS_MAX, nullptr);
  }
  auto* values = ggml_reshape_3d(context, x, heads->ne[0], heads->ne[2], x->ne[1]);
  auto* places = ggml_view_3d(context, heads, heads->ne[0], x->ne[1], heads->ne[2], heads->nb[1], heads->nb[2], 0);
  return ggml_cpy(context, ggml_permute(context, values, 0, 2, 1, 3), places);
}

ggml_tensor* CrossAttention(ggml_context* context, ggml_tensor* q, const std::vector<AudioRows>& groups,
                            const std::vector<ggml_tensor*>& masks, float scale, const ggml_tensor* weights) {
  if (UsesKernels(groups.front().k->ne[0], weights)) {
    GGML_ASSERT(q->type == GGML_TYPE_F32 && ggml_is_contiguous(q) && IsMatrix(q) && groups.back().end == q->ne[1]);
    for (const auto& group : groups) {
      GGML_ASSERT(group.k->type == GGML_TYPE_F16 && group.v->type == GGML_TYPE_F16 &&
                  group.k->nb[0] == sizeof(uint16_t) && ggml_are_same_stride(group.k, group.v));
      GGML_ASSERT(group.k->ne[1] >= group.n && group.k->ne[2] * kHead == q->ne[0]);
    }
    return Custom<1>(context, GGML_TYPE_F32, q->ne[0], q->ne[1], {ggml_scale(context, q, scale)}, AttendAudio, &groups);
  }
  ggml_tensor* all = nullptr;
  for (size_t i = 0; i < groups.size(); i++) {
    const auto& group = groups[i];
    auto* out = FlashAttention(context, q, group.begin, group.end, group.k, group.v, masks[i], scale);
    all = all ? ggml_concat(context, all, out, 1) : out;
  }
  return all;
}

ggml_tensor* CellAttention(ggml_context* context, ggml_tensor* q, ggml_tensor* k, ggml_tensor* v,
                           const CellLists& cells, ggml_tensor* mask, int n_heads, float scale,
                           const ggml_tensor* weights) {
  const int64_t n_values = q->ne[0] / n_heads;
  if (UsesKernels(n_values, weights)) {
    GGML_ASSERT(q->type == GGML_TYPE_F32 && ggml_is_contiguous(q) && IsMatrix(q) &&
                cells.size() == static_cast<size_t>(q->ne[1]));
    GGML_ASSERT(k->type == GGML_TYPE_F16 && v->type == GGML_TYPE_F16 && ggml_are_same_shape(k, v) &&
                k->ne[0] == q->ne[0]);
    return Custom<3>(context, GGML_TYPE_F32, q->ne[0], q->ne[1], {ggml_scale(context, q, scale), k, v}, AttendCells,
                     &cells);
  }
  const auto heads = [&](ggml_tensor* cache) {
    return ggml_view_3d(context, cache, n_values, mask->ne[0], n_heads, cache->nb[1],
                        static_cast<size_t>(n_values) * cache->nb[0], 0);
  };
  return FlashAttention(context, q, 0, q->ne[1], heads(k), heads(v), mask, scale);
}

ggml_tensor* Gelu(ggml_context* context, ggml_tensor* x, const ggml_tensor* weights) {
  if (!FastKernels() || !IsForProcessor(weights) || x->type != GGML_TYPE_F32 || !ggml_is_contiguous(x) || !IsMatrix(x))
    return ggml_gelu(context, x);
  return ggml_custom_inplace(context, x, nullptr, 0, GeluValues, GGML_N_TASKS_MAX, nullptr);
}

}  // namespace aana::compute
