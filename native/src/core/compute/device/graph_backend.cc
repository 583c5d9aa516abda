#include "core/compute/device/graph_backend.h"

#include <ggml-cpu.h>
// The struct of graphs. ggml's libraries and these headers are of one version.
#include <ggml-impl.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "core/compute/device/packed_buffers.h"
#include "core/compute/kernel_sets.h"
#include "core/compute/matrix/matrix_source.h"

namespace aana::compute {
namespace {

// Rows of the inputs of a product.
int64_t RowsOf(const ggml_tensor* x) { return ggml_nrows(x); }

const float* RowAt(const ggml_tensor* x, int64_t row) {
  const int64_t i1 = row % x->ne[1];
  const int64_t i2 = row / x->ne[1] % x->ne[2];
  const int64_t i3 = row / x->ne[1] / x->ne[2];
  return reinterpret_cast<const float*>(static_cast<const char*>(x->data) + static_cast<size_t>(i1) * x->nb[1] +
                                        static_cast<size_t>(i2) * x->nb[2] + static_cast<size_t>(i3) * x->nb[3]);
}

struct AttentionParams {
  float scale;
  float max_bias;
  float softcap;
};
AttentionParams ReadParams(const void* from) {
  AttentionParams params;
  std::memcpy(&params, from, sizeof params);
  return params;
}

// Where a step keeps the parameters of the operation that it replaces: behind those of the custom operation.
constexpr size_t kKeptAt = GGML_MAX_OP_PARAMS - sizeof(AttentionParams);

bool HasKernel(const ggml_tensor& node) {
  if (node.op != GGML_OP_FLASH_ATTN_EXT) return false;
  const auto *q = node.src[0], *k = node.src[1], *v = node.src[2], *mask = node.src[3], *sinks = node.src[4];
  const auto params = ReadParams(node.op_params);
  return !sinks && mask && mask->type == GGML_TYPE_F16 && mask->ne[2] == 1 && mask->ne[3] == q->ne[3] &&
         mask->ne[0] == k->ne[1] && params.max_bias == 0 && params.softcap == 0 && q->type == GGML_TYPE_F32 &&
         k->type == GGML_TYPE_F16 && v->type == GGML_TYPE_F16 && q->ne[0] == k->ne[0] && k->ne[0] == v->ne[0] &&
         q->nb[0] == sizeof(float) && k->nb[0] == sizeof(uint16_t) && v->nb[0] == sizeof(uint16_t) &&
         k->ne[2] == v->ne[2] && k->ne[3] == q->ne[3] && v->ne[3] == q->ne[3] && FastKernelSet()->attention(q->ne[0]);
}

// Queries that are computed together: some heads of some tokens. More would need more memory for scores than a cache
// has.
constexpr int kMostRows = 24;

// Where head `head` of stream `stream` begins.
template <typename Value>
const Value* HeadAt(const ggml_tensor* tensor, int64_t head, int64_t stream) {
  return reinterpret_cast<const Value*>(static_cast<const char*>(tensor->data) +
                                        static_cast<size_t>(head) * tensor->nb[2] +
                                        static_cast<size_t>(stream) * tensor->nb[3]);
}

// Attends the tokens of a block in a head of keys and values, for some of its rows: each row is a head of queries of a
// token.
void AttendRows(ggml_tensor* out, const AttentionBlocks& blocks, const AttentionBlock& block, int64_t kv_head,
                int begin, int end) {
  thread_local std::vector<float> scratch;
  const auto *q = out->src[0], *k = out->src[1], *v = out->src[2];
  const auto heads = static_cast<int>(q->ne[2] / k->ne[2]);
  const auto n_values = static_cast<int>(q->ne[0]);
  const float* queries[kMostRows];
  const uint16_t* masks[kMostRows];
  float* results[kMostRows];
  int n_rows = 0;
  for (int row = begin; row < end; row++, n_rows++) {
    const int64_t token = block.first + row / heads;
    const int64_t head = kv_head * heads + row % heads;
    queries[n_rows] = HeadAt<float>(q, head, block.stream) + static_cast<size_t>(token) * q->nb[1] / sizeof(float);
    if (block.masks_begin >= 0)
      masks[n_rows] = blocks.masks.data() + block.masks_begin + static_cast<int64_t>(row / heads) * block.n_cells;
    results[n_rows] = reinterpret_cast<float*>(static_cast<char*>(out->data) + static_cast<size_t>(head) * out->nb[1] +
                                               static_cast<size_t>(token) * out->nb[2] +
                                               static_cast<size_t>(block.stream) * out->nb[3]);
  }
  scratch.resize(std::max(scratch.size(), AttentionScratchValues(n_rows, block.n_cells, n_values)));
  FastKernelSet()->attention(n_values)(
      {.k = HeadAt<uint16_t>(k, kv_head, block.stream),
       .v = HeadAt<uint16_t>(v, kv_head, block.stream),
       .k_stride = k->nb[1] / sizeof(uint16_t),
       .v_stride = v->nb[1] / sizeof(uint16_t),
       .cells = blocks.cells.data() + block.cells_begin,
       .n_cells = block.n_cells,
       .n_values = n_values,
       .scale = ReadParams(reinterpret_cast<const char*>(out->op_params) + kKeptAt).scale,
       .n_rows = n_rows,
       .q = queries,
       .masks = block.masks_begin >= 0 ? masks : nullptr,
       .out = results,
       .scratch = scratch.data()});
}

// A part of a step has products of so many numbers at least, for about two microseconds.
constexpr int64_t kLeastWork = 100'000;
// A step has up to so many parts for each thread, so that a thread that is late gets fewer of them.
constexpr int kPartsOfThread = 4;

// Products of our kernels are at least so many times as much as others, where ggml computes on one thread.
constexpr int64_t kLeastShare = 16;

int64_t WorkOfQuantizing(const ggml_tensor* product, const void*) {
  constexpr int64_t kOfValue = 16;  // what quantizing a number takes
  return ggml_nelements(product->src[1]) * kOfValue;
}

int64_t WorkOfProduct(const ggml_tensor* product, const void*) {
  return ggml_nelements(product) * product->src[0]->ne[0];
}

// Whether the operation takes little time beside products of the same graph.
bool IsSmall(const ggml_tensor& node) {
  switch (node.op) {
    case GGML_OP_NONE:
    case GGML_OP_VIEW:
    case GGML_OP_RESHAPE:
    case GGML_OP_PERMUTE:
    case GGML_OP_TRANSPOSE:
    case GGML_OP_ADD:
    case GGML_OP_MUL:
    case GGML_OP_SCALE:
    case GGML_OP_NORM:
    case GGML_OP_RMS_NORM:
    case GGML_OP_ROPE:
    case GGML_OP_GLU:
    case GGML_OP_UNARY:
    case GGML_OP_CPY:
    case GGML_OP_CONT:
    case GGML_OP_GET_ROWS:
    case GGML_OP_SET_ROWS:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool MultipliesPacked(const ggml_tensor* op) {
  return op->op == GGML_OP_MUL_MAT && IsPacked(op->src[0]) && op->src[1]->type == GGML_TYPE_F32 &&
         op->src[1]->nb[0] == sizeof(float) && ggml_is_contiguous(op);
}

void GraphBackend::SetThreads(int n_threads) {
  if (n_threads == n_threads_) return;
  n_threads_ = n_threads;
  team_.reset();
  CpuFunction<decltype(&ggml_backend_cpu_set_threadpool)>("ggml_backend_cpu_set_threadpool")(backend_, nullptr);
  threads_.reset();
}

void GraphBackend::Prepare() {
  const bool needs_threads = n_threads_ > 1 && !is_ours_;
  if (needs_threads && !threads_) threads_ = std::make_unique<ProcessorThreads>(n_threads_);
  if (n_threads_ > 1 && is_ours_ && !team_) team_ = std::make_unique<WorkTeam>(n_threads_ - 1);
  CpuFunction<decltype(&ggml_backend_cpu_set_threadpool)>("ggml_backend_cpu_set_threadpool")(
      backend_, needs_threads ? threads_->get() : nullptr);
  CpuFunction<ggml_backend_set_n_threads_t>("ggml_backend_set_n_threads")(backend_, needs_threads ? n_threads_ : 1);
}

ggml_status GraphBackend::Compute(const ggml_cgraph& graph) {
  Replace(graph);
  Prepare();
  ggml_cgraph replaced = graph;
  replaced.nodes = nodes_.data();
  replaced.n_nodes = replaced.size = static_cast<int>(nodes_.size());
  if (!is_ours_ || !team_) return ggml_backend_graph_compute(backend_, &replaced);
  team_->SetExpecting(true);
  const auto status = ggml_backend_graph_compute(backend_, &replaced);
  team_->SetExpecting(false);
  return status;
}

void GraphBackend::Replace(const ggml_cgraph& graph) {
  size_t n_replaced = 0;
  size_t n_most = 0;
  bool has_other = false;
  int64_t our_work = 0;
  int64_t other_work = 0;
  for (int i = 0; i < graph.n_nodes; i++) {
    const auto* node = graph.nodes[i];
    n_replaced += MultipliesPacked(node) || HasKernel(*node);
    if (MultipliesPacked(node)) {
      n_most =
          std::max(n_most, InputBytes(static_cast<int>(node->src[1]->ne[0]), static_cast<int>(RowsOf(node->src[1]))));
      our_work += WorkOfProduct(node, nullptr);
    } else if (node->op == GGML_OP_MUL_MAT) {
      other_work += WorkOfProduct(node, nullptr);
    } else {
      has_other = has_other || !(IsSmall(*node) || HasKernel(*node));
    }
  }
  is_ours_ = !has_other && other_work * kLeastShare <= our_work;
  nodes_.clear();
  replaced_.clear();
  replaced_.reserve(2 * n_replaced);
  steps_.clear();
  steps_.reserve(2 * n_replaced);
  n_masks_ = 0;
  if (inputs_.size() < n_most) inputs_.resize(n_most);
  const ggml_tensor* quantized = nullptr;
  for (int i = 0; i < graph.n_nodes; i++) {
    auto* node = graph.nodes[i];
    if (MultipliesPacked(node))
      AddProduct(*node, quantized);
    else if (HasKernel(*node))
      AddAttention(*node);
    else
      nodes_.push_back(node);
  }
}

// `quantized` is the product whose inputs were quantized last. Products that follow with the same inputs and form, as
// of queries and keys, use them too.
void GraphBackend::AddProduct(ggml_tensor& node, const ggml_tensor*& quantized) {
  const bool has_inputs =
      quantized && quantized->src[1] == node.src[1] && FormOf(quantized->src[0]->type) == FormOf(node.src[0]->type);
  if (!has_inputs) AddStep(node, {this, QuantizeInputs, inputs_.data(), WorkOfQuantizing});
  quantized = &node;
  AddStep(node, {this, MultiplyInputs, inputs_.data(), WorkOfProduct});
}

void GraphBackend::AddAttention(ggml_tensor& node) {
  bool is_new = false;
  auto& mask = MaskOf(node, is_new);
  if (is_new) AddStep(node, {this, ReadMask, &mask, [](const ggml_tensor*, const void*) { return int64_t{0}; }});
  AddStep(node, {this, Attend, &mask, WorkOfAttention});
}

GraphBackend::Mask& GraphBackend::MaskOf(const ggml_tensor& node, bool& is_new) {
  const auto *q = node.src[0], *k = node.src[1], *mask = node.src[3];
  const auto most_tokens = std::max(1, kMostRows / static_cast<int>(q->ne[2] / k->ne[2]));
  for (size_t i = 0; i < n_masks_; i++) {
    if (masks_[i]->tensor == mask && masks_[i]->most_tokens == most_tokens && masks_[i]->n_tokens == q->ne[1])
      return *masks_[i];
  }
  is_new = true;
  if (n_masks_ == masks_.size()) masks_.push_back(std::make_unique<Mask>());
  auto& added = *masks_[n_masks_++];
  added.tensor = mask;
  added.most_tokens = most_tokens;
  added.n_tokens = q->ne[1];
  return added;
}

void GraphBackend::AddStep(const ggml_tensor& node, const Step& step) {
  steps_.push_back(step);
  auto& replaced = replaced_.emplace_back(node);
  replaced.op = GGML_OP_CUSTOM;
  const ggml_custom_op_params params = {RunStep, GGML_N_TASKS_MAX, &steps_.back()};
  static_assert(sizeof params <= kKeptAt && sizeof replaced.op_params == GGML_MAX_OP_PARAMS);
  std::memcpy(reinterpret_cast<char*>(replaced.op_params) + kKeptAt, node.op_params, sizeof(AttentionParams));
  std::memcpy(replaced.op_params, &params, sizeof params);
  nodes_.push_back(&replaced);
}

void GraphBackend::RunStep(ggml_tensor* node, int thread, int n_threads, void* data) {
  const auto& step = *static_cast<const Step*>(data);
  const auto& self = *step.backend;
  if (!self.is_ours_ || !self.team_) return step.run(node, thread, n_threads, step.data);
  const int64_t n_most = std::min(self.n_threads_ * kPartsOfThread, WorkTeam::kMostParts);
  const auto n_parts = static_cast<int>(std::min(step.work(node, step.data) / kLeastWork, n_most));
  if (n_parts < 2) return step.run(node, 0, 1, step.data);
  std::pair task(node, &step);
  self.team_->Run(
      n_parts,
      [](void* of, int part, int n) {
        const auto& [of_task, its_step] = *static_cast<decltype(task)*>(of);
        its_step->run(of_task, part, n, its_step->data);
      },
      &task);
}

void GraphBackend::QuantizeInputs(ggml_tensor* product, int part, int n_parts, void* inputs) {
  const auto* x = product->src[1];
  const auto form = *FormOf(product->src[0]->type);
  const int64_t n_rows = RowsOf(x);
  for (int64_t row = n_rows * part / n_parts; row < n_rows * (part + 1) / n_parts; row++) {
    FastKernelSet()->matrix.quantize(form, RowAt(x, row), static_cast<int>(x->ne[0]), static_cast<int>(n_rows),
                                     static_cast<int>(row), inputs);
  }
}

void GraphBackend::MultiplyInputs(ggml_tensor* product, int part, int n_parts, void* inputs) {
  const auto* matrix = product->src[0];
  const int64_t n_groups = (product->ne[0] + kMatrixRows - 1) / kMatrixRows;
  FastKernelSet()->matrix.multiply(
      *FormOf(matrix->type), matrix->data, inputs, static_cast<int>(matrix->ne[0]), static_cast<int>(product->ne[0]),
      static_cast<int>(RowsOf(product->src[1])), static_cast<int>(n_groups * part / n_parts),
      static_cast<int>(n_groups * (part + 1) / n_parts), static_cast<float*>(product->data));
}

void GraphBackend::ReadMask(ggml_tensor* attention, int part, int, void* mask) {
  if (part != 0) return;
  auto& of_graph = *static_cast<Mask*>(mask);
  of_graph.blocks.Read(attention->src[3], of_graph.n_tokens, of_graph.most_tokens);
}

int64_t GraphBackend::WorkOfAttention(const ggml_tensor* attention, const void* mask) {
  int64_t n_seen = 0;
  for (const auto& block : static_cast<const Mask*>(mask)->blocks.blocks)
    n_seen += int64_t{block.n_tokens} * block.n_cells;
  return 2 * n_seen * attention->src[0]->ne[0] * attention->src[0]->ne[2];
}

void GraphBackend::Attend(ggml_tensor* attention, int part, int n_parts, void* mask) {
  const auto& blocks = static_cast<const Mask*>(mask)->blocks;
  const auto n_heads = attention->src[1]->ne[2];
  const auto heads = static_cast<int>(attention->src[0]->ne[2] / n_heads);
  // Pieces of a block and head, if there are fewer of these than parts.
  const auto n_whole = static_cast<int64_t>(blocks.blocks.size()) * n_heads;
  const int64_t n_pieces =
      n_whole >= n_parts ? 1 : std::min<int64_t>(heads, (n_parts + n_whole - 1) / std::max<int64_t>(n_whole, 1));
  const int64_t n_all = n_whole * n_pieces;
  for (int64_t i = n_all * part / n_parts; i < n_all * (part + 1) / n_parts; i++) {
    const auto& block = blocks.blocks[static_cast<size_t>(i / n_pieces / n_heads)];
    const int n_rows = heads * block.n_tokens;
    const auto piece = static_cast<int>(i % n_pieces);
    const auto begin = static_cast<int>(n_rows * piece / n_pieces);
    const auto end = static_cast<int>(n_rows * (piece + 1) / n_pieces);
    for (int row = begin; row < end; row += kMostRows)
      AttendRows(attention, blocks, block, i / n_pieces % n_heads, row, std::min(end, row + kMostRows));
  }
}

}  // namespace aana::compute
