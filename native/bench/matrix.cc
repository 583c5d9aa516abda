// Measures products with quantized matrices on one thread: those of ggml, repacked where ggml has a form for it, and
// those of our device.
//
//   node native/test/build-program.mjs aana-matrix-bench && build/cmake/programs/aana-matrix-bench [q4_0]
#include <ggml-backend.h>
#include <ggml.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <random>
#include <string_view>
#include <vector>

#include "core/compute/device/processor_device.h"

namespace aana::bench {
namespace {

constexpr int kIn = 1536, kOut = 2048;
constexpr double kSeconds = 0.15;  // of each measurement

struct Free {
  void operator()(ggml_context* context) const { ggml_free(context); }
  void operator()(ggml_backend* backend) const { ggml_backend_free(backend); }
  void operator()(ggml_backend_buffer* buffer) const { ggml_backend_buffer_free(buffer); }
};

// Of this thread, so that other programs disturb little.
double CpuSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// The buffers in which ggml repacks weights of the type, or those of main memory.
ggml_backend_buffer_type_t GgmlBuffers(ggml_backend_dev_t cpu, ggml_tensor* product) {
  const auto extra_types = reinterpret_cast<ggml_backend_dev_get_extra_bufts_t>(
      ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(cpu), "ggml_backend_dev_get_extra_bufts"));
  auto* weights = product->src[0];
  for (auto* types = extra_types ? extra_types(cpu) : nullptr; types && *types; types++) {
    weights->buffer = ggml_backend_buft_alloc_buffer(*types, 0);
    const bool takes = ggml_backend_dev_supports_op(cpu, product);
    ggml_backend_buffer_free(weights->buffer);
    weights->buffer = nullptr;
    if (takes) return *types;
  }
  return ggml_backend_dev_buffer_type(cpu);
}

// Returns billions of multiplications for each second of the processor.
double Measure(ggml_backend_dev_t device, bool is_ours, ggml_type type, int n_rows) {
  const std::unique_ptr<ggml_context, Free> context(
      ggml_init({.mem_size = 1 << 20, .mem_buffer = nullptr, .no_alloc = true}));
  const std::unique_ptr<ggml_context, Free> inputs(
      ggml_init({.mem_size = 1 << 20, .mem_buffer = nullptr, .no_alloc = true}));
  const std::unique_ptr<ggml_backend, Free> backend(ggml_backend_dev_init(device, nullptr));
  reinterpret_cast<ggml_backend_set_n_threads_t>(ggml_backend_reg_get_proc_address(
      ggml_backend_dev_backend_reg(device), "ggml_backend_set_n_threads"))(backend.get(), 1);
  auto* weights = ggml_new_tensor_2d(context.get(), type, kIn, kOut);
  ggml_set_name(weights, "blk.0.ffn_up.weight");
  auto* x = ggml_new_tensor_2d(inputs.get(), GGML_TYPE_F32, kIn, n_rows);
  auto* product = ggml_mul_mat(inputs.get(), weights, x);
  auto* buffers = is_ours ? ggml_backend_dev_buffer_type(device) : GgmlBuffers(device, product);
  const std::unique_ptr<ggml_backend_buffer, Free> buffer(
      ggml_backend_alloc_ctx_tensors_from_buft(context.get(), buffers));
  ggml_backend_buffer_set_usage(buffer.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
  const std::unique_ptr<ggml_backend_buffer, Free> values(
      ggml_backend_alloc_ctx_tensors_from_buft(inputs.get(), ggml_backend_get_default_buffer_type(backend.get())));

  std::mt19937 random_numbers(3);
  std::vector<float> numbers(static_cast<size_t>(kIn) * kOut);
  for (auto& number : numbers) number = std::normal_distribution<float>()(random_numbers);
  std::vector<char> quantized(ggml_row_size(type, kIn) * kOut);
  ggml_quantize_chunk(type, numbers.data(), quantized.data(), 0, kOut, kIn, nullptr);
  ggml_backend_tensor_set(weights, quantized.data(), 0, quantized.size());
  ggml_backend_tensor_set(x, numbers.data(), 0, ggml_nbytes(x));

  auto* graph = ggml_new_graph(inputs.get());
  ggml_build_forward_expand(graph, product);
  ggml_backend_graph_compute(backend.get(), graph);
  double fastest = 1e9;
  for (const double begin = CpuSeconds(); CpuSeconds() < begin + kSeconds;) {
    const double before = CpuSeconds();
    ggml_backend_graph_compute(backend.get(), graph);
    fastest = std::min(fastest, CpuSeconds() - before);
  }
  return 1e-9 * kIn * kOut * n_rows / fastest;
}

}  // namespace
}  // namespace aana::bench

int main(int argc, char** argv) {
#ifdef AANA_BACKENDS
  ggml_backend_load_all_from_path(AANA_BACKENDS);
#endif
  ggml_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  auto* cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
  auto* ours = aana::compute::ProcessorDevice();
  std::printf("billions of products a second of %d x %d matrices, one thread\ntype  inputs   ggml   ours\n",
              aana::bench::kIn, aana::bench::kOut);
  for (const auto type : {GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q5_0, GGML_TYPE_Q5_1, GGML_TYPE_Q8_0,
                          GGML_TYPE_Q4_K, GGML_TYPE_Q5_K, GGML_TYPE_Q6_K}) {
    if (argc > 1 && std::string_view(argv[1]) != ggml_type_name(type)) continue;
    for (const int n_rows : {1, 4, 8, 32, 256}) {
      std::printf("%-6s %5d %6.1f", ggml_type_name(type), n_rows, aana::bench::Measure(cpu, false, type, n_rows));
      if (ours) std::printf(" %6.1f", aana::bench::Measure(ours, true, type, n_rows));
      std::printf("\n");
    }
  }
}
