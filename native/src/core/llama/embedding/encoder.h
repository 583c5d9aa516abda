#pragma once

#include <llama.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/deleter.h"
#include "core/llama/embedding/options.h"
#include "core/llama/model/model.h"
#include "core/llama/loop/batch.h"

namespace aana::llama {

// Returns parameters of the largest context that the encoder may make with these options, or a smaller one where the
// model's own length counts.
llama_context_params PlannedContext(const EmbeddingOptions& options);

// Computes the answers for texts, many at the same time. One thread at a time.
class Encoder {
 public:
  using Text = std::span<const llama_token>;

  // The model must outlive it. `abort` is asked during a computation on the CPU and ends it when true. Throws
  // LoadError, also when the model is not made for the task of the options.
  Encoder(const Model& model, const EmbeddingOptions& options, ggml_abort_callback abort, void* abort_data);

  // Most tokens of a text.
  int32_t n_context() const { return n_context_; }
  // Tokens and texts of one computation.
  int32_t n_batch() const { return n_batch_; }
  size_t n_texts() const { return n_texts_; }
  // Numbers in the answer for a text.
  size_t n_values() const { return n_values_; }
  EmbeddingModelInfo Describe() const;

  enum class Result { kDone, kAborted };

  // Writes the answers for the texts into `values`, one after the other. Together the texts must have at most n_batch()
  // tokens, or there is one text with at most n_context() tokens. Throws std::runtime_error when the computation fails.
  Result Encode(std::span<const Text> texts, std::vector<float>& values, const std::atomic<bool>& is_aborted);

 private:
  void MakeContext(const EmbeddingOptions& options, bool is_whole, ggml_abort_callback abort, void* abort_data);
  // Returns what llama.cpp returns.
  int32_t Compute();

  const Model& model_;
  const enum llama_pooling_type pooling_;
  const int32_t n_context_;
  size_t n_values_ = 0;
  int32_t n_batch_ = 0;
  size_t n_texts_ = 0;
  std::unique_ptr<Batch> batch_;
  std::unique_ptr<compute::ProcessorThreads> threads_;
  std::unique_ptr<llama_context, Deleter<llama_free>> context_;
};

}  // namespace aana::llama
