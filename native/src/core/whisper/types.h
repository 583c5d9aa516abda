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
  bool translate = false;      // into English
  std::string initial_prompt;  // text before each window, such as names that come up
  int beam_size = 1;
  int best_of = 1;
  // Tried in turn while a window's text is unlikely. Not empty.
  std::vector<float> temperatures{0.0F};
  // A text is unlikely when the mean log-probability of its tokens is below this, unless the window has no speech by the next number.
  float log_prob_threshold = -1.0F;
  float no_speech_threshold = 0.6F;
  // Divides the score of a beam by its length to this power; below 0: by its length.
  float length_penalty = -1.0F;
  float max_initial_timestamp = 1.0F;  // seconds
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
