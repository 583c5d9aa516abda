// How a step of a language model is computed: in how many graphs, and by threads that were there before. Arguments: the
// folder with ggml's libraries, the file of a model in 32 bits, and the path for the same model in a type whose
// products the kernels compute.
#include <dlfcn.h>
#include <ggml-backend.h>
#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "../check.h"
#include "core/devices.h"
#include "core/engine_log.h"
#include "core/llama/gguf/quantize.h"
#include "core/llama/loop/batch.h"
#include "core/llama/model/model.h"

namespace {

std::atomic<int> n_created{0};

}  // namespace

// Stands before the one of the C library, also for libraries that are loaded later.
extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                                     const pthread_attr_t* attributes,
                                                                     void* (*run)(void*), void* data) {
  static const auto create = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  n_created++;
  return create(thread, attributes, run, data);
}

namespace aana::test {
namespace {

using namespace llama;

constexpr int32_t kSequences = 8;

LoadOptions OptionsFor(const std::string& model_path, int32_t n_threads) {
  LoadOptions options;
  options.model_path = model_path;
  options.n_threads = n_threads;
  options.n_gpu_layers = 0;
  options.n_context = 64;
  options.n_sequences = kSequences;
  return options;
}

// A model with a context, and the lines that llama.cpp logged for them.
struct Loaded {
  Loaded(const std::string& model_path, int32_t n_threads)
      : options(OptionsFor(model_path, n_threads)), model(options, {}), context(model, options, nullptr, nullptr) {}

  // Computes the next token of the first `n_sequences` sequences. Returns their logits.
  std::vector<float> Step(int32_t n_sequences) {
    Batch batch(kSequences);
    for (int32_t i = 0; i < n_sequences; i++) batch.Add(1 + (position + i) % 7, position, i, true);
    position++;
    Expect(llama_decode(context.get(), batch.get()) == 0, "the step failed");
    const auto n_values = static_cast<size_t>(n_sequences * model.n_vocab());
    return {llama_get_logits(context.get()), llama_get_logits(context.get()) + n_values};
  }

  LoadOptions options;
  Model model;
  Context context;
  int32_t position = 0;
};

// What llama.cpp logs of the graphs for which it takes memory: "splits = 1", or "splits = 1 / 97" of a prompt and of a
// step.
std::string SplitsOf(const std::string& model_path) {
  std::string splits;
  SetLogSink([&](LogLevel, const std::string& line) {
    const auto begin = line.find("splits = ");
    if (begin != std::string::npos) splits = line.substr(begin, line.find(',', begin) - begin);
  });
  {
    const Loaded loaded(model_path, 2);
  }
  SetLogSink({});
  return splits;
}

void TestSteps(const std::string& name, const std::string& model_path) {
  Test("prompts and steps of " + name + " are one graph each", [&] { ExpectSame(SplitsOf(model_path), "splits = 1"); });
  Test("a step of " + name + " creates no thread", [&] {
    const int n_before_load = n_created;
    Loaded loaded(model_path, 2);
    loaded.Step(1);
    Expect(n_created > n_before_load, "no thread is counted");
    const int n_before = n_created;
    for (int i = 0; i < 5; i++) loaded.Step(1 + i);
    Expect(n_created == n_before, std::to_string(n_created - n_before) + " threads for 5 steps");
  });
  Test("logits of " + name + " do not depend on the number of threads", [&] {
    Loaded one(model_path, 1), several(model_path, 2);
    for (const int32_t n_sequences : {1, 2, kSequences})
      Expect(one.Step(n_sequences) == several.Step(n_sequences), "they differ");
  });
}

}  // namespace
}  // namespace aana::test

int main(int n_arguments, char** arguments) {
  if (n_arguments != 4) return 2;
  aana::LoadBackends({arguments[1]});
  aana::QuantizeModel(arguments[2], arguments[3], "q4_0", 1);
  aana::test::TestSteps("a model in 32 bits", arguments[2]);
  aana::test::TestSteps("a quantized model", arguments[3]);
  return aana::test::ExitStatus();
}
