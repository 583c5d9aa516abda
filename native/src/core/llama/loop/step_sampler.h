#pragma once

#include <llama.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/compute/device/work_team.h"
#include "core/llama/event.h"
#include "core/llama/loop/thread_choice.h"
#include "core/llama/model/model.h"
#include "core/llama/sampling/sampler.h"
#include "core/llama/schedule/sequence.h"

namespace aana::llama {

// A sequence that needs its next token.
struct SampleJob {
  Sequence* sequence = nullptr;
  std::vector<llama_token> draft = {};        // guessed to follow its last token
  std::vector<std::span<float>> logits = {};  // of its last token, and of each guessed one
};

struct Sampled {
  std::vector<TextEvent> texts;
  size_t n_accepted = 0;  // guessed tokens that came true
  std::optional<FinishReason> finished;
  std::exception_ptr error;  // no further token could be chosen
};

// Chooses the next tokens of the sequences of a step, on several threads where that takes less time. A sequence is the
// work of one thread, and each has memory of its own, so the tokens do not depend on the number of threads.
class StepSampler {
 public:
  // `model` must outlive this. At most `n_threads` threads, the calling one among them, each with work of at least
  // `least_work`.
  StepSampler(const Model& model, int32_t n_context, int32_t n_threads, std::chrono::microseconds least_work);

  // The results have the order of the jobs.
  std::vector<Sampled> Run(std::span<SampleJob> jobs);
  // Memory of the calling thread, between two runs.
  SamplingMemory& memory() { return memories_.front(); }

 private:
  struct Step;

  Sampled Sample(SampleJob& job, SamplingMemory& memory) const;
  // Samples for jobs that no other part takes, one after another.
  void TakeJobs(Step& step, size_t part);

  const Model& model_;
  const int32_t n_context_;
  const size_t n_most_;
  ThreadChoice choice_;
  std::vector<SamplingMemory> memories_;     // of each part of a step
  std::unique_ptr<compute::WorkTeam> team_;  // made when it is needed first; it uses the memories
};

}  // namespace aana::llama
