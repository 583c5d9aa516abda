#include "harness.h"

#include <chrono>
#include <utility>
#include <variant>

#include "../events/fake_llama.h"

// Takes the place of the library's clock.
std::chrono::steady_clock::time_point std::chrono::steady_clock::now() noexcept {
  return time_point(aana::fake::now.load());
}

namespace aana::test {

using namespace llama;

LoopHarness::LoopHarness(const LoadOptions& options)
    : options_(options),
      model_(options_, {}),
      context_(model_, options_, nullptr, nullptr),
      adapters_(model_, {}),
      loop_(model_, context_, adapters_, nullptr, nullptr, options_, inbox_, outbox_, counters_) {}

std::vector<Event> LoopHarness::Turn(bool is_read) {
  loop_.Turn(false);
  auto events = outbox_.Take().events;
  for (const auto& event : events) {
    if (is_read && std::holds_alternative<TextEvent>(event.what)) inbox_.Post(Acknowledge{event.id, 1});
  }
  return events;
}

std::vector<Event> LoopHarness::TurnUntilIdle() {
  std::vector<Event> all;
  do {
    for (auto& event : Turn()) all.push_back(std::move(event));
  } while (counters_.Read().n_running + counters_.Read().n_waiting > 0);
  return all;
}

ReadRequest GreedyRequest(RequestId id, std::vector<llama_token> prompt, int32_t max_tokens) {
  ReadRequest request{.id = id,
                      .tokens = std::move(prompt),
                      .sampling = {},
                      .rules = {},
                      .shown_tokens = {},
                      .terms = {},
                      .adapter = {},
                      .arrived_at = {}};
  request.arrived_at = std::chrono::steady_clock::now();
  request.sampling.temperature = 0;
  request.sampling.max_tokens = max_tokens;
  return request;
}

}  // namespace aana::test
