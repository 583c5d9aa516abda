#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace aana::llama {

// What the scheduler needs to know of a sequence.
struct Demand {
  size_t slot = 0;
  uint64_t number = 0;  // sequences are numbered as they arrive
  // Prompt tokens that are not decoded yet; 0: the sequence decodes its completion.
  int32_t n_prompt_left = 0;
  // Its reader is too far behind.
  bool paused = false;
  // Most tokens of the prompt that a step may have.
  int32_t n_most = INT32_MAX;
};

// Tokens of one sequence in the next batch.
struct Share {
  size_t slot = 0;
  int32_t n_tokens = 0;
  bool is_idle = false;  // one token that is forgotten after the step; see gaps.h
};

// Decides which sequences run in a step: one token for every sequence that decodes and is not paused, and a bounded
// number of prompt tokens. These go to the prompt with the fewest tokens left, because that gives the least mean time
// to the first token and the fewest passes over the weights (shortest remaining processing time first). In every fourth
// step they go to the oldest prompt, so a long one is not starved. Beside sequences that decode, a slow machine takes
// fewer tokens of a long prompt: as many as keep a step short.
class Scheduler {
 public:
  explicit Scheduler(int32_t n_prefill_per_step) : n_prefill_per_step_(n_prefill_per_step) {}

  std::vector<Share> Plan(std::span<const Demand> demands);

  // How long a step with so many tokens took.
  void NoteStep(int32_t n_tokens, std::chrono::duration<double> elapsed);
  // The time that a prompt of so many tokens takes at least, by the fastest step so far. 0: not known.
  std::chrono::duration<double> LeastTime(int64_t n_tokens) const {
    return std::chrono::duration<double>(least_seconds_per_token_ * static_cast<double>(n_tokens));
  }
  // Prompt tokens that a step may read, so that sequences that decode beside it do not wait for long.
  int32_t PrefillTokens(bool beside_decoding) const;

 private:
  int32_t n_prefill_per_step_;
  double seconds_per_token_ = 0;  // of the last steps with many tokens; 0: not known
  double least_seconds_per_token_ = 0;
  size_t turn_ = 0;  // steps with prompts so far
};

}  // namespace aana::llama
