// Random graphs on our device, each operation beside ggml's processor backend: what another version of ggml changes in
// graphs, operations or their parameters shows here.
#include <ggml-backend.h>
#include <ggml-cpp.h>
#include <ggml.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "../check.h"
#include "core/compute/device/graph_backend.h"
#include "core/compute/device/packed_buffers.h"
#include "core/compute/device/processor_device.h"
#include "core/compute/device/processor_threads.h"
#include "tests.h"

namespace aana::test {
namespace {

using namespace compute;

constexpr int kWidth = 256;  // a multiple of all blocks
constexpr int kHeads = 4;
constexpr int kGraphCells = 96;
constexpr int kTableRows = 32;

class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed)
      : random_(seed),
        context_(ggml_init({.mem_size = 96 << 20, .mem_buffer = nullptr, .no_alloc = false})),
        weights_(ggml_init({.mem_size = 1 << 20, .mem_buffer = nullptr, .no_alloc = true})) {
    n_tokens_ = 1 + UpTo(18);
    for (int i = 0; i < 2; i++) hidden_.push_back(NewFloats(kWidth, n_tokens_));
    const int n_steps = 4 + UpTo(12);
    for (int i = 0; i < n_steps; i++) hidden_.push_back(ggml_rms_norm(context_.get(), Next(), 1e-5F));
    graph_ = ggml_new_graph(context_.get());
    for (auto* tensor : hidden_) ggml_build_forward_expand(graph_, tensor);
    Pack();
  }

