#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/request_terms.h"

namespace aana {

constexpr int kSampleRate = 16000;

struct WhisperOptions {
  std::string model_path;
  std::string vad_model_path;
  bool use_gpu = false;
  std::string device;  // name of the GPU as in ListDevices; empty: the first GPU that the process sees
  int threads = 1;     // of one transcription
  int max_states = 1;  // number of windows transcribed at the same time
  std::string model_size;  // selects the alignment heads; empty: derived from the model
};

struct WhisperParams {
  std::string language = "auto";
  int beam_size = 1;
  int best_of = 1;
  std::vector<float> temperatures{0.0F};  // in ascending order
  bool without_timestamps = false;
  bool word_timestamps = false;
  bool vad = true;
};

// Times are in seconds from the start of the media.
struct WhisperWord {
  std::string word;  // with its leading space
  double start;
  double end;
  double probability;
};

struct WhisperSegment {
  std::string text;  // with its leading space
  double start;
  double end;
  double average_log_probability;
  double no_speech_probability;
  std::vector<WhisperWord> words;
};

struct WhisperResult {
  std::vector<WhisperSegment> segments;
  std::string language;  // empty without speech
  double language_probability = 0;
};

// A region of speech in samples; the end is exclusive.
struct SpeechRegion {
  int64_t begin;
  int64_t end;
};

// A failure of whisper.cpp, with a message for the caller.
class WhisperError : public std::runtime_error {
 public:
  explicit WhisperError(const std::string& message, Fault fault = Fault::kDeployment) : std::runtime_error(message), fault_(fault) {}
  Fault fault() const { return fault_; }

 private:
  Fault fault_;
};

}  // namespace aana
