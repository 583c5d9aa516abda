#include "core/whisper/decoder/decoder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/compute/graph_ops.h"
#include "core/whisper/compute_watch.h"
#include "core/whisper/types.h"

namespace aana {
namespace {

// Cells are added in steps of this many. ggml's attention reads them in blocks of 256.
constexpr size_t kCellBlock = 256;
constexpr size_t kPadding = 256;  // of the positions of encoded audio

size_t RoundUp(size_t n, size_t block) { return (n + block - 1) / block * block; }

ggml_tensor* Input(ggml_context* context, ggml_type type, int64_t n_values, int64_t n_rows = 1) {
  auto* tensor = ggml_new_tensor_2d(context, type, n_values, n_rows);
  ggml_set_input(tensor);
  return tensor;
}

ggml_tensor* Norm(ggml_context* context, ggml_tensor* x, const Linear& norm, float epsilon) {
  return ggml_add(context, ggml_mul(context, ggml_norm(context, x, epsilon), norm.weights), norm.bias);
}

ggml_tensor* Apply(ggml_context* context, const Linear& linear, ggml_tensor* x) {
  auto* product = compute::MulMat(context, linear.weights, x);
  return linear.bias ? ggml_add(context, product, linear.bias) : product;
}

template <class T>
void Set(ggml_tensor* tensor, const std::vector<T>& values) {
  // An input that no node reads has no memory.
  if (tensor && tensor->buffer) ggml_backend_tensor_set(tensor, values.data(), 0, values.size() * sizeof(T));
}

}  // namespace

// The inputs and outputs of a graph, and what its operations read while it is computed.
struct Decoder::Plan {
  std::span<const DecoderRow> rows;
  std::span<const AlignmentHead> heads = {};
  int n_frames = 0;

  struct Group {
    const AudioKeys* audio;
    int begin;
    int end;
  };
  std::vector<Group> groups = {};
  compute::CellLists cells = {};
  std::vector<std::vector<compute::AudioRows>> audio_rows = {};  // for each layer

  // Inputs. Masks are null where the kernels need none.
  ggml_tensor* tokens = nullptr;
  ggml_tensor* positions = nullptr;
  ggml_tensor* own_cells = nullptr;
  ggml_tensor* wanted = nullptr;
  ggml_tensor* cell_mask = nullptr;
  std::vector<ggml_tensor*> audio_masks = {};