  // Computes the graph on our device with these threads, and then each of its nodes again from the same values on
  // ggml's backend.
  void Compare(int n_threads, std::set<ggml_op>& seen) {
    auto* device = ProcessorDevice();
    const ggml_backend_ptr ours(ggml_backend_dev_init(device, nullptr));
    const ggml_backend_ptr cpu(ggml_backend_dev_init(CpuDevice(), nullptr));
    CpuFunction<ggml_backend_set_n_threads_t>("ggml_backend_set_n_threads")(cpu.get(), 1);
    const auto set_threads = reinterpret_cast<ggml_backend_set_n_threads_t>(
        ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(device), "ggml_backend_set_n_threads"));
    set_threads(ours.get(), n_threads);
    Expect(ggml_backend_graph_compute(ours.get(), graph_) == GGML_STATUS_SUCCESS, "the device failed");
    for (int i = 0; i < ggml_graph_n_nodes(graph_); i++) {
      auto* node = ggml_graph_node(graph_, i);
      seen.insert(node->op);
      Expect(ggml_backend_dev_supports_op(device, node), std::string(ggml_op_desc(node)) + " is refused");
      Compare(node, cpu.get());
    }
  }

 private:
  int UpTo(int most) { return std::uniform_int_distribution<int>(0, most)(random_); }
  ggml_tensor* Any() { return hidden_[static_cast<size_t>(UpTo(static_cast<int>(hidden_.size()) - 1))]; }

  template <typename... Sizes>
  ggml_tensor* New(ggml_type type, Sizes... sizes) {
    const int64_t all[] = {sizes...};
    return ggml_new_tensor(context_.get(), type, sizeof...(sizes), all);
  }

  std::vector<float> Numbers(const ggml_tensor* tensor) {
    std::vector<float> values(static_cast<size_t>(ggml_nelements(tensor)));
    for (auto& value : values) value = std::normal_distribution<float>()(random_);
    return values;
  }

  template <typename... Sizes>
  ggml_tensor* NewFloats(Sizes... sizes) {
    auto* tensor = New(GGML_TYPE_F32, sizes...);
    const auto values = Numbers(tensor);
    std::memcpy(tensor->data, values.data(), values.size() * sizeof(float));
    return tensor;
  }

  template <typename... Sizes>
  ggml_tensor* NewHalves(Sizes... sizes) {
    auto* tensor = New(GGML_TYPE_F16, sizes...);
    const auto values = Numbers(tensor);
    ggml_fp32_to_fp16_row(values.data(), static_cast<ggml_fp16_t*>(tensor->data), ggml_nelements(tensor));
    return tensor;
  }

  template <typename Index>
  ggml_tensor* NewIndices(ggml_type type, int n, int n_each, int most) {
    auto* tensor = New(type, n, n_each);
    for (int i = 0; i < n_each; i++) {
      std::vector<Index> all;
      for (int j = 0; j < most; j++) all.push_back(static_cast<Index>(j));
      std::ranges::shuffle(all, random_);
      std::copy_n(all.begin(), n, static_cast<Index*>(tensor->data) + i * n);
    }
    return tensor;
  }

  // A product with a matrix that our buffers pack, or with one of another type.
  ggml_tensor* Product(ggml_tensor* x) {
    constexpr ggml_type kMatrixTypes[] = {GGML_TYPE_Q4_0, GGML_TYPE_Q4_1,  GGML_TYPE_Q5_0, GGML_TYPE_Q5_1,
                                          GGML_TYPE_Q8_0, GGML_TYPE_Q4_K,  GGML_TYPE_Q5_K, GGML_TYPE_Q6_K,
                                          GGML_TYPE_F16,  GGML_TYPE_IQ4_NL};
    // More of the packed ones, so that many graphs have nothing else.
    const auto type = kMatrixTypes[std::min(UpTo(30), 9)];
    auto* plain = New(type, kWidth, kWidth);
    const auto values = Numbers(plain);
    ggml_quantize_chunk(type, values.data(), plain->data, 0, kWidth, kWidth, nullptr);
    auto* packed = ggml_new_tensor_2d(weights_.get(), type, kWidth, kWidth);
    ggml_set_name(packed, "blk.0.ffn_up.weight");
    plain_of_[packed] = plain;
    return ggml_mul_mat(context_.get(), packed, x);
  }

  ggml_tensor* Attention(ggml_tensor* x) {
    auto* context = context_.get();
    constexpr int kValues = kWidth / kHeads;
    auto* q = ggml_permute(context, ggml_reshape_3d(context, x, kValues, kHeads, n_tokens_), 0, 2, 1, 3);
    const int n_kv_heads = UpTo(1) == 0 ? 2 : kHeads;
    auto* k = NewHalves(kValues, kGraphCells, n_kv_heads);
    auto* v = NewHalves(kValues, kGraphCells, n_kv_heads);
    auto* mask = New(GGML_TYPE_F16, kGraphCells, n_tokens_);
    const int n_before = UpTo(kGraphCells - n_tokens_);
    for (int i = 0; i < n_tokens_ * kGraphCells; i++)
      static_cast<uint16_t*>(mask->data)[i] = i % kGraphCells <= n_before + i / kGraphCells ? 0 : 0xFC00;
    auto* attended = ggml_flash_attn_ext(context, q, k, v, mask, 0.125F, 0, 0);
    return ggml_reshape_2d(context, attended, kWidth, n_tokens_);
  }

  ggml_tensor* Rotated(ggml_tensor* x) {
    auto* context = context_.get();
    auto* heads = ggml_reshape_3d(context, x, kWidth / kHeads, kHeads, n_tokens_);
    auto* positions = NewIndices<int32_t>(GGML_TYPE_I32, n_tokens_, 1, 100);
    auto* rotated =
        ggml_rope_ext(context, heads, positions, nullptr, kWidth / kHeads,
                      UpTo(1) == 0 ? GGML_ROPE_TYPE_NORMAL : GGML_ROPE_TYPE_NEOX, 512, 10'000, 1, 0, 1, 32, 1);
    return ggml_reshape_2d(context, rotated, kWidth, n_tokens_);
  }

  ggml_tensor* Experts(ggml_tensor* x) {
    auto* context = context_.get();
    constexpr int kExperts = 4, kUsed = 2;
    auto* chosen = NewIndices<int32_t>(GGML_TYPE_I32, kUsed, n_tokens_, kExperts);
    auto* inputs = ggml_reshape_3d(context, x, kWidth, 1, n_tokens_);
    auto* out = ggml_mul_mat_id(context, NewHalves(kWidth, kWidth, kExperts), inputs, chosen);
    return ggml_cont(context, ggml_view_2d(context, out, kWidth, n_tokens_, out->nb[2], out->nb[1]));
  }

  // The rows of `x` in a table of halves, in another order.
  ggml_tensor* Stored(ggml_tensor* x) {
    auto* context = context_.get();
    auto* table = ggml_set_rows(context, NewHalves(kWidth, kTableRows), x,
                                NewIndices<int64_t>(GGML_TYPE_I64, n_tokens_, 1, kTableRows));
    return ggml_get_rows(context, table, NewIndices<int32_t>(GGML_TYPE_I32, n_tokens_, 1, kTableRows));
  }

  ggml_tensor* Next() {
    auto* context = context_.get();
    auto *x = Any(), *y = Any();
    switch (UpTo(19)) {
      case 0:
        return ggml_add(context, x, y);
      case 1:
        return ggml_sub(context, x, y);
      case 2:
        return ggml_mul(context, x, NewFloats(kWidth));
      case 3:
        return ggml_mul(context, ggml_rms_norm(context, x, 1e-6F), NewFloats(kWidth));
      case 4:
        return ggml_norm(context, x, 1e-6F);
      case 5:
        return ggml_l2_norm(context, x, 1e-6F);
      case 6:
        return ggml_scale_bias(context, x, 0.5F, 0.1F);
      case 7:
        return ggml_unary(context, x, static_cast<ggml_unary_op>(UpTo(GGML_UNARY_OP_COUNT - 1)));
      case 8:
        return ggml_swiglu_split(context, x, y);
      case 9:
        return ggml_soft_max_ext(context, x, nullptr, 0.3F, 0);
      case 10:
        return ggml_cont(context, ggml_transpose(context, ggml_cont(context, ggml_transpose(context, x))));
      case 11:
        return ggml_cpy(context, ggml_cpy(context, x, New(GGML_TYPE_F16, kWidth, n_tokens_)),
                        New(GGML_TYPE_F32, kWidth, n_tokens_));
      case 12:
        return ggml_mul(context, x, ggml_sum_rows(context, y));
      case 13: {
        auto* both = ggml_concat(context, x, y, 0);
        return ggml_cont(context,
                         ggml_view_2d(context, both, kWidth, n_tokens_, both->nb[1], kWidth / 2 * both->nb[0]));
      }
      case 14:
        return Stored(x);
      case 15:
        return Rotated(x);
      case 16:
        return UpTo(3) == 0 ? Experts(x) : Product(x);
      case 17:
        return Attention(x);
      case 18:
        return ggml_mul(context, Product(x), Product(x));  // the inputs are quantized once
      default:
        return Product(x);
    }
  }

  // Sets the matrices in a buffer of our device.
  void Pack() {
    if (plain_of_.empty()) return;
    buffer_.reset(ggml_backend_alloc_ctx_tensors_from_buft(weights_.get(), PackedBufferType()));
    ggml_backend_buffer_set_usage(buffer_.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    for (const auto& [packed, plain] : plain_of_) ggml_backend_tensor_set(packed, plain->data, 0, ggml_nbytes(plain));
  }

  void Compare(ggml_tensor* node, ggml_backend_t cpu) {
    const auto n_bytes = ggml_nbytes(node);
    std::vector<uint8_t> ours(n_bytes);
    std::memcpy(ours.data(), node->data, n_bytes);
    const bool is_product = MultipliesPacked(node);
    auto* const matrix = node->src[0];
    if (plain_of_.contains(matrix)) node->src[0] = plain_of_.at(matrix);
    const ggml_context_ptr of_graph(
        ggml_init({.mem_size = ggml_graph_overhead(), .mem_buffer = nullptr, .no_alloc = true}));
    auto* graph = ggml_new_graph(of_graph.get());
    ggml_graph_add_node(graph, node);
    Expect(ggml_backend_graph_compute(cpu, graph) == GGML_STATUS_SUCCESS, "ggml failed");
    node->src[0] = matrix;
    // ggml computes a norm and the product that follows at once, and leaves the norm's place empty.
    if (node->op == GGML_OP_RMS_NORM && IsFactor(node)) return;
    const std::string name = std::string(ggml_op_desc(node)) + " of " + std::to_string(n_tokens_) + " tokens";
    const bool is_ours = is_product || node->op == GGML_OP_FLASH_ATTN_EXT;
    const bool is_fused = node->op == GGML_OP_MUL && matrix->op == GGML_OP_RMS_NORM;
    if (is_ours || is_fused)
      ExpectClose(node, ours, is_ours ? 0.08 : 1e-6, name);
    else
      Expect(std::memcmp(ours.data(), node->data, n_bytes) == 0, name + " is not what ggml computes");
    std::memcpy(node->data, ours.data(), n_bytes);
  }

  bool IsFactor(const ggml_tensor* tensor) {
    for (int i = 0; i < ggml_graph_n_nodes(graph_); i++) {
      const auto* node = ggml_graph_node(graph_, i);
      if (node->op == GGML_OP_MUL && node->src[0] == tensor) return true;
    }
    return false;
  }

  // The largest difference, beside the size of the values. ggml and our kernels round inputs differently.
  static void ExpectClose(const ggml_tensor* node, const std::vector<uint8_t>& ours, double tolerance,
                          const std::string& name) {
    const auto* expected = static_cast<const float*>(node->data);
    double sum = 0;
    double most = 0;
    for (int64_t i = 0; i < ggml_nelements(node); i++) {
      float value;
      std::memcpy(&value, ours.data() + i * static_cast<int64_t>(sizeof value), sizeof value);
      sum += static_cast<double>(expected[i]) * expected[i];
      most = std::max(most, std::isnan(value) ? INFINITY : std::abs(static_cast<double>(value) - expected[i]));
    }
    const double size = std::sqrt(sum / static_cast<double>(ggml_nelements(node)));
    Expect(most <= tolerance * size, name + " differs by " + std::to_string(most) + " of " + std::to_string(size));
  }

  std::mt19937 random_;
  ggml_context_ptr context_;
  ggml_context_ptr weights_;
  ggml_backend_buffer_ptr buffer_;
  int n_tokens_ = 0;
  std::vector<ggml_tensor*> hidden_;
  std::map<ggml_tensor*, ggml_tensor*> plain_of_;  // of packed matrices
  ggml_cgraph* graph_ = nullptr;
};

}  // namespace

void TestRandomGraphs() {
  Test("each operation of random graphs is what ggml computes", [] {
    std::set<ggml_op> seen;
    for (uint32_t seed = 1; seed <= 48; seed++) {
      // Several threads of ggml wait for each other after each operation, so most graphs have one.
      RandomGraph(seed).Compare(seed % 8 == 0 ? 3 : 1, seen);
    }
    Expect(seen.size() >= 20, "the graphs have " + std::to_string(seen.size()) + " kinds of operations only");
  });
}

}  // namespace aana::test
