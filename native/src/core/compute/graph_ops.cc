#include "core/compute/graph_ops.h"

#include <ggml-backend.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "core/compute/kernels.h"

namespace aana::compute {
namespace {

// Stands in `extra` of packed weights. ggml's processor backend uses that field only for weights in buffers of special types.
char packed_mark;

bool IsPacked(const ggml_tensor* weights) { return weights->extra == &packed_mark; }

bool IsInMainMemory(const ggml_tensor* tensor) { return tensor->buffer && ggml_backend_buffer_is_host(tensor->buffer); }

// A part of `n` things, of which each of `n_threads` threads does one.
struct Part {
  int64_t begin;
  int64_t end;
};
Part PartOf(int64_t n, int thread, int n_threads) { return {n * thread / n_threads, n * (thread + 1) / n_threads}; }

void QuantiseRows(ggml_tensor* out, int thread, int n_threads, void*) {
  const auto* x = out->src[0];
  const auto [begin, end] = PartOf(out->ne[1], thread, n_threads);
  for (int64_t row = begin; row < end; row++) {
    const auto* values = reinterpret_cast<const float*>(static_cast<const char*>(x->data) + static_cast<size_t>(row) * x->nb[1]);
    FastKernels()->quantise(values, static_cast<int>(x->ne[0]), static_cast<char*>(out->data) + static_cast<size_t>(row) * out->nb[1]);
  }
}

void MultiplyRows(ggml_tensor* out, int thread, int n_threads, void*) {
  const auto* weights = out->src[0];
  const auto n_out = static_cast<int>(out->ne[0]);
  const auto [begin, end] = PartOf((n_out + kLanes - 1) / kLanes, thread, n_threads);
  FastKernels()->multiply(weights->data, out->src[1]->data, static_cast<int>(weights->ne[0]), n_out, static_cast<int>(out->ne[1]),
                          static_cast<int>(begin) * kLanes, std::min(n_out, static_cast<int>(end) * kLanes), static_cast<float*>(out->data));
}

void UnpackRows(ggml_tensor* out, int thread, int n_threads, void*) {
  const auto* weights = out->src[0];
  const auto [begin, end] = PartOf(out->ne[1], thread, n_threads);
  for (int64_t i = begin; i < end; i++) {
    const auto row = static_cast<const int32_t*>(out->src[1]->data)[i];
    FastKernels()->unpack(weights->data, static_cast<int>(weights->ne[0]), static_cast<int>(weights->ne[1]), row, static_cast<float*>(out->data) + i * out->ne[0]);
  }
}

void AttendHeads(ggml_tensor* out, int thread, int n_threads, void*) {
  thread_local std::vector<float> scratch;
  const auto n = static_cast<int>(out->ne[1]);
  scratch.resize(AttentionScratch(n));
  const auto data = [&](int source, int64_t head) { return static_cast<const float*>(out->src[source]->data) + head * kHead; };
  // Blocks of rows, the ones of a head one after another.
  const int64_t n_blocks = (n + kAttentionRows - 1) / kAttentionRows;
  auto [block, last] = PartOf(out->ne[0] / kHead * n_blocks, thread, n_threads);
  while (block < last) {
    const int64_t head = block / n_blocks;
    const int64_t until = std::min(last, (head + 1) * n_blocks);
    const auto begin = static_cast<int>(block - head * n_blocks) * kAttentionRows;
    const auto end = std::min(n, static_cast<int>(until - head * n_blocks) * kAttentionRows);
    FastKernels()->attend(data(0, head), data(1, head), data(2, head), static_cast<float*>(out->data) + head * kHead, static_cast<size_t>(out->ne[0]), n, begin, end,
                          scratch.data());
    block = until;
  }
}

void AttendTokens(ggml_tensor* out, int thread, int n_threads, void* n_keys) {
  thread_local std::vector<float> scores;
  const auto n = static_cast<int>(reinterpret_cast<intptr_t>(n_keys));
  scores.resize(static_cast<size_t>((n + kLanes - 1) / kLanes * kLanes));
  const auto *k = out->src[1], *v = out->src[2];
  const auto halves = [](const ggml_tensor* tensor, int64_t head) { return reinterpret_cast<const uint16_t*>(static_cast<const char*>(tensor->data) + static_cast<size_t>(head) * tensor->nb[2]); };
  const int64_t n_heads = out->ne[0] / kHead;
  const auto [begin, end] = PartOf(n_heads * out->ne[1], thread, n_threads);
  for (int64_t i = begin; i < end; i++) {
    FastKernels()->attend_one(static_cast<const float*>(out->src[0]->data) + i * kHead, halves(k, i % n_heads), halves(v, i % n_heads), k->nb[1] / sizeof(uint16_t), n,
                              static_cast<float*>(out->data) + i * kHead, scores.data());
  }
}

void GeluValues(ggml_tensor* out, int thread, int n_threads, void*) {
  const auto [begin, end] = PartOf(ggml_nelements(out), thread, n_threads);
  FastKernels()->gelu(static_cast<const float*>(out->src[0]->data) + begin, static_cast<float*>(out->data) + begin, static_cast<size_t>(end - begin));
}

template <size_t N>
ggml_tensor* Custom(ggml_context* context, ggml_type type, int64_t n_values, int64_t n_rows, std::array<ggml_tensor*, N> sources, ggml_custom_op_t run, intptr_t number = 0) {
  return ggml_custom_4d(context, type, n_values, n_rows, 1, 1, sources.data(), static_cast<int>(N), run, GGML_N_TASKS_MAX, reinterpret_cast<void*>(number));
}

bool IsMatrix(const ggml_tensor* tensor) { return tensor->ne[2] == 1 && tensor->ne[3] == 1; }

}  // namespace

void PackWeights(ggml_tensor* weights) {
  const auto* kernels = FastKernels();
  if (!kernels || weights->type != GGML_TYPE_Q8_0 || !IsMatrix(weights) || !ggml_is_contiguous(weights) || !IsInMainMemory(weights)) return;
  if (weights->ne[0] % kBlock != 0) return;
  kernels->pack(weights->data, static_cast<int>(weights->ne[0]), static_cast<int>(weights->ne[1]));
  weights->extra = &packed_mark;
}

ggml_tensor* MulMat(ggml_context* context, ggml_tensor* weights, ggml_tensor* x) {
  if (!IsPacked(weights)) return ggml_mul_mat(context, weights, x);
  GGML_ASSERT(x->type == GGML_TYPE_F32 && x->nb[0] == sizeof(float) && IsMatrix(x) && x->ne[0] == weights->ne[0]);
  auto* rows = Custom<1>(context, GGML_TYPE_I8, static_cast<int64_t>(QuantisedBytes(static_cast<int>(x->ne[0]))), x->ne[1], {x}, QuantiseRows);
  return Custom<2>(context, GGML_TYPE_F32, weights->ne[1], x->ne[1], {weights, rows}, MultiplyRows);
}

ggml_tensor* GetRows(ggml_context* context, ggml_tensor* weights, ggml_tensor* rows) {
  if (!IsPacked(weights)) return ggml_get_rows(context, weights, rows);
  GGML_ASSERT(rows->type == GGML_TYPE_I32 && rows->ne[1] == 1 && IsMatrix(rows));
  return Custom<2>(context, GGML_TYPE_F32, weights->ne[0], rows->ne[0], {weights, rows}, UnpackRows);
}

ggml_tensor* Attention(ggml_context* context, ggml_tensor* q, ggml_tensor* k, ggml_tensor* v, int n_heads, const ggml_tensor* weights) {
  if (!FastKernels() || !IsInMainMemory(weights) || q->ne[0] != n_heads * kHead) return nullptr;
  for (const auto* tensor : {q, k, v}) GGML_ASSERT(tensor->type == GGML_TYPE_F32 && ggml_is_contiguous(tensor) && ggml_are_same_shape(tensor, q) && IsMatrix(tensor));
  return Custom<3>(context, GGML_TYPE_F32, q->ne[0], q->ne[1], {q, k, v}, AttendHeads);
}

ggml_tensor* CrossAttention(ggml_context* context, ggml_tensor* q, ggml_tensor* k, ggml_tensor* v, int n, float scale, const ggml_tensor* weights) {
  if (!FastKernels() || !IsInMainMemory(weights) || k->type != GGML_TYPE_F16 || v->type != GGML_TYPE_F16 || k->ne[0] != kHead) return nullptr;
  GGML_ASSERT(IsMatrix(q) && k->nb[0] == sizeof(uint16_t) && ggml_are_same_stride(k, v) && k->ne[1] >= n && k->ne[2] * kHead == q->ne[0]);
  return Custom<3>(context, GGML_TYPE_F32, q->ne[0], q->ne[1], {ggml_scale(context, q, scale), k, v}, AttendTokens, n);
}

ggml_tensor* Gelu(ggml_context* context, ggml_tensor* x, const ggml_tensor* weights) {
  if (!FastKernels() || !IsInMainMemory(weights) || x->type != GGML_TYPE_F32 || !ggml_is_contiguous(x) || !IsMatrix(x)) return ggml_gelu(context, x);
  return Custom<1>(context, GGML_TYPE_F32, x->ne[0], x->ne[1], {x}, GeluValues);
}

}  // namespace aana::compute