  ggml_tensor* logits = nullptr;
  std::vector<ggml_tensor*> attention = {};  // of each alignment head: [positions, rows]
};

Decoder::Decoder(whisper_context* context) : weights_(WeightsOf(context)) {
  for (auto* backend : NewBackends(context)) backends_.emplace_back(backend);
  std::vector<ggml_backend_t> backends;
  for (const auto& backend : backends_) backends.push_back(backend.get());
  graph_memory_.resize(ggml_tensor_overhead() * static_cast<size_t>(max_nodes()) +
                       ggml_graph_overhead_custom(static_cast<size_t>(max_nodes()), false));
  scheduler_.reset(ggml_backend_sched_new(backends.data(), nullptr, static_cast<int>(backends.size()),
                                          static_cast<size_t>(max_nodes()), false, true));
  Reserve(kCellBlock);
}

int Decoder::max_nodes() const { return 256 + 256 * static_cast<int>(weights_.layers.size()); }

void Decoder::Reserve(size_t n_cells) {
  if (n_cells <= capacity_) return;
  const size_t capacity = RoundUp(std::max(n_cells, capacity_ * 5 / 4), kCellBlock);
  const auto n_layers = weights_.layers.size();
  std::unique_ptr<ggml_context, Deleter<ggml_free>> context(
      ggml_init({ggml_tensor_overhead() * 2 * n_layers, nullptr, true}));
  std::vector<ggml_tensor*> keys, values;
  for (size_t i = 0; i < n_layers; i++) {
    for (auto* list : {&keys, &values})
      list->push_back(
          ggml_new_tensor_2d(context.get(), GGML_TYPE_F16, weights_.n_values, static_cast<int64_t>(capacity)));
  }
  std::unique_ptr<ggml_backend_buffer, Deleter<ggml_backend_buffer_free>> buffer(
      ggml_backend_alloc_ctx_tensors(context.get(), backends_.front().get()));
  if (!buffer)
    throw WhisperError("not enough memory for the texts of " + std::to_string(capacity) +
                       " tokens: lower batch_size or beam_size");
  // ggml's attention multiplies also what it does not attend to, by 0.
  ggml_backend_buffer_clear(buffer.get(), 0);
  std::vector<uint8_t> copy(capacity_ * ggml_row_size(GGML_TYPE_F16, weights_.n_values));
  for (size_t i = 0; i < keys_.size(); i++) {
    for (const auto& [from, to] : {std::pair(keys_[i], keys[i]), std::pair(values_[i], values[i])}) {
      ggml_backend_tensor_get(from, copy.data(), 0, copy.size());
      ggml_backend_tensor_set(to, copy.data(), 0, copy.size());
    }
  }
  keys_ = std::move(keys);
  values_ = std::move(values);
  cache_buffer_ = std::move(buffer);
  cache_context_ = std::move(context);
  capacity_ = capacity;
}

ggml_tensor* Decoder::SelfAttention(ggml_context* context, ggml_cgraph* graph, size_t layer, ggml_tensor* x,
                                    Plan& plan) const {
  const auto& part = weights_.layers[layer];
  auto* input = Norm(context, x, part.self_norm, weights_.epsilon);
  auto* q = Apply(context, part.self_q, input);
  auto* k = ggml_set_rows(context, keys_[layer], Apply(context, part.self_k, input), plan.own_cells);
  auto* v = ggml_set_rows(context, values_[layer], Apply(context, part.self_v, input), plan.own_cells);
  ggml_build_forward_expand(graph, k);
  ggml_build_forward_expand(graph, v);
  const float scale = 1.0F / std::sqrt(static_cast<float>(weights_.n_values / weights_.n_heads));
  auto* out = compute::CellAttention(context, q, k, v, plan.cells, plan.cell_mask, weights_.n_heads, scale,
                                     part.self_q.weights);
  return ggml_add(context, Apply(context, part.self_out, out), x);
}

ggml_tensor* Decoder::AttendToAudio(ggml_context* context, ggml_cgraph* graph, size_t layer, ggml_tensor* x,
                                    Plan& plan) const {
  const auto& part = weights_.layers[layer];
  auto* q = Apply(context, part.cross_q, Norm(context, x, part.cross_norm, weights_.epsilon));
  auto& groups = plan.audio_rows[layer];
  for (const auto& group : plan.groups) {
    const auto n_positions = RoundUp(static_cast<size_t>(group.audio->n_positions), kPadding);
    const auto heads_of = [&](ggml_tensor* cache) {
      return compute::HeadsOf(context, cache, weights_.n_values, weights_.n_heads, static_cast<int64_t>(n_positions),
                              static_cast<int64_t>(layer));
    };
    groups.push_back({heads_of(KeysOf(group.audio->audio)), heads_of(ValuesOf(group.audio->audio)),
                      group.audio->n_positions, group.begin, group.end});
  }
  const int64_t head_values = weights_.n_values / weights_.n_heads;
  for (size_t i = 0; i < plan.heads.size(); i++) {
    const auto& head = plan.heads[i];
    if (head.layer != static_cast<int>(layer)) continue;
    const auto* k = groups.front().k;
    auto* keys = ggml_view_2d(context, groups.front().k, head_values, plan.n_frames, k->nb[1],
                              static_cast<size_t>(head.head) * k->nb[2]);
    auto* queries = ggml_view_2d(context, q, head_values, q->ne[1], q->nb[1],
                                 static_cast<size_t>(head.head) * static_cast<size_t>(head_values) * q->nb[0]);
    plan.attention[i] = ggml_mul_mat(context, keys, ggml_cont(context, queries));
    ggml_set_output(plan.attention[i]);
    ggml_build_forward_expand(graph, plan.attention[i]);
  }
  // The keys are multiplied by this, too.
  const float scale = std::pow(static_cast<float>(head_values), -0.25F);
  auto* out = compute::CrossAttention(context, q, groups, plan.audio_masks, scale, part.cross_q.weights);
  return ggml_add(context, Apply(context, part.cross_out, out), x);
}

ggml_cgraph* Decoder::Build(ggml_context* context, Plan& plan) const {
  auto* graph = ggml_new_graph_custom(context, static_cast<size_t>(max_nodes()), false);
  const auto n_rows = static_cast<int64_t>(plan.rows.size());
  const auto n_wanted = std::ranges::count_if(plan.rows, [](const auto& row) { return row.wants_logits; });
  plan.tokens = Input(context, GGML_TYPE_I32, n_rows);
  plan.positions = Input(context, GGML_TYPE_I32, n_rows);
  plan.own_cells = Input(context, GGML_TYPE_I64, n_rows);
  if (!compute::UsesKernels(weights_.n_values / weights_.n_heads, weights_.tokens)) {
    plan.cell_mask = Input(context, GGML_TYPE_F16, static_cast<int64_t>(RoundUp(cells_.size(), kCellBlock)), n_rows);
    for (const auto& group : plan.groups) {
      const auto n = static_cast<size_t>(group.audio->n_positions);
      plan.audio_masks.push_back(
          n % kPadding == 0
              ? nullptr
              : Input(context, GGML_TYPE_F16, static_cast<int64_t>(RoundUp(n, kPadding)), group.end - group.begin));
    }
  }
  auto* x = ggml_add(context, compute::GetRows(context, weights_.tokens, plan.tokens),
                     ggml_get_rows(context, weights_.positions, plan.positions));
  plan.audio_rows.resize(weights_.layers.size());
  for (size_t layer = 0; layer < weights_.layers.size(); layer++) {
    const auto& part = weights_.layers[layer];
    x = AttendToAudio(context, graph, layer, SelfAttention(context, graph, layer, x, plan), plan);
    auto* inner = Apply(context, part.mlp_in, Norm(context, x, part.mlp_norm, weights_.epsilon));
    x = ggml_add(context, Apply(context, part.mlp_out, compute::Gelu(context, inner, weights_.tokens)), x);
  }
  if (n_wanted > 0) {
    plan.wanted = Input(context, GGML_TYPE_I32, n_wanted);
    plan.logits =
        compute::MulMat(context, weights_.tokens,
                        Norm(context, ggml_get_rows(context, x, plan.wanted), weights_.norm, weights_.epsilon));
    ggml_set_output(plan.logits);
    ggml_build_forward_expand(graph, plan.logits);
  }
  return graph;
}

void Decoder::Run(Plan& plan, int threads) {
  for (const auto& row : plan.rows) {
    const auto at = static_cast<int>(plan.cells.size());
    if (plan.groups.empty() || plan.groups.back().audio != row.audio) plan.groups.push_back({row.audio, at, at});
    plan.groups.back().end++;
    plan.cells.push_back(row.cells);
  }
  Reserve(cells_.size());
  const std::unique_ptr<ggml_context, Deleter<ggml_free>> context(
      ggml_init({graph_memory_.size(), graph_memory_.data(), true}));
  auto* graph = Build(context.get(), plan);
  ggml_backend_sched_reset(scheduler_.get());
  if (!ggml_backend_sched_alloc_graph(scheduler_.get(), graph))
    throw WhisperError("not enough memory to decode " + std::to_string(plan.rows.size()) +
                       " tokens at once: lower batch_size or beam_size");

  std::vector<int32_t> tokens, positions, wanted;
  std::vector<int64_t> own_cells;
  for (const auto& row : plan.rows) {
    if (row.wants_logits) wanted.push_back(static_cast<int32_t>(tokens.size()));
    tokens.push_back(row.token);
    positions.push_back(static_cast<int32_t>(row.cells.size()) - 1);
    own_cells.push_back(row.cells.back());
  }
  Set(plan.tokens, tokens);
  Set(plan.positions, positions);
  Set(plan.own_cells, own_cells);
  Set(plan.wanted, wanted);
  const auto never = ggml_fp32_to_fp16(-std::numeric_limits<float>::infinity());
  if (plan.cell_mask) {
    const auto n_cells = static_cast<size_t>(plan.cell_mask->ne[0]);
    std::vector<ggml_fp16_t> mask(n_cells * plan.rows.size(), never);
    for (size_t row = 0; row < plan.rows.size(); row++) {
      for (const auto cell : plan.rows[row].cells) mask[row * n_cells + static_cast<size_t>(cell)] = 0;
    }
    Set(plan.cell_mask, mask);
  }
  for (size_t i = 0; i < plan.audio_masks.size(); i++) {
    if (!plan.audio_masks[i]) continue;
    const auto n_positions = static_cast<size_t>(plan.audio_masks[i]->ne[0]);
    std::vector<ggml_fp16_t> mask(static_cast<size_t>(ggml_nelements(plan.audio_masks[i])));
    for (size_t at = 0; at < mask.size(); at++)
      mask[at] = static_cast<int>(at % n_positions) < plan.groups[i].audio->n_positions ? 0 : never;
    Set(plan.audio_masks[i], mask);
  }

  for (const auto& backend : backends_) {
    auto* device = ggml_backend_get_device(backend.get());
    auto* registry = device ? ggml_backend_dev_backend_reg(device) : nullptr;
    if (!registry) continue;
    ComputeWatch::Attach(backend.get(), registry);
    const auto set_threads = reinterpret_cast<ggml_backend_set_n_threads_t>(
        ggml_backend_reg_get_proc_address(registry, "ggml_backend_set_n_threads"));
    if (set_threads) set_threads(backend.get(), threads);
  }
  if (ggml_backend_sched_graph_compute(scheduler_.get(), graph) != GGML_STATUS_SUCCESS)
    throw WhisperError("the decoder's graph could not be computed");
}

std::span<float> Decoder::Compute(std::span<const DecoderRow> rows, int threads) {
  Plan plan{.rows = rows};
  Run(plan, threads);
  if (!plan.logits) return {};
  const auto n = static_cast<size_t>(ggml_nelements(plan.logits));
  // The memory of the graph stays as it is until the next one.
  if (ggml_backend_buffer_is_host(plan.logits->buffer)) return {static_cast<float*>(plan.logits->data), n};
  logits_.resize(n);
  ggml_backend_tensor_get(plan.logits, logits_.data(), 0, n * sizeof(float));
  return logits_;
}

std::vector<float> Decoder::ComputeAlignment(std::span<const DecoderRow> rows, std::span<const AlignmentHead> heads,
                                             int n_frames, int threads) {
  Plan plan{.rows = rows, .heads = heads, .n_frames = n_frames};
  plan.attention.resize(heads.size());
  Run(plan, threads);
  const auto size = rows.size() * static_cast<size_t>(n_frames);
  std::vector<float> scores(heads.size() * size);
  for (size_t i = 0; i < heads.size(); i++) {
    // Nothing is there for a head that the model lacks.
    if (plan.attention[i])
      ggml_backend_tensor_get(plan.attention[i], scores.data() + i * size, 0, size * sizeof(float));
  }
  const float scale = std::pow(static_cast<float>(weights_.n_values / weights_.n_heads), -0.25F);
  for (auto& score : scores) score *= scale;
  return scores;
}

}  // namespace aana
