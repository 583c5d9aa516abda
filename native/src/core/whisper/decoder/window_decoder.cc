#include "core/whisper/decoder/window_decoder.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/whisper/search/compression.h"

namespace aana {

WindowDecoder::WindowDecoder(const Vocabulary& vocabulary, Cells& cells, const AudioKeys& audio, DecodingTask task)
    : vocabulary_(vocabulary),
      audio_(audio),
      task_(std::move(task)),
      rules_(vocabulary, task_.logits),
      prompt_cells_(cells) {
  for (size_t i = 0; i < task_.prompt.tokens.size(); i++) prompt_cells_.Append();
}

void WindowDecoder::AddRows(std::vector<DecoderRow>& rows) {
  if (search_) {
    for (size_t i = 0; i < tokens_.size(); i++) rows.push_back({tokens_[i], &audio_, cells_[i].all(), true});
    return;
  }
  const auto& tokens = task_.prompt.tokens;
  for (size_t i = 0; i < tokens.size(); i++)
    rows.push_back({tokens[i], &audio_, prompt_cells_.first(i + 1), i == task_.prompt.start || i + 1 == tokens.size()});
}

void WindowDecoder::Advance(std::span<float> logits) {
  RequireNumbers(logits);
  if (!search_)
    ReadPrompt(logits);
  else
    Continue(logits);
  while (!text_ && tokens_.empty()) {
    // The search has ended, or has not begun.
    if (search_) EndSearch();
    if (!text_) BeginSearch();
  }
}

void WindowDecoder::ReadPrompt(std::span<float> logits) {
  const auto size = static_cast<size_t>(vocabulary_.size());
  const auto at_start = logits.first(size);
  no_speech_probability_ =
      std::exp(static_cast<double>(at_start[static_cast<size_t>(vocabulary_.no_speech)] - LogSumExp(at_start)));
  const auto last = logits.last(size);
  first_logits_.assign(last.begin(), last.end());
}

void WindowDecoder::BeginSearch() {
  auto options = task_.search;
  options.temperature = task_.temperatures[temperature_];
  search_.emplace(vocabulary_, rules_, options, task_.prompt.begun);
  cells_.assign(1, prompt_cells_);
  if (temperature_ + 1 == task_.temperatures.size()) {
    Continue(first_logits_);
  } else {
    auto logits = first_logits_;
    Continue(logits);
  }
}

void WindowDecoder::Continue(std::span<float> logits) {
  std::vector<CellList> cells;
  tokens_.clear();
  for (const auto& [parent, token] : search_->Advance(logits)) {
    cells.push_back(cells_[static_cast<size_t>(parent)]);
    cells.back().Append();
    tokens_.push_back(token);
  }
  cells_ = std::move(cells);
}

void WindowDecoder::EndSearch() {
  const auto best = search_->Best();
  DecodedText text;
  text.tokens = best.tokens;
  text.average_log_probability = best.log_probability / static_cast<double>(best.tokens.size() + 1);
  text.no_speech_probability = no_speech_probability_;
  text.temperature = task_.temperatures[temperature_];
  std::string written;
  for (const auto& token : best.tokens) {
    if (vocabulary_.IsText(token.id)) written += vocabulary_.texts[static_cast<size_t>(token.id)];
  }
  text.compression_ratio = CompressionRatio(written);
  const bool is_likely = text.average_log_probability >= task_.log_prob_threshold;
  const bool repeats = text.compression_ratio > task_.compression_ratio_threshold;
  text.is_speech = is_likely || no_speech_probability_ <= task_.no_speech_threshold;
  attempts_.push_back(std::move(text));
  search_.reset();
  temperature_++;
  // A further temperature does not make speech of silence.
  if ((is_likely && !repeats) || !attempts_.back().is_speech)
    text_ = std::move(attempts_.back());
  else if (temperature_ == task_.temperatures.size())
    Choose();
}

// No text was likely enough. The likeliest one stands, of those that do not repeat themselves if there are some.
void WindowDecoder::Choose() {
  const auto rank = [&](const DecodedText& text) {
    return std::pair(text.compression_ratio <= task_.compression_ratio_threshold, text.average_log_probability);
  };
  text_ = *std::ranges::max_element(attempts_, [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
}

}  // namespace aana
