#pragma once

#include <ggml-backend.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "core/compute/attention/attention_blocks.h"

struct ggml_cgraph;

namespace aana::compute {

// Whether the operation multiplies by a packed matrix.
bool MultipliesPacked(const ggml_tensor* op);

// Computes graphs on a processor backend of ggml, with products of packed matrices and attention replaced by our
// kernels.
class GraphBackend {
 public:
  explicit GraphBackend(ggml_backend_dev_t processor) : backend_(ggml_backend_dev_init(processor, nullptr)) {}
  ~GraphBackend() { ggml_backend_free(backend_); }
  GraphBackend(const GraphBackend&) = delete;
  GraphBackend& operator=(const GraphBackend&) = delete;

  // The processor backend.
  ggml_backend_t backend() const { return backend_; }

  ggml_status Compute(const ggml_cgraph& graph);

 private:
  // The cells that the tokens of a mask see, for a size of blocks.
  struct Mask {
    const ggml_tensor* tensor;
    int most_tokens;
    int64_t n_tokens;
    AttentionBlocks blocks;
  };

  void Replace(const ggml_cgraph& graph);
  void AddProduct(ggml_tensor& node, const ggml_tensor*& quantized);
  void AddAttention(ggml_tensor& node);
  // Adds a node that runs a function in place of `node`. The function gets `data`.
  void AddStep(const ggml_tensor& node, ggml_custom_op_t run, void* data);
  Mask& MaskOf(const ggml_tensor& node, bool& is_new);

  static void QuantizeInputs(ggml_tensor* product, int thread, int n_threads, void* inputs);
  static void MultiplyInputs(ggml_tensor* product, int thread, int n_threads, void* inputs);
  static void ReadMask(ggml_tensor* attention, int thread, int n_threads, void* mask);
  static void Attend(ggml_tensor* attention, int thread, int n_threads, void* mask);

  ggml_backend_t backend_;
  std::vector<ggml_tensor*> nodes_;
  std::vector<ggml_tensor> steps_;
  std::vector<uint8_t> inputs_;
  std::vector<std::unique_ptr<Mask>> masks_;
  size_t n_masks_ = 0;  // of the graph
};

}  // namespace aana::compute
