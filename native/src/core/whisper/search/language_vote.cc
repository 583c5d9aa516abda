#include "core/whisper/search/language_vote.h"

#include <algorithm>
#include <utility>

namespace aana {

LanguageVote::LanguageVote(int n_parts, double threshold)
    : most_parts_(static_cast<size_t>(std::max(1, n_parts))), threshold_(threshold) {}

void LanguageVote::Add(std::vector<Language> languages) {
  parts_.push_back(std::move(languages));
  if (parts_.back().front().probability > threshold_)
    decided_ = parts_.back();
  else if (parts_.size() == most_parts_)
    Close();
}

void LanguageVote::Close() {
  if (!decided_.empty()) return;
  const auto n_votes = [&](const std::string& code) {
    return std::ranges::count_if(parts_, [&](const auto& part) { return part.front().code == code; });
  };
  for (const auto& part : parts_) {
    const auto& [code, probability] = part.front();
    const bool is_better = decided_.empty() || n_votes(code) > n_votes(decided_.front().code) ||
                           (code == decided_.front().code && probability > decided_.front().probability);
    if (is_better) decided_ = part;
  }
}

}  // namespace aana
