// Random sequences of events to the decode loop of the language model engine: arrivals, cancellations, slow readers, deadlines, guessed tokens, too few
// cells, and decodes that fail or are abandoned. The library below the loop is a fake whose next token follows from the tokens in the cache, so each
// answer has one right text, also when its sequence shares a beginning or is computed again. Time is a number that the events move on.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/llama/loop/decode_loop.h"
#include "core/llama/schedule/fixed_chunks.h"
#include "fake_llama.h"

// Takes the place of the library's clock.
std::chrono::steady_clock::time_point std::chrono::steady_clock::now() noexcept { return time_point(aana::fake::now); }

namespace aana::test {
namespace {

using namespace llama;
using std::chrono::milliseconds;

struct Totals {
  uint64_t n_requests = 0;
  uint64_t n_whole = 0;
  uint64_t n_cancelled = 0;
  uint64_t n_late = 0;
  uint64_t n_slow = 0;
  uint64_t n_failed = 0;
  uint64_t n_preempted = 0;
  uint64_t n_reused = 0;
  uint64_t n_accepted = 0;
  uint64_t n_idle = 0;
  uint64_t n_steps = 0;
  uint64_t n_passes = 0;
};

struct Open {
  std::vector<TokenId> prompt;
  std::vector<TokenId> told;  // of the prompt
  std::string text;
  int32_t max_tokens = 0;
  bool is_reproducible = false;
  bool is_scored = false;
  bool is_cancelled = false;
  bool has_deadline = false;
  bool is_slow = false;
  bool was_slow = false;
  int64_t n_unread = 0;
};

// The events of one engine.
class EventSequence {
 public:
  EventSequence(uint32_t seed, Totals& totals) : random_(seed), totals_(totals) {
    fake::Set({.is_recurrent = OneIn(8), .abandoned = OneIn(3) ? 0.05 : 0, .failing = OneIn(10) ? 0.01 : 0, .seed = seed});
    options_.n_context = 96;
    options_.n_sequences = 1 + UpTo(4);
    options_.n_prefill_per_step = 4 + UpTo(60);
    options_.n_drafted = OneIn(2) ? UpTo(8) : 0;
    options_.n_threads = OneIn(4) ? 3 : 1;
    options_.least_sampling_work = std::chrono::microseconds(0);
    options_.kv_unified = OneIn(4);
    if (OneIn(2)) options_.n_cells = 96 + UpTo(100);
    options_.shares_prefixes_among_tenants = OneIn(2);
    options_.reader_timeout = milliseconds(3000);
    for (auto& beginning : beginnings_) beginning = Tokens(10 + UpTo(50));
  }

  void Run() {
    const Model model(options_, {});
    const Context context(model, options_, nullptr, nullptr);
    Counters counters;
    const Adapters adapters(model, {});
    DecodeLoop loop(model, context, adapters, nullptr, nullptr, options_, inbox_, outbox_, counters);
    const int n_requests = 4 + UpTo(8);
    for (int n_sent = 0; n_sent < n_requests;) {
      if (OneIn(3)) {
        Submit();
        n_sent++;
      }
      if (OneIn(12)) Cancel();
      if (OneIn(10)) ChangeReader();
      Turn(loop);
    }
    constexpr int kMostTurns = 20'000;
    const int n_patience = OneIn(3) ? UpTo(1000) : 0;
    for (int n = 0; !open_.empty(); n++) {
      for (auto& [id, request] : open_) {
        if (!request.is_slow || n >= n_patience) Acknowledge(id, request);
      }
      Turn(loop);
      if (n > kMostTurns) {
        throw std::runtime_error("request " + std::to_string(open_.begin()->first) + " does not end");
      }
    }
    const auto counts = counters.Read();
    totals_.n_preempted += counts.n_preempted;
    totals_.n_reused += counts.n_reused;
    totals_.n_accepted += counts.n_accepted;
    totals_.n_idle += counts.n_idle;
    totals_.n_steps += counts.n_steps;
    totals_.n_passes += counts.n_ubatches;
  }

