// Time of choosing the tokens of a step for several sequences, on one thread and on several. Prints JSON.
//   aana-sampling-step-bench [steps] [threads]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/compute/device/work_team.h"
#include "core/llama/grammar/grammar.h"
#include "core/llama/grammar/matcher.h"
#include "core/llama/sampling/sampler.h"

namespace {

using namespace aana::llama;
using Clock = std::chrono::steady_clock;

constexpr size_t kVocabulary = 151'936;
constexpr TokenId kEnd = 0;

struct Case {
  const char* name;
  float temperature;
  float top_p;
  bool has_grammar;
};
constexpr Case kCases[] = {{"greedy", 0.0F, 1.0F, false},
                           {"temperature 0.8, top_p 0.95", 0.8F, 0.95F, false},
                           {"grammar, temperature 0.8, top_p 0.95", 0.8F, 0.95F, true}};

// Words and pieces of words, as a vocabulary has them.
std::shared_ptr<const TokenTrie> MakeTrie() {
  std::mt19937 random(1);
  std::vector<std::string> pieces(kVocabulary);
  for (TokenId token = 1; auto& piece : pieces) {
    if (&piece == pieces.data()) continue;
    if (token < 256)
      piece = std::string(1, static_cast<char>(token));
    else if (token % 3 == 0)
      piece = " ";
    for (size_t n = token < 256 ? 0 : 1 + random() % 7; n > 0; n--) piece += static_cast<char>('a' + random() % 26);
    token++;
  }
  return std::make_shared<const TokenTrie>(std::move(pieces));
}

// A sequence with logits of its own.
struct Answer {
  Sampler sampler;
  std::vector<float> fresh;
  std::vector<float> logits;
  std::vector<TokenId> history;
};

double Median(std::vector<double> numbers) {
  std::ranges::nth_element(numbers, numbers.begin() + std::ssize(numbers) / 2);
  return numbers[numbers.size() / 2];
}

class Bench {
 public:
  Bench(int n_steps, int n_threads)
      : n_steps_(n_steps), team_(n_threads - 1), memories_(static_cast<size_t>(n_threads)) {}

  void Measure(const Case& one, size_t n_sequences, bool is_last) {
    std::vector<Answer> answers;
    std::mt19937 random(7);
    for (size_t i = 0; i < n_sequences; i++) answers.push_back(MakeAnswer(one, static_cast<uint32_t>(i), random));
    std::vector<double> alone;
    std::vector<double> together;
    for (int step = 0; step < n_steps_; step++) {
      for (int turn = 0; turn < 2; turn++) {
        // Each goes first in every second step.
        const bool is_alone = (step + turn) % 2 == 0;
        for (auto& answer : answers) answer.logits = answer.fresh;
        const auto begun = Clock::now();
        next_ = 0;
        const auto take = [&](int part) {
          for (size_t i = next_++; i < answers.size(); i = next_++) {
            auto& [sampler, fresh, logits, history] = answers[i];
            history.push_back(sampler.Sample(logits, history, memories_[static_cast<size_t>(part)]));
          }
        };
        if (is_alone)
          take(0);
        else
          team_.Run(
              static_cast<int>(memories_.size()),
              [](void* data, int part, int) { (*static_cast<const decltype(take)*>(data))(part); },
              const_cast<void*>(static_cast<const void*>(&take)));
        (is_alone ? alone : together)
            .push_back(std::chrono::duration<double, std::milli>(Clock::now() - begun).count());
      }
    }
    const double alone_ms = Median(alone);
    const double together_ms = Median(together);
    std::printf(
        "    {\"sampling\": \"%s\", \"sequences\": %zu, \"one_thread_ms\": %.2f, \"all_threads_ms\": %.2f, \"ratio\": "
        "%.2f}%s\n",
        one.name, n_sequences, alone_ms, together_ms, together_ms / alone_ms, is_last ? "" : ",");
    std::fflush(stdout);
  }

 private:
  Answer MakeAnswer(const Case& one, uint32_t seed, std::mt19937& random) {
    SamplingParams params;
    params.temperature = one.temperature;
    params.top_p = one.top_p;
    params.seed = seed;
    TokenRules rules;
    if (one.has_grammar)
      rules.grammar.emplace(grammar_, GrammarMatcher::Tokens{.trie = trie_, .ends = {kEnd}, .visible = {}},
                            std::vector<std::string>());
    std::normal_distribution<float> normal(0.0F, 2.0F);
    std::vector<float> logits(kVocabulary);
    for (auto& logit : logits) logit = normal(random);
    for (int i = 0; i < 12; i++)
      logits[random() % kVocabulary] += 14.0F;  // as in a text: a few tokens have nearly all the probability
    return {Sampler(params, std::move(rules), {}), logits, logits, {}};
  }

  int n_steps_;
  std::shared_ptr<const TokenTrie> trie_ = MakeTrie();
  std::shared_ptr<const Grammar> grammar_ = std::make_shared<const Grammar>(
      "root ::= ([a-z ]+ | [0-9]+ \"\\n\")*", "root", [](const std::string&) { return std::nullopt; });
  aana::compute::WorkTeam team_;
  std::atomic<size_t> next_ = 0;
  std::vector<SamplingMemory> memories_;
};

}  // namespace

int main(int argc, char** argv) {
  const int n_steps = argc > 1 ? std::max(1, std::atoi(argv[1])) : 50;
  const int n_threads = argc > 2 ? std::max(1, std::atoi(argv[2])) : 2;
  Bench bench(n_steps, n_threads);
  std::printf("{\n  \"vocabulary\": %zu,\n  \"steps\": %d,\n  \"threads\": %d,\n  \"results\": [\n", kVocabulary,
              n_steps, n_threads);
  for (const auto& one : kCases) {
    for (const size_t n_sequences : {1, 8, 32})
      bench.Measure(one, n_sequences, &one == &kCases[2] && n_sequences == 32);
  }
  std::printf("  ]\n}\n");
  return 0;
}
