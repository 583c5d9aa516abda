#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/llama/sampling/params.h"

namespace aana::llama {

// A token that may be chosen next.
struct Candidate {
  TokenId token = 0;
  float logit = 0.0F;
  float p = 0.0F;      // as of the last Softmax
  float score = 0.0F;  // a stage's own order
};

// The likeliest first; of equals the token with the smaller number.
inline bool IsLikelier(const Candidate& a, const Candidate& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
}

// Some of the vocabulary's tokens, each once; never empty.
struct Candidates {
  std::vector<Candidate> items;
  bool is_sorted = false;  // by IsLikelier

  void Sort();
  float LargestLogit() const;
};

struct Largest {
  TokenId token = 0;
  float logit = 0.0F;
};

// The largest of the logits, the first one of equals, in one pass. Throws SamplingError (fault kDeployment) where a
// logit is NaN or plus infinity.
Largest FindLargest(std::span<const float> logits);

// The selections below take tokens from a whole vocabulary, in one pass or a few, without sorting it. Tokens with a
// logit of minus infinity, which cannot be chosen, are left out.

// The `k` likeliest, sorted.
void SelectTop(std::span<const float> logits, size_t k, Candidates& candidates);
// The fewest likeliest that have the probability `top_p` together.
void SelectTopP(std::span<const float> logits, Largest largest, float top_p, Candidates& candidates);
// Tokens at least `min_p` times as likely as the likeliest, in the vocabulary's order.
void SelectMinP(std::span<const float> logits, Largest largest, float min_p, Candidates& candidates);
// All tokens, in the vocabulary's order.
void SelectAll(std::span<const float> logits, Candidates& candidates);

// Sets the probabilities: exp(logit / temperature), over the sum of all candidates.
void Softmax(Candidates& candidates, float temperature = 1.0F);

using CandidateOrder = bool (*)(const Candidate& a, const Candidate& b);
// Keeps the fewest of the first in `order` whose probabilities reach `p` together. Sorts them when they are not many;
// returns whether it did.
bool KeepFirst(std::vector<Candidate>& items, double p, CandidateOrder order);

}  // namespace aana::llama
