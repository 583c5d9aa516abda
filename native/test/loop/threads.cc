// The tokens of a step are chosen on several threads.
#include <limits>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "../events/fake_llama.h"
#include "../check.h"
#include "core/llama/grammar/grammar.h"
#include "core/llama/grammar/matcher.h"
#include "harness.h"
#include "tests.h"

namespace aana::test {
namespace {

using namespace llama;

constexpr int32_t kSequences = 8;

LoadOptions OptionsWith(int32_t n_threads) {
  LoadOptions options;
  options.n_context = 96;
  options.n_sequences = kSequences;
  options.n_threads = n_threads;
  options.n_drafted = 4;
  options.least_sampling_work = std::chrono::microseconds(0);
  return options;
}

std::string Text(const std::vector<ScoredToken>& tokens) {
  std::string text;
  for (const auto& token : tokens) text += " " + std::to_string(token.token) + "/" + std::to_string(token.logprob);
  return text;
}

std::string Text(const Event& event) {
  std::string text = std::to_string(event.id) + ": ";
  if (const auto* told = std::get_if<TextEvent>(&event.what)) {
    text += told->text;
    for (const auto& scores : told->scores) text += " chosen" + Text({scores.chosen}) + " of" + Text(scores.top);
  } else if (const auto* end = std::get_if<EndEvent>(&event.what)) {
    text += "end " + std::to_string(static_cast<int>(end->reason)) + " " + std::to_string(end->n_completion);
  } else {
    text += std::get<ErrorEvent>(event.what).message;
  }
  return text;
}

std::string Text(const std::vector<Event>& events) {
  std::string text;
  for (const auto& event : events) text += Text(event) + "\n";
  return text;
}

// A grammar that all requests of a test share.
struct SharedGrammar {
  SharedGrammar() {
    std::vector<std::string> pieces;
    for (llama_token token = 0; token < fake::kTokens; token++) pieces.emplace_back(1, static_cast<char>('0' + token));
    trie = std::make_shared<const TokenTrie>(std::move(pieces));
  }
  std::shared_ptr<const TokenTrie> trie;
  std::shared_ptr<const Grammar> grammar = std::make_shared<const Grammar>(
      "root ::= (([1-9] [A-O])+ | [1-9]+ \"A\")*", "root", [](const std::string&) { return std::nullopt; });
};

std::vector<ReadRequest> ManyRequests() {
  const SharedGrammar shared;
  std::vector<ReadRequest> requests;
  for (RequestId id = 1; id <= 40; id++) {
    auto request = GreedyRequest(id, {static_cast<llama_token>(1 + id % 30), static_cast<llama_token>(1 + id % 7)},
                                 static_cast<int32_t>(5 + id % 40));
    auto& sampling = request.sampling;
    sampling.seed = static_cast<uint32_t>(id);
    if (id % 2 == 0) sampling.temperature = 3.0F;
    if (id % 4 == 0) sampling.top_p = 0.9F;
    if (id % 3 == 0) sampling.n_logprobs = 2;
    if (id % 5 == 0)
      request.rules.grammar.emplace(shared.grammar,
                                    GrammarMatcher::Tokens{.trie = shared.trie, .ends = {fake::kEnd}, .visible = {}},
                                    std::vector<std::string>());
    requests.push_back(std::move(request));
  }
  return requests;
}

std::string TextWith(int32_t n_threads, std::vector<ReadRequest> requests) {
  fake::Set({});
  LoopHarness harness(OptionsWith(n_threads));
  for (auto& request : requests) harness.Submit(std::move(request));
  return Text(harness.TurnUntilIdle());
}

}  // namespace

void TestThreads() {
  Test("the events of requests are the same with several threads as with one, and have the same order", [] {
    const auto expected = TextWith(1, ManyRequests());
    Expect(fake::NThreads() == 1, "one thread was asked for");
    // While other programs keep the processors busy, the first thread can do all of a round.
    for (int round = 0; round < 20 || (round < 2000 && fake::NThreads() == 1); round++)
      ExpectSame(TextWith(4, ManyRequests()), expected);
    Expect(fake::NThreads() > 1, "no other thread was used");
  });
  Test("a sequence for which no token can be chosen ends alone", [] {
    const auto run = [](int32_t n_threads) {
      std::vector<ReadRequest> requests;
      for (RequestId id = 1; id <= kSequences; id++)
        requests.push_back(GreedyRequest(id, {static_cast<llama_token>(id)}, 20));
      requests[2].sampling.logit_bias = {{5, std::numeric_limits<float>::quiet_NaN()}};
      for (llama_token token = 0; token < fake::kTokens; token++) requests[5].rules.never.push_back(token);
      return TextWith(n_threads, std::move(requests));
    };
    const auto text = run(4);
    ExpectSame(text, run(1));
    Expect(text.find("3: the model computed a logit that is not a number\n") != std::string::npos,
           "the third goes on in " + text);
    Expect(text.find("6: bad_words, ignore_eos and min_tokens leave no token to choose\n") != std::string::npos,
           "the sixth goes on in " + text);
    size_t n_ends = 0;
    for (size_t at = text.find(": end "); at != std::string::npos; at = text.find(": end ", at + 1)) n_ends++;
    Expect(n_ends == kSequences - 2, std::to_string(n_ends) + " sequences came to their end");
  });
}

}  // namespace aana::test
