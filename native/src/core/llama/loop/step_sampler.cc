#include "core/llama/loop/step_sampler.h"

#include <algorithm>
#include <atomic>
#include <ctime>
#include <utility>

namespace aana::llama {
namespace {

// Returns the time that this thread has computed. It does not grow while other programs have the processor.
std::chrono::nanoseconds ThreadTime() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

struct StepSampler::Step {
  StepSampler& sampler;
  std::span<SampleJob> jobs;
  std::vector<Sampled> results = std::vector<Sampled>(jobs.size());
  std::atomic<size_t> next{0};                         // job that nobody has taken
  std::atomic<std::chrono::nanoseconds::rep> work{0};  // time of all threads
};

StepSampler::StepSampler(const Model& model, int32_t n_context, int32_t n_threads, std::chrono::microseconds least_work)
    : model_(model),
      n_context_(n_context),
      n_most_(static_cast<size_t>(std::max(n_threads, 1))),
      choice_(n_most_, least_work),
      memories_(1) {}

std::vector<Sampled> StepSampler::Run(std::span<SampleJob> jobs) {
  const size_t n_threads = choice_.Next(jobs.size());
  const auto started = std::chrono::steady_clock::now();
  Step step{*this, jobs};
  if (n_threads == 1) {
    TakeJobs(step, 0);
  } else {
    if (!team_) {
      memories_.resize(n_most_);
      team_ = std::make_unique<compute::WorkTeam>(static_cast<int>(n_most_ - 1));
    }
    const auto take = [](void* data, int part, int) {
      auto& its_step = *static_cast<Step*>(data);
      its_step.sampler.TakeJobs(its_step, static_cast<size_t>(part));
    };
    team_->Run(static_cast<int>(n_threads), take, &step);
  }
  choice_.Learn(n_threads, jobs.size(), std::chrono::nanoseconds(step.work),
                std::chrono::steady_clock::now() - started);
  return std::move(step.results);
}

void StepSampler::TakeJobs(Step& step, size_t part) {
  const auto begun = ThreadTime();
  for (size_t i = step.next++; i < step.jobs.size(); i = step.next++)
    step.results[i] = Sample(step.jobs[i], memories_[part]);
  step.work += (ThreadTime() - begun).count();
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
