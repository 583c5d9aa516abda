// Tests of packed matrices: the kernels against plain loops over ggml's own reading of its types, and the device in
// graphs of ggml. On a processor without the instructions there is nothing to test.
#include <ggml-backend.h>
#include <ggml.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "../check.h"
#include "core/compute/device/processor_device.h"
#include "core/compute/kernel_sets.h"
#include "core/compute/matrix/matrix_source.h"
#include "tests.h"

namespace aana::test {
namespace {

using namespace compute;

constexpr ggml_type kTypes[] = {GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1,
                                GGML_TYPE_Q8_0, GGML_TYPE_Q4_K, GGML_TYPE_Q5_K, GGML_TYPE_Q6_K};

std::mt19937 random_numbers(11);

std::vector<float> Random(size_t n, float mean = 0) {
  std::vector<float> values(n);
  for (auto& value : values) value = std::normal_distribution<float>(mean, 1)(random_numbers);
  return values;
}

// A matrix in one of ggml's types, and its values as ggml reads them.
struct Matrix {
  Matrix(ggml_type a_type, int in, int out)
      : type(a_type),
        n_in(in),
        n_out(out),
        values(static_cast<size_t>(in * out)),
        bytes(ggml_row_size(type, in) * static_cast<size_t>(out)) {
    const auto source = Random(values.size(), 0.3F);
    ggml_quantize_chunk(type, source.data(), bytes.data(), 0, n_out, n_in, nullptr);
    ggml_get_type_traits(type)->to_float(bytes.data(), values.data(), static_cast<int64_t>(values.size()));
  }

  // A product with `x`, and the sum of the sizes of its parts.
  std::pair<double, double> Multiply(int row, const float* x) const {
    double sum = 0;
    double size = 0;
    for (int i = 0; i < n_in; i++) {
      const double part = static_cast<double>(values[static_cast<size_t>(row * n_in + i)]) * x[i];
      sum += part;
      size += std::abs(part);
    }
    return {sum, size};
  }

