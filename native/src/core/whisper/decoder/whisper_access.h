#pragma once

#include <ggml-backend.h>
#include <ggml.h>

#include <memory>
#include <span>
#include <vector>

#include "core/deleter.h"

struct whisper_context;
struct whisper_state;

// What our spectrogram and our decoder need of whisper.cpp beyond its interface. native/cmake/whisper.cmake appends the
// functions to whisper.cpp's source.
namespace aana {

// A matrix, or the factors of a normalisation, and what is added after it. `bias` may be null.
struct Linear {
  ggml_tensor* weights;
  ggml_tensor* bias;
};

struct DecoderLayer {
  Linear self_norm, self_q, self_k, self_v, self_out;
  Linear cross_norm, cross_q, cross_out;
  Linear mlp_norm, mlp_in, mlp_out;
};

// The weights of a model's decoder. They belong to the context.
struct DecoderWeights {
  int vocabulary_size;
  int text_positions;
  int n_values;
  int n_heads;
  float epsilon;
  ggml_tensor* tokens;
  ggml_tensor* positions;
  Linear norm;
  std::vector<DecoderLayer> layers;
};
DecoderWeights WeightsOf(whisper_context* context);

// The filters of a Spectrogram. They belong to the context.
std::span<const float> SpectrogramFiltersOf(const whisper_context* context);

// A head of the decoder whose attention follows the speech.
struct AlignmentHead {
  int layer;
  int head;
};
// `preset` is a whisper_alignment_heads_preset. Returns none for WHISPER_AHEADS_NONE.
std::vector<AlignmentHead> AlignmentHeadsOf(int preset);

// Returns new backends for graphs with the model, the fastest first and the processor last. The caller frees them.
std::vector<ggml_backend_t> NewBackends(whisper_context* context);

// The keys and values of one window of audio for all layers of the decoder, one layer after another, as
// compute::HeadsOf says, where positions are padded to a multiple of 256.
struct EncodedAudio;
// Returns what the state was made with, once, because no state keeps encoded audio; then new memory. Returns null
// without memory.
EncodedAudio* NewEncodedAudio(whisper_context* context, whisper_state* state);
void FreeEncodedAudio(EncodedAudio* audio);
// Exchanges the memory into which `state` encodes with `audio`.
void SwapEncodedAudio(whisper_state* state, EncodedAudio* audio);
// Makes `state` encode so many positions of 20 ms from now on.
void SetAudioPositions(whisper_state* state, int n_positions);
ggml_tensor* KeysOf(const EncodedAudio* audio);
ggml_tensor* ValuesOf(const EncodedAudio* audio);

using EncodedAudioPtr = std::unique_ptr<EncodedAudio, Deleter<FreeEncodedAudio>>;

}  // namespace aana
