#pragma once

#include <cstdint>

namespace aana::llama {

// Learns the time of a pass over the weights and of a token from the times of steps, by least squares in which a step
// counts half after about 70 later ones.
class StepCost {
 public:
  void Note(int32_t n_passes, int32_t n_tokens, double seconds);
  // Tokens that take as long as a pass, from 0 to 64. 0: not known.
  double TokensPerPass() const;
  // The mean of TokensPerPass over the last few hundred steps. What tenants are charged must not jump when other
  // programs disturb the times.
  double MeanTokensPerPass() const { return mean_tokens_per_pass_; }

 private:
  double mean_tokens_per_pass_ = 0;
  double passes_passes_ = 0;
  double passes_tokens_ = 0;
  double tokens_tokens_ = 0;
  double passes_seconds_ = 0;
  double tokens_seconds_ = 0;
};

}  // namespace aana::llama