  ggml_type type;
  int n_in;
  int n_out;
  std::vector<float> values;
  std::vector<uint8_t> bytes;
};

// The values that a kernel reads from its inputs.
std::vector<float> Quantized(const std::vector<uint8_t>& inputs, int n_in, int n_rows, int row) {
  const auto panel = PanelAt(n_rows, row);
  std::vector<float> values;
  for (int block = 0; block < n_in / kMatrixBlock; block++) {
    const auto* bytes = inputs.data() + InputBytes(n_in, panel.first) +
                        InputBytes(kMatrixBlock, panel.n_rows) * static_cast<size_t>(block);
    float scale;
    std::memcpy(&scale, bytes + panel.n_rows * kMatrixBlock + 4 * (row - panel.first), sizeof scale);
    for (int i = 0; i < kMatrixBlock; i++)
      values.push_back(scale * static_cast<float>(static_cast<int8_t>(bytes[(row - panel.first) * kMatrixBlock + i])));
  }
  return values;
}

void TestProducts(const MatrixKernels& kernels, const Matrix& matrix, const std::vector<float>& x, int n_rows,
                  int split) {
  const auto form = FormOf(matrix.type).value();
  std::vector<uint8_t> packed(MatrixBytes(form, matrix.n_in, matrix.n_out)), inputs(InputBytes(matrix.n_in, n_rows));
  PackMatrix(matrix.type, matrix.bytes.data(), matrix.n_in, matrix.n_out, packed.data());
  for (int row = 0; row < n_rows; row++)
    kernels.quantize(form, x.data() + row * matrix.n_in, matrix.n_in, n_rows, row, inputs.data());
  std::vector<float> out(static_cast<size_t>(n_rows * matrix.n_out), std::numeric_limits<float>::quiet_NaN());
  const int n_groups = (matrix.n_out + kMatrixRows - 1) / kMatrixRows;
  for (const auto& [begin, end] : {std::pair(0, split), std::pair(split, n_groups)}) {
    kernels.multiply(form, packed.data(), inputs.data(), matrix.n_in, matrix.n_out, n_rows, begin, end, out.data());
  }
  // Scales of types with two levels are rounded to 11 bits.
  const bool has_levels = ggml_blck_size(matrix.type) > kMatrixBlock;
  for (int row = 0; row < n_rows; row++) {
    const auto quantized = Quantized(inputs, matrix.n_in, n_rows, row);
    for (int i = 0; i < matrix.n_in; i++)
      ExpectNear(quantized[static_cast<size_t>(i)], x[static_cast<size_t>(row * matrix.n_in + i)], 0.025,
                 "quantized value");
    for (int o = 0; o < matrix.n_out; o++) {
      const auto [sum, size] = matrix.Multiply(o, quantized.data());
      ExpectNear(out[static_cast<size_t>(row * matrix.n_out + o)], sum, (has_levels ? 5e-4 : 2e-6) * size,
                 "output " + std::to_string(o) + " of row " + std::to_string(row));
    }
  }
}

void TestProducts(const MatrixKernels& kernels, const Matrix& matrix, int n_rows, int split) {
  TestProducts(kernels, matrix, Random(static_cast<size_t>(matrix.n_in * n_rows)), n_rows, split);
}

// Results of one input are the same bits, whatever is computed beside it.
void TestIndependence(const MatrixKernels& kernels, const Matrix& matrix) {
  const auto form = FormOf(matrix.type).value();
  constexpr int kRows = 37;
  const auto x = Random(static_cast<size_t>(matrix.n_in * kRows));
  std::vector<uint8_t> packed(MatrixBytes(form, matrix.n_in, matrix.n_out));
  PackMatrix(matrix.type, matrix.bytes.data(), matrix.n_in, matrix.n_out, packed.data());
  const auto multiply = [&](int first, int n_rows) {
    std::vector<uint8_t> inputs(InputBytes(matrix.n_in, n_rows));
    for (int row = 0; row < n_rows; row++)
      kernels.quantize(form, x.data() + (first + row) * matrix.n_in, matrix.n_in, n_rows, row, inputs.data());
    std::vector<float> out(static_cast<size_t>(n_rows * matrix.n_out));
    kernels.multiply(form, packed.data(), inputs.data(), matrix.n_in, matrix.n_out, n_rows, 0,
                     (matrix.n_out + kMatrixRows - 1) / kMatrixRows, out.data());
    return out;
  };
  const auto together = multiply(0, kRows);
  for (int row = 0; row < kRows; row++) {
    const auto alone = multiply(row, 1);
    Expect(std::memcmp(alone.data(), together.data() + row * matrix.n_out, alone.size() * sizeof(float)) == 0,
           "row " + std::to_string(row) + " differs");
  }
}

// Values of a block and inputs at the ends of their ranges, with equal and with opposite signs: the largest sums of
// products.
void TestExtremes(const MatrixKernels& kernels, ggml_type type) {
  constexpr int kIn = 256;
  Matrix matrix(type, kIn, 16);
  std::vector<float> source(matrix.values.size());
  for (size_t i = 0; i < source.size(); i++)
    source[i] = i / kIn % 4 == 0 ? 1.0F : i / kIn % 4 == 1 ? -1.0F : i % (i / kIn % 4) == 0 ? 1.0F : -1.0F;
  ggml_quantize_chunk(type, source.data(), matrix.bytes.data(), 0, 16, kIn, nullptr);
  ggml_get_type_traits(type)->to_float(matrix.bytes.data(), matrix.values.data(),
                                       static_cast<int64_t>(matrix.values.size()));
  TestProducts(kernels, matrix, std::vector<float>(kIn, 1), 1, 1);
  TestProducts(kernels, matrix, std::vector<float>(kIn, -1), 1, 1);
  TestProducts(kernels, matrix, std::vector<float>(source.begin() + 2 * kIn, source.begin() + 4 * kIn), 2, 1);
}

struct Free {
  void operator()(ggml_context* context) const { ggml_free(context); }
  void operator()(ggml_backend* backend) const { ggml_backend_free(backend); }
  void operator()(ggml_backend_buffer* buffer) const { ggml_backend_buffer_free(buffer); }
  void operator()(ggml_backend_sched* scheduler) const { ggml_backend_sched_free(scheduler); }
};

std::unique_ptr<ggml_context, Free> Context() {
  return std::unique_ptr<ggml_context, Free>(ggml_init({.mem_size = 1 << 20, .mem_buffer = nullptr, .no_alloc = true}));
}

// Two products of one input, their sum, and a product of that with a matrix of floats that lies in the device's buffer
// too, as adapters do.
void TestGraph(ggml_type type, int n_rows, int n_threads) {
  constexpr int kAdapted = 64;
  auto* device = ProcessorDevice();
  const Matrix q(type, 256, 40), k(GGML_TYPE_Q8_0, 256, 40);
  const auto adapter = Random(size_t{40} * kAdapted);
  const auto x = Random(static_cast<size_t>(256 * n_rows));

  const auto weights = Context();
  auto* q_tensor = ggml_new_tensor_2d(weights.get(), type, 256, 40);
  auto* k_tensor = ggml_new_tensor_2d(weights.get(), GGML_TYPE_Q8_0, 256, 40);
  auto* adapter_tensor = ggml_new_tensor_2d(weights.get(), GGML_TYPE_F32, 40, kAdapted);
  ggml_set_name(q_tensor, "blk.0.attn_q.weight");
  ggml_set_name(k_tensor, "blk.0.attn_k.weight");
  const std::unique_ptr<ggml_backend_buffer, Free> buffer(
      ggml_backend_alloc_ctx_tensors_from_buft(weights.get(), ggml_backend_dev_buffer_type(device)));
  ggml_backend_buffer_set_usage(buffer.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
  ggml_backend_tensor_set(q_tensor, q.bytes.data(), 0, q.bytes.size());
  ggml_backend_tensor_set(k_tensor, k.bytes.data(), 0, k.bytes.size());
  ggml_backend_tensor_set(adapter_tensor, adapter.data(), 0, adapter.size() * sizeof(float));

  const std::unique_ptr<ggml_backend, Free> ours(ggml_backend_dev_init(device, nullptr));
  const std::unique_ptr<ggml_backend, Free> cpu(ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, nullptr));
  const auto set_threads = reinterpret_cast<ggml_backend_set_n_threads_t>(
      ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(device), "ggml_backend_set_n_threads"));
  set_threads(ours.get(), n_threads);

