#pragma once

#include <cstddef>
#include <span>

#include "core/llama/sampling/candidates.h"
#include "core/llama/sampling/params.h"

namespace aana::llama {

// Basu et al. 2021, "Mirostat": truncates so that the surprise of the chosen tokens stays near `tau` bits.
class Mirostat {
 public:
  explicit Mirostat(const MirostatParams& params) : params_(params), mu_(2.0F * params.tau) {}

  // Candidates of the next token, sorted, with their probabilities at `temperature`.
  void Select(std::span<const float> logits, Largest largest, float temperature, Candidates& candidates) const;
  // Learns from the probability of the chosen candidate.
  void Learn(float p);

 private:
  // Version 1 estimates how many tokens to keep from how fast the probabilities fall.
  size_t CountToKeep(const Candidates& candidates, float temperature, size_t n_vocab) const;

  MirostatParams params_;
  float mu_;  // bits
};

}  // namespace aana::llama