 private:
  int UpTo(int most) { return static_cast<int>(random_() % static_cast<uint32_t>(most + 1)); }
  bool OneIn(int n) { return UpTo(n - 1) == 0; }

  std::vector<TokenId> Tokens(int n) {
    std::vector<TokenId> tokens(static_cast<size_t>(n));
    for (auto& token : tokens) token = 1 + UpTo(fake::kPlainTokens - 2);
    return tokens;
  }

  void Submit() {
    const RequestId id = ++last_id_;
    auto& request = open_[id];
    request.prompt = OneIn(4) ? Tokens(1 + UpTo(30)) : beginnings_[static_cast<size_t>(UpTo(2))];
    const auto rest = Tokens(UpTo(OneIn(3) ? 25 : 3));
    request.prompt.insert(request.prompt.end(), rest.begin(), rest.end());
    request.max_tokens = 1 + UpTo(OneIn(2) ? 90 : 10);
    request.is_reproducible = OneIn(5) && !options_.kv_unified && options_.n_cells == 0;
    request.is_scored = OneIn(8);
    request.is_slow = request.was_slow = OneIn(6);
    request.has_deadline = OneIn(12);
    ReadRequest read{.id = id, .tokens = request.prompt, .sampling = {}, .rules = {}, .shown_tokens = {}, .terms = {}, .adapter = {}, .arrived_at = {}};
    read.arrived_at = std::chrono::steady_clock::now();
    read.sampling.temperature = 0;
    read.sampling.max_tokens = request.max_tokens;
    read.sampling.is_reproducible = request.is_reproducible;
    if (request.is_scored) read.sampling.n_prompt_logprobs = UpTo(2);
    if (request.is_reproducible) {
      for (TokenId token = fake::kPlainTokens; token < fake::kTokens; token++) read.sampling.logit_bias.push_back({token, 20.0F});
    }
    read.terms.tenant = std::to_string(UpTo(2));
    read.terms.priority = UpTo(4) - 2;
    read.terms.weight = 1 + UpTo(2);
    if (request.has_deadline) read.terms.deadline = std::chrono::steady_clock::now() + milliseconds(UpTo(3000));
    inbox_.Post(std::move(read));
    totals_.n_requests++;
  }

  Open* Any(RequestId& id) {
    if (open_.empty()) return nullptr;
    auto any = open_.begin();
    std::advance(any, UpTo(static_cast<int>(open_.size()) - 1));
    id = any->first;
    return &any->second;
  }

  void Cancel() {
    RequestId id = 0;
    auto* request = Any(id);
    if (!request) return;
    request->is_cancelled = true;
    inbox_.Post(llama::Cancel{id});
  }

  void ChangeReader() {
    RequestId id = 0;
    auto* request = Any(id);
    if (!request) return;
    request->is_slow = !request->is_slow;
    request->was_slow |= request->is_slow;
    if (!request->is_slow) Acknowledge(id, *request);
  }

  void Acknowledge(RequestId id, Open& request) {
    if (request.n_unread > 0) inbox_.Post(llama::Acknowledge{id, std::exchange(request.n_unread, 0)});
  }

  void Turn(DecodeLoop& loop) {
    fake::now += milliseconds(OneIn(40) ? UpTo(1500) : UpTo(20));
    loop.Turn(false);
    for (auto& event : outbox_.Take().events) Take(event);
    if (!fake::FirstMisuse().empty()) throw std::runtime_error("llama.cpp was misused: " + fake::FirstMisuse());
  }

