// Times of grammars with the engine's automaton and with llama.cpp's grammar, for the vocabulary of a model. Prints
// JSON.
//   aana-grammar-bench <model.gguf> <rounds> < cases
// Reads for each case a line with the number of bytes of a grammar, how many texts meet it and how many other texts
// there are; then the grammar, then for each text a line with its number of bytes, and its bytes.
#include <llama.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/deleter.h"
#include "core/llama/grammar/grammar.h"
#include "core/llama/grammar/matcher.h"
#include "core/llama/sampling/sampling_error.h"

namespace {

using namespace aana::llama;
using ModelPtr = std::unique_ptr<llama_model, aana::Deleter<llama_model_free>>;
using SamplerPtr = std::unique_ptr<llama_sampler, aana::Deleter<llama_sampler_free>>;
using Tokens = std::vector<TokenId>;

constexpr double kUnknown = std::numeric_limits<double>::infinity();
// Calls that one reading of the clock measures, where they take less time than the reading.
constexpr int kRepeats = 200;

// Time that this thread computed, which other work on the machine disturbs least.
double Microseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

template <class Function>
double TimeOf(const Function& function) {
  const double begin = Microseconds();
  function();
  return Microseconds() - begin;
}

void KeepLeast(double& least, double value) { least = std::min(least, value); }

// A text, and what was measured before each of its tokens and before its end.
struct Walk {
  Tokens tokens;
  std::vector<double> first;    // microseconds to find the tokens that may follow, in new states
  std::vector<double> again;    // in states that were there before
  std::vector<double> applied;  // the latter, and the logits of the other tokens are masked
  std::vector<double> llama_cpp;
  std::vector<size_t> n_allowed;
  std::vector<uint64_t> sums;  // of the numbers of the allowed tokens, mixed
};

struct Case {
  std::string grammar;
  std::vector<std::string> texts;
  std::vector<std::string> others;
  std::vector<Walk> walks = {};
  double compile = kUnknown;
  double llama_cpp_compile = kUnknown;
  size_t n_bytes = 0;  // of the grammar and its states in the end
  std::string refused = {};
};

// main.mjs compares the sums with those of XGrammar's masks.
uint64_t Mixed(TokenId token) {
  const uint64_t value = (static_cast<uint64_t>(token) + 1) * 0x9E3779B97F4A7C15ULL;
  return value ^ value >> 29;
}

class Bench {
 public:
  explicit Bench(const char* model_path) {
    auto params = llama_model_default_params();
    params.vocab_only = true;
    model_.reset(llama_model_load_from_file(model_path, params));
    if (!model_) throw std::runtime_error(std::string(model_path) + " cannot be loaded");
    vocab_ = llama_model_get_vocab(model_.get());
    const auto n_vocab = llama_vocab_n_tokens(vocab_);
    for (TokenId token = 0; token < n_vocab; token++) {
      std::string piece(256, '\0');
      const auto n = llama_token_to_piece(vocab_, token, piece.data(), static_cast<int32_t>(piece.size()), 0, false);
      piece.resize(static_cast<size_t>(std::max(0, n)));
      pieces_.push_back(std::move(piece));
      if (llama_vocab_is_eog(vocab_, token)) ends_.push_back(token);
    }
    trie_us_ = TimeOf([&] { trie_ = std::make_shared<const TokenTrie>(pieces_); });
    std::mt19937 generator(7);
    std::normal_distribution<float> normal(0.0F, 2.0F);
    for (TokenId token = 0; token < n_vocab; token++) logits_.push_back(normal(generator));
  }

  void Run(Case& one, int n_rounds) const {
    for (const auto& text : one.texts) one.walks.push_back(WalkOf(text));
    for (int round = 0; round < n_rounds; round++) {
      std::shared_ptr<const Grammar> grammar;
      KeepLeast(one.compile, TimeOf([&] { grammar = std::make_shared<const Grammar>(one.grammar, "root", NoToken); }));
      for (auto& walk : one.walks) MeasureFirst(*grammar, walk, round == 0);
      for (auto& walk : one.walks) MeasureAgain(grammar, walk);
      one.n_bytes = grammar->n_bytes();
    }
    MeasureLlamaCpp(one);
  }

