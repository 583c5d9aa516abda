#pragma once

#include <chrono>
#include <vector>

#include "core/llama/loop/decode_loop.h"

namespace aana::test {

// A decode loop with a fake model, which makes a step when it is told to.
class LoopHarness {
 public:
  explicit LoopHarness(const llama::LoadOptions& options);

  void Submit(llama::ReadRequest request) { inbox_.Post(std::move(request)); }
  void Post(llama::Command command) { inbox_.Post(std::move(command)); }
  // Returns the events of one turn. `is_read` says whether their readers take the texts at once.
  std::vector<llama::Event> Turn(bool is_read = true);
  // Returns all events until no request is left.
  std::vector<llama::Event> TurnUntilIdle();
  llama::Counts counts() const { return counters_.Read(); }

 private:
  llama::LoadOptions options_;
  llama::Model model_;
  llama::Context context_;
  llama::Adapters adapters_;
  llama::Inbox inbox_;
  llama::Outbox outbox_{[] {}};
  llama::Counters counters_;
  llama::DecodeLoop loop_;
};

// A request for `max_tokens` greedy tokens after `prompt`.
llama::ReadRequest GreedyRequest(llama::RequestId id, std::vector<llama_token> prompt, int32_t max_tokens);

}  // namespace aana::test
