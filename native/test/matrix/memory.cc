// Where weights of a speech model lie, on processors for which ggml has memory of its own for weights, such as those
// with AMX.
#include <ggml-backend.h>
#include <ggml-cpp.h>
#include <ggml.h>

#include <string>

#include "../check.h"
#include "core/compute/graph_ops.h"
#include "core/compute/kernels.h"
#include "tests.h"

namespace aana::test {
namespace {

using namespace compute;

void TestMemory(ggml_backend_buffer_type_t memory) {
  const ggml_context_ptr context(ggml_init({.mem_size = 1 << 16, .mem_buffer = nullptr, .no_alloc = true}));
  const auto matrix = [&](ggml_type type) { return ggml_new_tensor_2d(context.get(), type, 4 * kHead, 4 * kHead); };
  const std::string name = ggml_backend_buft_name(memory);
  Expect(MemoryFor(matrix(GGML_TYPE_Q8_0), memory) == ggml_backend_cpu_buffer_type(),
         name + " holds weights that could be packed");
  Expect(MemoryFor(matrix(GGML_TYPE_F16), memory) == memory,
         name + " was not left as it is for a type without kernels");

  // Other weights of the model are in main memory. All operations must choose the same way of computing.
  auto* weights = matrix(GGML_TYPE_F16);
  const ggml_backend_buffer_ptr buffer(
      ggml_backend_buft_alloc_buffer(memory, ggml_backend_buft_get_alloc_size(memory, weights)));
  weights->buffer = buffer.get();
  Expect(UsesKernels(kHead, weights), "the kernels are not used for weights in " + name);
  auto* x = ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, 4 * kHead, 3);
  Expect(Gelu(context.get(), x, weights)->op == GGML_OP_CUSTOM,
         "the kernels compute no activation for weights in " + name);
  Expect(Attention(context.get(), x, x, x, 4, weights) != nullptr,
         "the kernels compute no attention for weights in " + name);
}

}  // namespace

void TestMemory() {
  auto* cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
  const auto extra_types = reinterpret_cast<ggml_backend_dev_get_extra_bufts_t>(
      ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(cpu), "ggml_backend_dev_get_extra_bufts"));
  for (auto* types = extra_types ? extra_types(cpu) : nullptr; types && *types; types++) {
    auto* memory = *types;
    Test(std::string("weights of speech models in ") + ggml_backend_buft_name(memory),
         [memory] { TestMemory(memory); });
  }
}

}  // namespace aana::test