  const auto nodes = Context();
  auto* input = ggml_new_tensor_2d(nodes.get(), GGML_TYPE_F32, 256, n_rows);
  ggml_set_input(input);
  auto* sum =
      ggml_add(nodes.get(), ggml_mul_mat(nodes.get(), q_tensor, input), ggml_mul_mat(nodes.get(), k_tensor, input));
  ggml_set_output(sum);
  auto* adapted = ggml_mul_mat(nodes.get(), adapter_tensor, sum);
  ggml_set_output(adapted);
  auto* graph = ggml_new_graph(nodes.get());
  ggml_build_forward_expand(graph, adapted);
  // A graph that our threads compute, because all of its products have kernels, between those that ggml's compute.
  auto* graph_of_sum = ggml_new_graph(nodes.get());
  ggml_build_forward_expand(graph_of_sum, sum);

  ggml_backend_t backends[] = {ours.get(), cpu.get()};
  const std::unique_ptr<ggml_backend_sched, Free> scheduler(
      ggml_backend_sched_new(backends, nullptr, 2, 64, false, true));
  for (int run = 0; run < 2; run++) {
    ggml_backend_sched_reset(scheduler.get());
    Expect(ggml_backend_sched_alloc_graph(scheduler.get(), graph), "no memory");
    ggml_backend_tensor_set(input, x.data(), 0, x.size() * sizeof(float));
    Expect(ggml_backend_graph_compute(ours.get(), graph_of_sum) == GGML_STATUS_SUCCESS, "the sum failed");
    Expect(ggml_backend_sched_graph_compute(scheduler.get(), graph) == GGML_STATUS_SUCCESS, "the graph failed");
    Expect(ggml_backend_sched_get_n_splits(scheduler.get()) == 1, "the graph is not computed as a whole");
  }

