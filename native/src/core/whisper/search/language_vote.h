#pragma once

#include <cstddef>
#include <vector>

#include "core/whisper/types.h"

namespace aana {

// Decides the language of an audio by the languages of its first parts, as faster-whisper does: the first part that is
// sure of its language decides. If none is, the language that is the likeliest one in most parts counts; of several
// such languages that of the earliest part.
class LanguageVote {
 public:
  // A part is sure above a probability of `threshold`. At most `n_parts` parts vote, at least 1.
  LanguageVote(int n_parts, double threshold);

  // Takes the languages of the next part, the likeliest first; not empty.
  void Add(std::vector<Language> languages);
  // There are no further parts.
  void Close();

  // The number of parts that voted.
  size_t n_parts() const { return parts_.size(); }
  // The languages of the part that decided, the likeliest first; of those that agree the part that is the surest. Empty
  // until it is decided.
  const std::vector<Language>& languages() const { return decided_; }

 private:
  const size_t most_parts_;
  const double threshold_;
  std::vector<std::vector<Language>> parts_;
  std::vector<Language> decided_;
};

}  // namespace aana