  bool Takes(const std::string& grammar, const std::string& text) const {
    const Grammar compiled(grammar, "root", NoToken);
    auto& states = compiled.states()->states;
    auto state = states.start();
    for (const char c : text) state = states.Next(state, static_cast<uint8_t>(c));
    return states.IsAccepting(state);
  }

  void PrintVocabulary() const {
    std::printf("  \"pieces\": [");
    for (const auto& piece : pieces_) {
      std::printf("%s\"", &piece == &pieces_.front() ? "" : ",");
      for (const char c : piece) std::printf("%02x", static_cast<uint8_t>(c));
      std::printf("\"");
    }
    std::printf("],\n  \"ends\": [");
    for (const auto& end : ends_) std::printf("%s%d", &end == &ends_.front() ? "" : ",", end);
    std::printf("],\n  \"trie_us\": %.1f,\n", trie_us_);
  }

 private:
  static std::optional<TokenId> NoToken(const std::string&) { return std::nullopt; }

  Walk WalkOf(const std::string& text) const {
    Walk walk;
    walk.tokens.resize(text.size() + 8);
    const auto n = llama_tokenize(vocab_, text.data(), static_cast<int32_t>(text.size()), walk.tokens.data(),
                                  static_cast<int32_t>(walk.tokens.size()), false, false);
    walk.tokens.resize(static_cast<size_t>(std::max(0, n)));
    for (auto* times : {&walk.first, &walk.again, &walk.applied, &walk.llama_cpp})
      times->assign(walk.tokens.size() + 1, kUnknown);
    return walk;
  }

  void MeasureFirst(const Grammar& grammar, Walk& walk, bool is_first_round) const {
    auto& states = grammar.states()->states;
    auto state = states.start();
    for (size_t i = 0; i <= walk.tokens.size(); i++) {
      const GrammarStates::TokenSet* allowed = nullptr;
      KeepLeast(walk.first[i], TimeOf([&] { allowed = &states.FindAllowed(state, *trie_); }));
      if (is_first_round) Note(*allowed, walk);
      if (i < walk.tokens.size())
        state = states.Next(state, walk.tokens[i], pieces_[static_cast<size_t>(walk.tokens[i])]);
    }
  }

  void Note(const GrammarStates::TokenSet& allowed, Walk& walk) const {
    size_t n = 0;
    uint64_t sum = 0;
    const auto take = [&](TokenId token) {
      if (std::ranges::find(ends_, token) != ends_.end()) return;
      n++;
      sum += Mixed(token);
    };
    for (const auto token : allowed.tokens) take(token);
    for (size_t i = 0; i < 64 * allowed.bits.size(); i++) {
      if ((allowed.bits[i / 64] >> (i % 64) & 1) != 0) take(static_cast<TokenId>(i));
    }
    walk.n_allowed.push_back(n);
    walk.sums.push_back(sum);
  }

  void MeasureAgain(const std::shared_ptr<const Grammar>& grammar, Walk& walk) const {
    auto& states = grammar->states()->states;
    auto state = states.start();
    GrammarMatcher matcher(grammar, {.trie = trie_, .ends = ends_, .visible = {}}, {});
    auto logits = logits_;
    for (size_t i = 0; i <= walk.tokens.size(); i++) {
      KeepLeast(walk.again[i], TimeOf([&] {
                                 for (int repeat = 0; repeat < kRepeats; repeat++) states.FindAllowed(state, *trie_);
                               }) / kRepeats);
      std::ranges::copy(logits_, logits.begin());
      KeepLeast(walk.applied[i], TimeOf([&] { matcher.Mask(logits); }));
      if (i == walk.tokens.size()) break;
      matcher.Accept(walk.tokens[i]);
      state = states.Next(state, walk.tokens[i], pieces_[static_cast<size_t>(walk.tokens[i])]);
    }
  }

  // Only the first text and one round, because it takes milliseconds for each token.
  void MeasureLlamaCpp(Case& one) const {
    SamplerPtr sampler;
    one.llama_cpp_compile =
        TimeOf([&] { sampler.reset(llama_sampler_init_grammar(vocab_, one.grammar.c_str(), "root")); });
    auto& walk = one.walks.front();
    if (!sampler) return;
    std::vector<llama_token_data> data(pieces_.size());
    for (size_t i = 0; i <= walk.tokens.size(); i++) {
      for (size_t token = 0; token < data.size(); token++)
        data[token] = {static_cast<llama_token>(token), logits_[token], 0.0F};
      llama_token_data_array array{data.data(), data.size(), -1, false};
      walk.llama_cpp[i] = TimeOf([&] { llama_sampler_apply(sampler.get(), &array); });
      if (i == walk.tokens.size()) break;
      // It ends the process for a token that it does not allow.
      if (data[static_cast<size_t>(walk.tokens[i])].logit < -1e30F) return;
      llama_sampler_accept(sampler.get(), walk.tokens[i]);
    }
  }

