#pragma once

#include <ggml-backend.h>
#include <ggml.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/deleter.h"
#include "core/whisper/decoder/cells.h"
#include "core/whisper/decoder/whisper_access.h"

namespace aana {

// A window of audio that rows attend to.
struct AudioKeys {
  const EncodedAudio* audio;
  int n_positions;
};

// A token whose place in the text is to be computed.
struct DecoderRow {
  int32_t token;
  const AudioKeys* audio;
  // The cells of the text up to this token, which the row reads. Its own is the last one, which the row writes. Their
  // number is the position of the token.
  std::span<const int32_t> cells;
  bool wants_logits;
};

// Whisper's decoder: computes many rows at once, of texts of many windows, and keeps the keys and values of their
// tokens in a cache that grows when it has to. Where our kernels compute, a row's logits do not depend on the other
// rows. One thread at a time.
class Decoder {
 public:
  // Throws WhisperError without memory. `context` must outlive the decoder.
  explicit Decoder(whisper_context* context);
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  Cells& cells() { return cells_; }

  // Computes the rows. Rows of the same audio follow one another. Returns one logit for each token of the vocabulary,
  // for each row that wants them, one row after another; valid until the next call, and may be changed until then.
  // Throws WhisperError.
  std::span<float> Compute(std::span<const DecoderRow> rows, int threads);

  // Computes rows of one audio and returns how much each head attends from each row to each of the first `n_frames`
  // positions of the audio: scores before the softmax, in the order [head][row][position]. Throws WhisperError.
  std::vector<float> ComputeAlignment(std::span<const DecoderRow> rows, std::span<const AlignmentHead> heads,
                                      int n_frames, int threads);

  const DecoderWeights& weights() const { return weights_; }

 private:
  struct Plan;

  void Reserve(size_t n_cells);
  ggml_cgraph* Build(ggml_context* context, Plan& plan) const;
  ggml_tensor* SelfAttention(ggml_context* context, ggml_cgraph* graph, size_t layer, ggml_tensor* x, Plan& plan) const;
  ggml_tensor* AttendToAudio(ggml_context* context, ggml_cgraph* graph, size_t layer, ggml_tensor* x, Plan& plan) const;
  void Run(Plan& plan, int threads);
  int max_nodes() const;

  struct BackendDeleter {
    void operator()(ggml_backend_t backend) const noexcept { ggml_backend_free(backend); }
  };

  const DecoderWeights weights_;
  // Destroyed in reverse order: the scheduler before its backends.
  std::vector<std::unique_ptr<ggml_backend, BackendDeleter>> backends_;
  std::unique_ptr<ggml_backend_sched, Deleter<ggml_backend_sched_free>> scheduler_;
  std::vector<uint8_t> graph_memory_;

  std::unique_ptr<ggml_context, Deleter<ggml_free>> cache_context_;
  std::unique_ptr<ggml_backend_buffer, Deleter<ggml_backend_buffer_free>> cache_buffer_;
  std::vector<ggml_tensor*> keys_;  // of each layer: [values, cells] of halves
  std::vector<ggml_tensor*> values_;
  size_t capacity_ = 0;

  Cells cells_;
  std::vector<float> logits_;  // only those that a GPU computed
};

}  // namespace aana
