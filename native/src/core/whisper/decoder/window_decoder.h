#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/whisper/decoder/decoder.h"
#include "core/whisper/search/logit_rules.h"
#include "core/whisper/search/prompt.h"
#include "core/whisper/search/search.h"
#include "core/whisper/search/vocabulary.h"

namespace aana {

// How a window is decoded.
struct DecodingTask {
  Prompt prompt;
  LogitOptions logits;
  SearchOptions search;  // without a temperature
  std::vector<float> temperatures;
  double log_prob_threshold = -1;
  double no_speech_threshold = 0.6;
  double compression_ratio_threshold = 2.4;
};

// The text of a window.
struct DecodedText {
  std::vector<Token> tokens;
  double average_log_probability = 0;
  double compression_ratio = 0;
  double no_speech_probability = 0;
  float temperature = 0;
  bool is_speech = true;  // false: the model holds that nobody speaks, and the text is unlikely
};

// Decodes one window in steps: the prompt, then one token of each hypothesis at a time, and again with the next
// temperature while the text is unlikely. Sees tokens and logits only; a Decoder computes its rows together with those
// of other windows.
class WindowDecoder {
 public:
  // `vocabulary`, `cells` and `audio` must outlive this. Throws std::invalid_argument for a token that is not in the
  // vocabulary.
  WindowDecoder(const Vocabulary& vocabulary, Cells& cells, const AudioKeys& audio, DecodingTask task);

  // Adds the rows of the next step. They refer to this until Advance.
  void AddRows(std::vector<DecoderRow>& rows);
  // Takes the logits of the added rows that want them, and changes them.
  void Advance(std::span<float> logits);

  // The text, once it is found.
  const std::optional<DecodedText>& text() const { return text_; }

 private:
  void ReadPrompt(std::span<float> logits);
  void BeginSearch();
  void Continue(std::span<float> logits);
  void EndSearch();
  void Choose();

  const Vocabulary& vocabulary_;
  const AudioKeys& audio_;
  const DecodingTask task_;
  const LogitRules rules_;

  CellList prompt_cells_;
  double no_speech_probability_ = 0;
  std::vector<float> first_logits_;  // of the token after the prompt, for further temperatures

  size_t temperature_ = 0;  // index
  std::optional<Search> search_;
  std::vector<CellList> cells_;  // of the rows of the next step
  std::vector<int32_t> tokens_;  // the same
  std::vector<DecodedText> attempts_;
  std::optional<DecodedText> text_;
};

}  // namespace aana
