#pragma once

#include <cstdint>
#include <optional>
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
  std::string device;      // name of the GPU as in ListDevices; empty: the first GPU that the process sees
  int threads = 1;         // of one computation
  int max_states = 1;      // number of computations at the same time: each encodes a window, or decodes its windows
  int batch_size = 8;      // number of windows that one computation decodes together
  std::string model_size;  // selects the alignment heads; empty: derived from the model
};

// A region of speech in samples; the end is exclusive.
struct SpeechRegion {
  int64_t begin;
  int64_t end;
};

// How regions of speech are found and cut. Lengths are in samples.
struct SpeechRules {
  float threshold = 0.5F;                // speech begins at this probability
  float neg_threshold = 0.35F;           // it continues until the probability stays below this for `min_silence`
  int64_t min_speech = kSampleRate / 4;  // shorter regions are left out
  int64_t min_silence = kSampleRate / 10;
  int64_t pad = kSampleRate / 5;  // added on each side of a region, so that soft beginnings and endings are not lost
  int64_t max_speech = 30 * kSampleRate;  // longer regions are cut
  int64_t max_window = 30 * kSampleRate;  // longest window; at most 30 s, which is the input of the model
};

// Names and meanings are those of faster-whisper.
struct WhisperParams {
  std::string language = "auto";
  bool translate = false;      // into English
  std::string initial_prompt;  // text before each window, such as names that come up
  std::string prefix;          // text that the first window begins with
  std::string hotwords;        // words that are likely; before each window without a prefix
  bool condition_on_previous_text =
      false;  // whether the text of a window is the prompt of the next one, which then waits for it
  float prompt_reset_on_temperature = 0.5F;  // a text of a higher temperature is no such prompt
  int beam_size = 5;
  float patience = 1.0F;
  int best_of = 5;
  // Tried in turn while a window's text is unlikely. Not empty.
  std::vector<float> temperatures{0.0F};
  // A text is unlikely when the mean log-probability of its tokens is below this, unless the window has no speech by
  // `no_speech_threshold`; or when it repeats itself, so that its compressed form is more than
  // `compression_ratio_threshold` times as short.
  float log_prob_threshold = -1.0F;
  float no_speech_threshold = 0.6F;
  float compression_ratio_threshold = 2.4F;
  float length_penalty = 1.0F;  // the log-probability of a text is divided by its length to this power
  float repetition_penalty = 1.0F;
  int no_repeat_ngram_size = 0;
  bool suppress_blank = true;
  std::vector<int32_t> suppress_tokens{-1};  // never chosen; -1: signs that are not spoken
  float max_initial_timestamp = 1.0F;        // seconds
  // Frames of 20 ms that the encoder computes, at most 1500; 0: all 1500. The audio must fit. Fewer take less time.
  int audio_context = 0;
  int max_new_tokens = 0;  // of a window; 0: as many as the model can write
  bool without_timestamps = false;
  bool word_timestamps = false;
  // Seconds of silence around text that is probably invented, which is then left out. Needs `word_timestamps`.
  std::optional<double> hallucination_silence_threshold;
  bool logprobs = false;  // whether segments have their tokens
  std::string prepend_punctuations = "\"'“¿([{-";
  std::string append_punctuations = "\"'.。,，!！?？:：”)]}、";
  bool vad = true;
  SpeechRules speech = {};
  // The parts to transcribe, instead of those with voice activity.
  std::optional<std::vector<SpeechRegion>> clips;
  bool multilingual = false;  // finds the language of each window, not of the first one only
  // The language is that of the first window that is surer of it than the threshold, of at most so many windows. If
  // none is, most windows decide.
  float language_detection_threshold = 0.5F;
  int language_detection_segments = 1;
  bool all_language_probs = false;  // whether the result has the probabilities of all languages
  int max_windows = 0;              // that are transcribed at the same time; 0: no limit
};

// Times are in seconds from the start of the media.
struct WhisperWord {
  std::string word;  // with its leading space
  double start;
  double end;
  double probability;
};

struct Language {
  std::string code;
  double probability;
};

// A token of a text, with the logarithm of its probability among all tokens that could follow.
struct WhisperToken {
  int32_t id;
  std::string bytes;  // may be a part of a character
  double log_probability;
};

struct WhisperSegment {
  std::string text;  // with its leading space
  double start;
  double end;
  double average_log_probability;
  double no_speech_probability;
  std::vector<WhisperWord> words;
  std::vector<WhisperToken> tokens = {};  // if they were asked for
  // Of its window, if each window has its own. Otherwise empty.
  std::string language = {};
  double language_probability = 0;
};

struct WhisperResult {
  std::vector<WhisperSegment> segments;
  std::string language;  // empty without speech
  double language_probability = 0;
  std::vector<Language> languages = {};  // the likeliest first, if they were asked for and the language was detected
};

// A failure of whisper.cpp, with a message for the caller.
class WhisperError : public std::runtime_error {
 public:
  explicit WhisperError(const std::string& message, Fault fault = Fault::kDeployment)
      : std::runtime_error(message), fault_(fault) {}
  Fault fault() const { return fault_; }

 private:
  Fault fault_;
};

}  // namespace aana
