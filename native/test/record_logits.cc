// `aana-record-logits <folder of the backends> <model.gguf> >native/test/sampling/recorded_logits.h` writes the largest
// logits that a model gives after a few prompts. The recorded ones are of SmolLM2 135M Instruct (Q4_1).
//
// `aana-record-logits <folder of the backends> <model.gguf> <prompts>` writes all logits after each line of the file
// `prompts`, which has numbers of tokens, to standard output, as floats of this machine.
#include <ggml-backend.h>
#include <llama.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr size_t kKept = 384;
constexpr float kStep = 1.0F / 4096.0F;

constexpr const char* kPrompts[] = {
    "The capital of France is",      "Once upon a time there was a",
    "def fibonacci(n):\n    if n <", "red, green, blue, red, green, blue, red, green,",
    "{\"name\": \"Ada\", \"age\":",  "I think that",
};

// Calls `use` with the logits after the tokens, one for each token of the vocabulary. Returns whether they were
// computed.
template <typename Use>
bool WithLogits(llama_model* model, std::vector<llama_token> tokens, const Use& use) {
  auto params = llama_context_default_params();
  params.n_ctx = 128;
  params.n_threads = params.n_threads_batch = 1;
  auto* context = llama_init_from_model(model, params);
  const bool is_computed =
      llama_decode(context, llama_batch_get_one(tokens.data(), static_cast<int32_t>(tokens.size()))) == 0;
  if (is_computed) use(llama_get_logits_ith(context, -1));
  llama_free(context);
  return is_computed;
}

bool WriteAll(llama_model* model, const char* prompts) {
  const auto n_vocab = static_cast<size_t>(llama_vocab_n_tokens(llama_model_get_vocab(model)));
  std::ifstream file(prompts);
  for (std::string line; std::getline(file, line);) {
    std::vector<llama_token> tokens;
    std::istringstream numbers(line);
    for (llama_token token = 0; numbers >> token;) tokens.push_back(token);
    const auto write = [&](const float* logits) { std::fwrite(logits, sizeof(float), n_vocab, stdout); };
    if (!WithLogits(model, tokens, write)) return false;
  }
  return true;
}

bool WriteLargest(llama_model* model) {
  const auto* vocab = llama_model_get_vocab(model);
  std::printf("#pragma once\n\n#include <array>\n#include <cstdint>\n\nnamespace aana::test {\n\n");
  std::printf(
      "// Written by record_logits.cc: the %zu largest logits after each of a few prompts, in the order of their "
      "tokens, in steps of 1/4096. No two of a row\n",
      kKept);
  std::printf(
      "// are equal.\nconstexpr float kRecordedStep = 1.0F / 4096.0F;\nconstexpr std::array<std::array<int32_t, %zu>, "
      "%zu> kRecordedLogits = {{\n",
      kKept, std::size(kPrompts));
  for (const auto* prompt : kPrompts) {
    std::vector<llama_token> tokens(64);
    tokens.resize(static_cast<size_t>(
        llama_tokenize(vocab, prompt, static_cast<int32_t>(std::strlen(prompt)), tokens.data(), 64, true, false)));
    const auto write = [&](const float* logits) {
      std::vector<int32_t> order(static_cast<size_t>(llama_vocab_n_tokens(vocab)));
      std::iota(order.begin(), order.end(), 0);
      std::ranges::nth_element(order, order.begin() + kKept,
                               [&](int32_t a, int32_t b) { return logits[a] > logits[b]; });
      order.resize(kKept);
      std::ranges::sort(order);
      std::set<long> used;
      std::printf("    {{");
      for (size_t i = 0; i < kKept; i++) {
        long value = std::lround(logits[order[i]] / kStep);
        while (!used.insert(value).second) value--;
        std::printf(i == 0 ? "%ld" : i % 24 == 0 ? ",\n      %ld" : ", %ld", value);
      }
      std::printf("}},\n");
    };
    if (!WithLogits(model, tokens, write)) return false;
  }
  std::printf("}};\n\n}  // namespace aana::test\n");
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) return 2;
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  ggml_backend_load_all_from_path(argv[1]);
  auto* model = llama_model_load_from_file(argv[2], llama_model_default_params());
  if (!model) return 1;
  const bool is_written = argc == 4 ? WriteAll(model, argv[3]) : WriteLargest(model);
  llama_model_free(model);
  return is_written ? 0 : 1;
}