  void Take(const Event& event) {
    const auto found = open_.find(event.id);
    const auto name = "request " + std::to_string(event.id);
    if (found == open_.end()) throw std::runtime_error(name + " has an event after its end");
    auto& request = found->second;
    const auto expect = [&](bool is_true, const std::string& problem) {
      if (!is_true) throw std::runtime_error(name + (request.is_reproducible ? ", reproducible, " : " ") + problem);
    };
    if (const auto* text = std::get_if<TextEvent>(&event.what)) {
      expect(text->prompt.empty() || request.text.empty(), "is told its prompt after its text");
      for (const auto& token : text->prompt) request.told.push_back(token.token.token);
      request.text += text->text;
      request.n_unread++;
      if (!request.is_slow) Acknowledge(event.id, request);
      return;
    }
    const auto expected = Expected(request);
    if (const auto* end = std::get_if<EndEvent>(&event.what)) {
      if (end->reason == FinishReason::kCancelled) {
        expect(request.is_cancelled, "was never cancelled");
        totals_.n_cancelled++;
        expect(expected.starts_with(request.text), "has the text " + request.text + ", not " + expected);
      } else {
        totals_.n_whole++;
        expect(request.text == expected, "has the text " + request.text + ", not " + expected);
        expect(!request.is_scored || request.told == request.prompt, "is not told its prompt");
        expect(end->n_reused < end->n_prompt, "reused its whole prompt");
      }
    } else {
      const auto& error = std::get<ErrorEvent>(event.what);
      expect(expected.starts_with(request.text), "has the text " + request.text + ", not " + expected);
      switch (error.code) {
        case ErrorCode::kDeadlineExceeded:
          expect(request.has_deadline, "has no deadline");
          totals_.n_late++;
          break;
        case ErrorCode::kSlowReader:
          expect(request.was_slow, "has no slow reader");
          totals_.n_slow++;
          break;
        default:
          expect(error.code == ErrorCode::kFailed && fake::NFailures() > 0, "failed: " + error.message);
          totals_.n_failed++;
      }
    }
    open_.erase(found);
  }

  std::string Expected(const Open& request) const {
    const size_t n_prompt = request.prompt.size();
    std::vector<size_t> chunks;
    for (size_t at = 0; at < n_prompt; at += chunks.back()) {
      chunks.push_back(request.is_scored ? FixedChunk(at, n_prompt, Context::kMostScored) : FixedChunk(at, n_prompt));
    }
    const auto n = std::min(static_cast<size_t>(request.max_tokens), static_cast<size_t>(options_.n_context) - n_prompt);
    std::string text;
    for (const auto token : fake::Continue(request.prompt, chunks, n, request.is_reproducible)) text += static_cast<char>('0' + token);
    return text;
  }

  std::mt19937 random_;
  Totals& totals_;
  LoadOptions options_;
  std::vector<TokenId> beginnings_[3];
  Inbox inbox_;
  Outbox outbox_{[] {}};
  std::map<RequestId, Open> open_;
  RequestId last_id_ = 0;
};

}  // namespace
}  // namespace aana::test

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: aana-event-fuzz <sequences of events> <seed>\n");
    return 2;
  }
  const auto first = static_cast<uint32_t>(std::strtoul(argv[2], nullptr, 10));
  const auto n = static_cast<uint32_t>(std::strtoul(argv[1], nullptr, 10));
  aana::test::Totals totals;
  for (uint32_t seed = first; seed < first + n; seed++) {
    try {
      aana::test::EventSequence(seed, totals).Run();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "with seed %u: %s\n", seed, error.what());
      return 1;
    }
  }
  const auto count = [](uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf("%llu requests in %u sequences of events: %llu whole, %llu cancelled, %llu too late, %llu with readers who stayed away, %llu failed with their decode\n",
              count(totals.n_requests), n, count(totals.n_whole), count(totals.n_cancelled), count(totals.n_late), count(totals.n_slow),
              count(totals.n_failed));
  std::printf("%llu steps, %llu passes, %llu interruptions, %llu prompt tokens reused, %llu guesses came true, %llu idle tokens\n", count(totals.n_steps),
              count(totals.n_passes), count(totals.n_preempted), count(totals.n_reused), count(totals.n_accepted), count(totals.n_idle));
  return 0;
}
