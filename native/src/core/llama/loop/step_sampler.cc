#include "core/llama/loop/step_sampler.h"

#include <algorithm>
#include <utility>

#include "core/llama/threads/thread_time.h"

namespace aana::llama {

StepSampler::StepSampler(const Model& model, int32_t n_context, int32_t n_threads, std::chrono::microseconds least_work)
    : model_(model),
      n_context_(n_context),
      n_most_(static_cast<size_t>(std::max(n_threads, 1))),
      choice_(n_most_, least_work),
      memories_(1) {}

std::vector<Sampled> StepSampler::Run(std::span<SampleJob> jobs) {
  std::vector<Sampled> results(jobs.size());
  const size_t n_threads = choice_.Next(jobs.size());
  const auto started = std::chrono::steady_clock::now();
  ThreadChoice::Seconds work{0};
  if (n_threads == 1) {
    const auto begun = ThreadTime();
    for (size_t i = 0; i < jobs.size(); i++) results[i] = Sample(jobs[i], memories_.front());
    work = ThreadTime() - begun;
  } else {
    if (!team_) {
      memories_.resize(n_most_);
      team_ = std::make_unique<ThreadTeam>(n_most_ - 1);
    }
    std::vector<std::chrono::nanoseconds> times(jobs.size());
    team_->Run(jobs.size(), n_threads - 1, [&](size_t i, size_t thread) {
      const auto begun = ThreadTime();
      results[i] = Sample(jobs[i], memories_[thread]);
      times[i] = ThreadTime() - begun;
    });
    for (const auto time : times) work += time;
  }
  choice_.Learn(n_threads, jobs.size(), work, std::chrono::steady_clock::now() - started);
  return results;
}

Sampled StepSampler::Sample(SampleJob& job, SamplingMemory& memory) const {
  Sampled result;
  try {
    for (;; result.n_accepted++) {
      auto [text, finished] = job.sequence->Sample(job.logits[result.n_accepted], memory, model_, n_context_);
      if (text) result.texts.push_back(std::move(*text));
      result.finished = finished;
      const bool goes_on = !finished && result.n_accepted < job.draft.size() &&
                           job.sequence->next_token() == job.draft[result.n_accepted];
      if (!goes_on) return result;
    }
  } catch (...) {
    result.error = std::current_exception();
    return result;
  }
}

}  // namespace aana::llama
