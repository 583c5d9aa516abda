#pragma once

#include <ggml-backend.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "core/compute/attention/attention_blocks.h"
#include "core/compute/device/processor_threads.h"
#include "core/compute/device/work_team.h"

struct ggml_cgraph;

namespace aana::compute {

// Whether the operation multiplies by a packed matrix.
bool MultipliesPacked(const ggml_tensor* op);

// Computes graphs on a processor backend of ggml, with products of packed matrices and attention replaced by our
// kernels.
//
// ggml's threads meet after each node of a graph, in a loop that gives no processor away: beside other programs, a step
// takes many times as long. So where our kernels do nearly all of a graph, ggml computes it on the calling thread, and
// a team helps with the kernels. ggml's threads compute other graphs.
class GraphBackend {
 public:
  explicit GraphBackend(ggml_backend_dev_t processor) : backend_(ggml_backend_dev_init(processor, nullptr)) {}
  ~GraphBackend() { ggml_backend_free(backend_); }
  GraphBackend(const GraphBackend&) = delete;
  GraphBackend& operator=(const GraphBackend&) = delete;

  // The processor backend.
  ggml_backend_t backend() const { return backend_; }

  void SetThreads(int n_threads);

  ggml_status Compute(const ggml_cgraph& graph);

 private:
  // Computes a part of the operation that a node stands for.
  using Run = void (*)(ggml_tensor* node, int part, int n_parts, void* data);
  // What a custom operation does in place of a node.
  struct Step {
    GraphBackend* backend;
    Run run;
    void* data;
    int64_t (*work)(const ggml_tensor* node, const void* data);  // products of two numbers
  };

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
  // Adds a node that does something in place of `node`.
  void AddStep(const ggml_tensor& node, const Step& step);
  // Gives ggml's backend the threads that the graph needs.
  void Prepare();
  Mask& MaskOf(const ggml_tensor& node, bool& is_new);

  static void RunStep(ggml_tensor* node, int thread, int n_threads, void* step);
  static void QuantizeInputs(ggml_tensor* product, int part, int n_parts, void* inputs);
  static void MultiplyInputs(ggml_tensor* product, int part, int n_parts, void* inputs);
  static void ReadMask(ggml_tensor* attention, int part, int n_parts, void* mask);
  static int64_t WorkOfAttention(const ggml_tensor* attention, const void* mask);
  static void Attend(ggml_tensor* attention, int part, int n_parts, void* mask);

  ggml_backend_t backend_;
  int n_threads_ = 1;
  std::unique_ptr<WorkTeam> team_;             // null before a graph that needs it
  std::unique_ptr<ProcessorThreads> threads_;  // null before a graph that needs them
  bool is_ours_ = true;                        // our kernels do nearly all of the graph
  std::vector<ggml_tensor*> nodes_;
  std::vector<ggml_tensor> replaced_;  // nodes_ points to them, and they to steps_
  std::vector<Step> steps_;
  std::vector<uint8_t> inputs_;
  std::vector<std::unique_ptr<Mask>> masks_;
  size_t n_masks_ = 0;  // of the graph
};

}  // namespace aana::compute
