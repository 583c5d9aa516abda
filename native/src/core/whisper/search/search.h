#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "core/whisper/search/logit_rules.h"
#include "core/whisper/search/vocabulary.h"

namespace aana {

struct SearchOptions {
  int beam_size = 1;  // hypotheses that go on at a time, at temperature 0
  int best_of = 1;    // texts that are sampled, above temperature 0
  float temperature = 0;
  float patience = 1;        // the search ends when so many times `beam_size` hypotheses have ended
  float length_penalty = 1;  // the log-probability of a hypothesis is divided by its length to this power
  int max_tokens = 224;
  uint32_t seed = 0;
};

struct Hypothesis {
  std::vector<Token> tokens;   // without the end
  double log_probability = 0;  // of all tokens, and of the end if it has come
  bool has_ended = false;
};

// A row of the next step: a token after the text of a row of this step.
struct Continuation {
  int parent;
  int32_t token;
};

// Chooses the tokens of a text: the likeliest one at a time, with beams, or by chance. It sees logits only, one row for
// each hypothesis that goes on; at first one row, for the token after the prompt.
class Search {
 public:
  // `begun` is text that the prompt ends with and that the rules count to the text. `vocabulary` and `rules` must
  // outlive the search.
  Search(const Vocabulary& vocabulary, const LogitRules& rules, SearchOptions options, std::vector<int32_t> begun = {});

  // Takes the logits of each row, one after another, and changes them. Returns the rows of the next step, in any order
  // of their parents; none when the search has ended. Valid until the next call.
  const std::vector<Continuation>& Advance(std::span<float> logits);

  // The hypothesis with the highest score. Call it when the search has ended.
  Hypothesis Best() const;

 private:
  struct Candidate {
    int row;
    int32_t token;
    float log_probability;
    double sum;
  };

  void Filter(std::span<float> logits, int row) const;
  std::vector<Candidate> LikeliestOf(std::span<const float> logits, int row, size_t n) const;
  void AdvanceBeams(std::span<float> logits);
  void AdvanceSamples(std::span<float> logits);
  Candidate SampleFrom(std::span<const float> logits, int row);
  void Take(const std::vector<Candidate>& chosen);
  double ScoreOf(const Hypothesis& hypothesis) const;
  int size() const { return vocabulary_.size(); }

  const Vocabulary& vocabulary_;
  const LogitRules& rules_;
  const SearchOptions options_;
  const std::vector<int32_t> begun_;
  std::vector<Hypothesis> running_{Hypothesis{}};
  std::vector<Hypothesis> ended_;
  std::vector<Continuation> next_;
  std::mt19937 random_;
  int n_tokens_ = 0;
};

}  // namespace aana
