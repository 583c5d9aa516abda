#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace aana {

// The tokens of a Whisper model: those of text, then `end` and the other control tokens, then the times of a window in
// steps of 20 ms.
struct Vocabulary {
  std::vector<std::string> texts;  // of all tokens; a token may have a part of a character
  int32_t end = 0;
  int32_t start = 0;
  int32_t first_language = 0;  // the others follow it
  int32_t n_languages = 0;     // 0: the model knows only English
  int32_t translate = 0;
  int32_t transcribe = 0;
  int32_t previous = 0;
  int32_t no_speech = 0;
  int32_t no_timestamps = 0;
  int32_t first_time = 0;

  int32_t size() const { return static_cast<int32_t>(texts.size()); }
  bool IsText(int32_t token) const { return token < end; }
  bool IsTime(int32_t token) const { return token >= first_time; }
};

// Seconds between two tokens of time.
inline constexpr double kTimeStep = 0.02;

// A token of a text, with its log-probability among all tokens that the rules allowed.
struct Token {
  int32_t id;
  float log_probability;
};

}  // namespace aana
