// Time of choosing one token from fresh logits, with our sampler and with llama.cpp's chain, in turns. Prints JSON.
//   aana-sampling-bench [rounds]
#include <llama.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/deleter.h"
#include "core/llama/sampling/sampler.h"

namespace {

using namespace aana::llama;
using Chain = std::unique_ptr<llama_sampler, aana::Deleter<llama_sampler_free>>;

constexpr uint32_t kSeed = 7;

// Time that this thread computed, which other work on the machine disturbs least.
double Microseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

struct Case {
  std::string name;
  SamplingParams params;
  std::function<void(llama_sampler* chain, int32_t n_vocab)> fill;
};

void Add(llama_sampler* chain, llama_sampler* sampler) { llama_sampler_chain_add(chain, sampler); }

std::vector<Case> Cases() {
  std::vector<Case> cases;
  const auto add = [&](std::string name, auto change, std::function<void(llama_sampler*, int32_t)> fill) {
    SamplingParams params;
    params.seed = kSeed;
    change(params);
    cases.push_back({std::move(name), params, std::move(fill)});
  };
  const auto finish = [](llama_sampler* chain) {
    Add(chain, llama_sampler_init_temp(0.8F));
    Add(chain, llama_sampler_init_dist(kSeed));
  };
  add(
      "greedy", [](auto& p) { p.temperature = 0.0F; },
      [](auto* chain, int32_t) { Add(chain, llama_sampler_init_greedy()); });
  add(
      "greedy, repetition_penalty 1.1",
      [](auto& p) {
        p.temperature = 0.0F;
        p.penalties.repetition = 1.1F;
      },
      [](auto* chain, int32_t n_vocab) {
        Add(chain, llama_sampler_init_penalties(n_vocab, 1024, 1.1F, 0.0F, 0.0F));
        Add(chain, llama_sampler_init_greedy());
      });
  add(
      "temperature 0.8, top_k 40, top_p 0.95",
      [](auto& p) {
        p.temperature = 0.8F;
        p.top_k = 40;
        p.top_p = 0.95F;
      },
      [=](auto* chain, int32_t) {
        Add(chain, llama_sampler_init_top_k(40));
        Add(chain, llama_sampler_init_top_p(0.95F, 1));
        finish(chain);
      });
  add(
      "temperature 0.8, top_p 0.95",
      [](auto& p) {
        p.temperature = 0.8F;
        p.top_p = 0.95F;
      },
      [=](auto* chain, int32_t) {
        Add(chain, llama_sampler_init_top_p(0.95F, 1));
        finish(chain);
      });
  add(
      "temperature 0.8, min_p 0.05",
      [](auto& p) {
        p.temperature = 0.8F;
        p.min_p = 0.05F;
      },
      [=](auto* chain, int32_t) {
        Add(chain, llama_sampler_init_min_p(0.05F, 1));
        finish(chain);
      });
  add("temperature 0.8", [](auto& p) { p.temperature = 0.8F; }, [=](auto* chain, int32_t) { finish(chain); });
  return cases;
}

double Median(std::vector<double> numbers) {
  std::ranges::nth_element(numbers, numbers.begin() + std::ssize(numbers) / 2);
  return numbers[numbers.size() / 2];
}

void Measure(const Case& one, size_t n_vocab, int n_rounds, bool is_last) {
  std::mt19937 generator(n_vocab);
  std::normal_distribution<float> normal(0.0F, 2.0F);
  std::vector<float> model(n_vocab);
  std::vector<llama_token_data> data(n_vocab);  // as llama_sampler_sample makes it, with its memory reused
  const Chain chain(llama_sampler_chain_init(llama_sampler_chain_default_params()));
  one.fill(chain.get(), static_cast<int32_t>(n_vocab));
  std::vector<TokenId> history(1000);
  for (auto& token : history) {
    token = static_cast<TokenId>(generator() % n_vocab);
    llama_sampler_accept(chain.get(), token);
  }
  Sampler sampler(one.params, {}, history);
  SamplingMemory memory;
  std::vector<double> ours;
  std::vector<double> theirs;
  int n_same = 0;
  for (int round = 0; round < n_rounds; round++) {
    for (auto& logit : model) logit = normal(generator);
    for (int i = 0; i < 12; i++)
      model[generator() % n_vocab] += 14.0F;  // as in a text: a few tokens have nearly all the probability
    auto logits = model;
    TokenId our_token = 0;
    TokenId their_token = 0;
    const auto run_ours = [&] {
      const double started = Microseconds();
      our_token = sampler.Sample(logits, history, memory);
      ours.push_back(Microseconds() - started);
    };
    const auto run_theirs = [&] {
      const double started = Microseconds();
      for (size_t i = 0; i < n_vocab; i++) data[i] = {static_cast<llama_token>(i), model[i], 0.0F};
      llama_token_data_array array{data.data(), data.size(), -1, false};
      llama_sampler_apply(chain.get(), &array);
      their_token = array.data[array.selected].id;
      theirs.push_back(Microseconds() - started);
    };
    if (round % 2 == 0) run_ours();
    run_theirs();
    if (round % 2 != 0) run_ours();
    llama_sampler_accept(chain.get(), our_token);
    history.push_back(our_token);
    n_same += our_token == their_token ? 1 : 0;
  }
  const double our_time = Median(ours);
  const double their_time = Median(theirs);
  std::printf(
      "    {\"vocabulary\": %zu, \"sampling\": \"%s\", \"ours_us\": %.1f, \"llama_cpp_us\": %.1f, \"ratio\": %.3f, "
      "\"same_tokens\": %.2f}%s\n",
      n_vocab, one.name.c_str(), our_time, their_time, our_time / their_time, static_cast<double>(n_same) / n_rounds,
      is_last ? "" : ",");
}

}  // namespace

int main(int argc, char** argv) {
  const int n_rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 200;
  const auto cases = Cases();
  std::printf("{\n  \"rounds\": %d,\n  \"results\": [\n", n_rounds);
  const std::vector<size_t> vocabularies = {49'152, 151'936};
  for (const auto n_vocab : vocabularies) {
    for (const auto& one : cases)
      Measure(one, n_vocab, n_rounds, n_vocab == vocabularies.back() && &one == &cases.back());
  }
  std::printf("  ]\n}\n");
  return 0;
}