  std::vector<float> sums(static_cast<size_t>(40 * n_rows)), products(static_cast<size_t>(kAdapted * n_rows));
  ggml_backend_tensor_get(sum, sums.data(), 0, sums.size() * sizeof(float));
  ggml_backend_tensor_get(adapted, products.data(), 0, products.size() * sizeof(float));
  for (int row = 0; row < n_rows; row++) {
    for (int o = 0; o < 40; o++) {
      const auto [q_sum, q_size] = q.Multiply(o, x.data() + row * 256);
      const auto [k_sum, k_size] = k.Multiply(o, x.data() + row * 256);
      ExpectNear(sums[static_cast<size_t>(row * 40 + o)], q_sum + k_sum, 0.004 * (q_size + k_size),
                 "sum " + std::to_string(o) + " of row " + std::to_string(row));
    }
    for (int o = 0; o < kAdapted; o++) {
      double expected = 0;
      for (int i = 0; i < 40; i++)
        expected +=
            static_cast<double>(adapter[static_cast<size_t>(o * 40 + i)]) * sums[static_cast<size_t>(row * 40 + i)];
      ExpectNear(products[static_cast<size_t>(row * kAdapted + o)], expected, 1e-3 * (1 + std::abs(expected)),
                 "product " + std::to_string(o));
    }
  }
}

// llama.cpp asks so where to put weights.
bool Takes(const char* name, ggml_type type, int n_matrices = 1) {
  auto* device = ProcessorDevice();
  const auto context = Context();
  auto* weights = ggml_new_tensor_3d(context.get(), type, 256, 40, n_matrices);
  ggml_set_name(weights, name);
  auto* op =
      ggml_mul_mat(context.get(), weights, ggml_new_tensor_3d(context.get(), GGML_TYPE_F32, 256, 512, n_matrices));
  weights->buffer = ggml_backend_buft_alloc_buffer(ggml_backend_dev_buffer_type(device), 0);
  const bool takes = ggml_backend_dev_supports_op(device, op);
  ggml_backend_buffer_free(weights->buffer);
  return takes;
}

void TestKernels(const KernelSet& set) {
  const std::string with = std::string(" with ") + set.name;
  const auto& kernels = set.matrix;
  for (const auto type : kTypes) {
    const std::string name = ggml_type_name(type) + with;
    Test("products of " + name + " are those of ggml's values, for any number of inputs and outputs", [&kernels, type] {
      const Matrix matrix(type, 512, 41);
      for (int n_rows = 1; n_rows <= 34; n_rows++) TestProducts(kernels, matrix, n_rows, 1);
      for (const int n_out : {1, 7, 8, 9, 15}) TestProducts(kernels, Matrix(type, 256, n_out), 3, 1);
      TestProducts(kernels, Matrix(type, 2048, 32), 300, 1);  // more inputs than fit into a cache
    });
    Test("a product of " + name + " does not depend on the inputs beside it",
         [&kernels, type] { TestIndependence(kernels, {type, 256, 23}); });
    Test("the largest values of " + name + " do not overflow", [&kernels, type] { TestExtremes(kernels, type); });
  }
  Test("an input of zeros gives zeros" + with, [&kernels] {
    const Matrix matrix(GGML_TYPE_Q6_K, 256, 16);
    const std::vector<float> zeros(256);
    std::vector<uint8_t> packed(MatrixBytes(MatrixForm::kSix, 256, 16)), inputs(InputBytes(256, 1), 1);
    PackMatrix(matrix.type, matrix.bytes.data(), 256, 16, packed.data());
    kernels.quantize(MatrixForm::kSix, zeros.data(), 256, 1, 0, inputs.data());
    std::vector<float> out(16, 1);
    kernels.multiply(MatrixForm::kSix, packed.data(), inputs.data(), 256, 16, 1, 0, 1, out.data());
    for (const float value : out) Expect(value == 0, "it is " + std::to_string(value));
  });
}

void TestDevice() {
  for (const auto type : kTypes) {
    const std::string name = ggml_type_name(type);
    Test("a graph with " + name + " is computed as a whole, with what lies beside it", [type] {
      for (const int n_threads : {1, 3}) {
        for (const int n_rows : {1, 17}) TestGraph(type, n_rows, n_threads);
      }
    });
  }
  Test("the device takes known matrices, and leaves other weights where they are", [] {
    Expect(Takes("blk.3.ffn_down.weight", GGML_TYPE_Q6_K) && Takes("output.weight", GGML_TYPE_Q8_0) &&
               Takes("token_embd.weight", GGML_TYPE_Q4_K),
           "a matrix is refused");
    Expect(!Takes("blk.3.ffn_down.weight", GGML_TYPE_F16), "a type without kernels is taken");
    Expect(!Takes("blk.3.ffn_down_exps.weight", GGML_TYPE_Q4_K, 8), "matrices of experts are taken");
    Expect(!Takes("blk.3.attn_kv_b.weight", GGML_TYPE_Q4_K), "a matrix that is used in parts is taken");
    Expect(!Takes("blk.3.attn_q.weight.lora_a", GGML_TYPE_Q8_0), "an adapter is packed");
  });
}

}  // namespace
}  // namespace aana::test

int main() {
#ifdef AANA_BACKENDS
  ggml_backend_load_all_from_path(AANA_BACKENDS);
#endif
  for (const auto& set : aana::compute::KernelSets()) {
    aana::test::TestKernels(set);
    aana::test::TestAttention(set);
  }
  aana::test::TestTeam();
  if (aana::compute::ProcessorDevice()) {
    aana::test::TestDevice();
    aana::test::TestAttentionBlocks();
    aana::test::TestAttentionGraphs();
    aana::test::TestRandomGraphs();
    aana::test::TestMemory();
  } else {
    aana::test::Test("this processor has no kernels", [] {});
  }
  return aana::test::ExitStatus();
}