  ModelPtr model_;
  const llama_vocab* vocab_ = nullptr;
  std::vector<std::string> pieces_;
  Tokens ends_;
  std::shared_ptr<const TokenTrie> trie_;
  double trie_us_ = 0;
  std::vector<float> logits_;
};

template <class Values, class Print>
void PrintList(const char* name, const Values& values, const char* behind, const Print& print) {
  std::printf("\"%s\": [", name);
  for (size_t i = 0; i < values.size(); i++) {
    if (i > 0) std::printf(",");
    print(values[i]);
  }
  std::printf("]%s", behind);
}

void PrintTime(double time) {
  if (time == kUnknown)
    std::printf("null");
  else
    std::printf("%.3f", time);
}

void Print(const Bench& bench, const Case& one) {
  if (!one.refused.empty()) {
    std::printf("    {\"refused\": true}");
    std::fprintf(stderr, "%s\n", one.refused.c_str());
    return;
  }
  std::printf("    {\"compile_us\": %.1f, \"bytes\": %zu, \"llama_cpp_compile_us\": %.1f, \"walks\": [", one.compile,
              one.n_bytes, one.llama_cpp_compile);
  for (const auto& walk : one.walks) {
    std::printf("%s\n      {", &walk == &one.walks.front() ? "" : ",");
    PrintList("tokens", walk.tokens, ", ", [](TokenId token) { std::printf("%d", token); });
    PrintList("first_us", walk.first, ", ", PrintTime);
    PrintList("again_us", walk.again, ", ", PrintTime);
    PrintList("applied_us", walk.applied, ", ", PrintTime);
    PrintList("llama_cpp_us", walk.llama_cpp, ", ", PrintTime);
    PrintList("allowed", walk.n_allowed, ", ", [](size_t n) { std::printf("%zu", n); });
    PrintList("sums", walk.sums, "}",
              [](uint64_t sum) { std::printf("\"%llu\"", static_cast<unsigned long long>(sum)); });
  }
  std::printf("], ");
  const auto takes = [&](const std::string& text) { std::printf(bench.Takes(one.grammar, text) ? "true" : "false"); };
  PrintList("takes", one.texts, ", ", takes);
  PrintList("takes_others", one.others, "}", takes);
}

std::string ReadBytes(size_t n) {
  std::string bytes(n, '\0');
  std::cin.get();  // the end of the line
  std::cin.read(bytes.data(), static_cast<std::streamsize>(n));
  return bytes;
}

std::vector<std::string> ReadTexts(size_t n) {
  std::vector<std::string> texts;
  for (size_t i = 0, n_bytes = 0; i < n && std::cin >> n_bytes; i++) texts.push_back(ReadBytes(n_bytes));
  return texts;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: aana-grammar-bench <model.gguf> <rounds> < cases\n");
    return 2;
  }
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  try {
    const Bench bench(argv[1]);
    std::vector<Case> cases;
    for (size_t n_grammar = 0, n_texts = 0, n_others = 0; std::cin >> n_grammar >> n_texts >> n_others;) {
      auto grammar = ReadBytes(n_grammar);
      auto texts = ReadTexts(n_texts);
      cases.push_back({.grammar = std::move(grammar), .texts = std::move(texts), .others = ReadTexts(n_others)});
    }
    for (auto& one : cases) {
      try {
        bench.Run(one, std::max(1, std::atoi(argv[2])));
      } catch (const SamplingError& error) {
        one.refused = error.what();
      }
    }
    std::printf("{\n");
    bench.PrintVocabulary();
    std::printf("  \"cases\": [\n");
    for (const auto& one : cases) {
      Print(bench, one);
      std::printf("%s\n", &one == &cases.back() ? "" : ",");
    }
    std::printf("  ]\n}\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
