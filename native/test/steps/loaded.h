#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../check.h"
#include "core/llama/loop/batch.h"
#include "core/llama/model/model.h"

namespace aana::test {

inline constexpr int32_t kSequences = 8;

inline std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

inline llama::LoadOptions OptionsFor(const std::string& model_path, int32_t n_threads) {
  llama::LoadOptions options;
  options.model_path = model_path;
  options.n_threads = n_threads;
  options.n_gpu_layers = 0;
  options.n_context = 64;
  options.n_sequences = kSequences;
  return options;
}

// A model with a context.
struct Loaded {
  Loaded(const std::string& model_path, int32_t n_threads) : Loaded(OptionsFor(model_path, n_threads)) {}
  explicit Loaded(const llama::LoadOptions& of)
      : options(of), model(options, {}), context(model, options, nullptr, nullptr) {}

  // Computes the next token of the first `n_sequences` sequences. Returns their logits.
  std::vector<float> Step(int32_t n_sequences) {
    llama::Batch batch(kSequences);
    for (int32_t i = 0; i < n_sequences; i++) batch.Add(1 + (position + i) % 7, position, i, true);
    position++;
    Expect(llama_decode(context.get(), batch.get()) == 0, "the step failed");
    const auto n_values = static_cast<size_t>(n_sequences * model.n_vocab());
    return {llama_get_logits(context.get()), llama_get_logits(context.get()) + n_values};
  }

  llama::LoadOptions options;
  llama::Model model;
  llama::Context context;
  int32_t position = 0;
};

// What llama.cpp does with models, beside what our engine takes for granted. The paths are those of files.
void TestPacking(const std::string& model_path);
void TestUbatches(const std::string& model_path);

}  // namespace aana::test
