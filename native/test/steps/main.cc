// How a step of a language model is computed: in how many graphs, by which threads, and with which matrices. Arguments:
// the folder with ggml's libraries, the file of a model in 32 bits, the path for the same model in a type whose
// products the kernels compute, quantized models, `--`, and models of other kinds whose passes are counted.
#include <dlfcn.h>
#include <ggml-backend.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "../check.h"
#include "core/compute/device/packed_buffers.h"
#include "core/compute/device/processor_device.h"
#include "core/devices.h"
#include "core/engine_log.h"
#include "core/llama/gguf/quantize.h"
#include "loaded.h"

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

// Whether a thread of this process has the name.
bool HasThread(const std::string& name) {
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string found;
    std::getline(std::ifstream(thread.path() / "comm"), found);
    if (found == name) return true;
  }
  return false;
}

// Whether there is such a thread soon. A thread that begins gives itself its name.
bool GetsThread(const std::string& name) {
  const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!HasThread(name)) {
    if (std::chrono::steady_clock::now() > latest) return false;
    std::this_thread::yield();
  }
  return true;
}

// The helpers of our kernels begin with the first graph that has no other large operation.
void TestKernels(const std::string& model_path) {
  Test("our kernels compute all large operations of a quantized model", [&] {
    if (!compute::ProcessorDevice()) return;
    Loaded loaded(model_path, 2);
    Expect(!HasThread("aana-compute"), "there are helpers before the first step");
    loaded.Step(1);
    Expect(GetsThread("aana-compute"), "ggml's threads computed the step");
  });
  Test("weights that are read without a mapping are packed, too", [&] {
    auto options = OptionsFor(model_path, 1);
    Loaded mapped(options);
    options.is_mapped = false;
    const auto before = compute::PackedBytes();
    Loaded read(options);
    Expect(compute::PackedBytes() > before || !compute::ProcessorDevice(), "none is packed");
    Expect(mapped.Step(2) == read.Step(2), "logits differ");
  });
}

}  // namespace
}  // namespace aana::test

int main(int n_arguments, char** arguments) {
  if (n_arguments < 4) return 2;
  aana::LoadBackends({arguments[1]});
  const std::string floats = arguments[2], quantized = arguments[3];
  aana::QuantizeModel(floats, quantized, "q4_0", 1);
  aana::test::TestSteps("a model in 32 bits", floats);
  aana::test::TestSteps("a quantized model", quantized);
  aana::test::TestKernels(quantized);
  aana::test::TestPacking(quantized);
  aana::test::TestUbatches(floats);
  auto* test = aana::test::TestPacking;
  for (int i = 4; i < n_arguments; i++) {
    const std::string model = arguments[i];
    if (model == "--")
      test = aana::test::TestUbatches;
    else
      test(model);
  }
  return aana::test::ExitStatus();
}
