// Which matrices of a model lie packed in our device's memory. llama.cpp names them, and asks the device for each.
#include <ggml-cpp.h>
#include <gguf.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "../check.h"
#include "core/compute/device/packed_buffers.h"
#include "core/compute/device/processor_device.h"
#include "core/compute/matrix/matrix_source.h"
#include "loaded.h"

namespace aana::test {

// All matrices of types that the kernels know, except for the table of embeddings where llama.cpp reads rows of it
// only.
static uint64_t PackableBytes(const std::string& model_path) {
  ggml_context* read = nullptr;
  const gguf_context_ptr file(gguf_init_from_file(model_path.c_str(), {.no_alloc = true, .ctx = &read}));
  const ggml_context_ptr tensors(read);
  Expect(file != nullptr, "the file cannot be read");
  const auto architecture = gguf_get_val_str(file.get(), gguf_find_key(file.get(), "general.architecture"));
  const bool has_output = gguf_find_tensor(file.get(), "output.weight") >= 0;
  const bool is_encoder = std::string_view(architecture) == "bert";
  uint64_t n_bytes = 0;
  for (auto* tensor = ggml_get_first_tensor(read); tensor; tensor = ggml_get_next_tensor(read, tensor)) {
    const bool is_only_read = std::string_view(tensor->name) == "token_embd.weight" && (has_output || is_encoder);
    if (compute::FormOf(tensor->type) && ggml_n_dims(tensor) == 2 && !is_only_read) n_bytes += ggml_nbytes(tensor);
  }
  return n_bytes;
}

void TestPacking(const std::string& model_path) {
  Test("all matrices with kernels are packed in " + NameOf(model_path), [&] {
    if (!compute::ProcessorDevice()) return;
    const auto expected = PackableBytes(model_path);
    Expect(expected > 0, "the model has no such matrix");
    const auto before = compute::PackedBytes();
    const llama::Model model(OptionsFor(model_path, 1), {});
    ExpectSame(std::to_string(compute::PackedBytes() - before), std::to_string(expected));
  });
}

}  // namespace aana::test
