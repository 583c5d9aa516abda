// Runs the engine for embeddings without Node under a sanitizer: many requests at the same time, from several threads,
// with cancels, deadlines, truncation and a stop. CONTRIBUTING.md explains how to build and run it.
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "core/devices.h"
#include "core/llama/embedding/engine.h"

namespace {

using namespace aana;
using llama::EmbeddingEngine;

void Check(bool is_true, const std::string& what) {
  std::printf("%s %s\n", is_true ? "ok  " : "FAIL", what.c_str());
  if (!is_true) throw std::runtime_error(what);
}

// Collects the ends of an engine's requests.
class Reader {
 public:
  explicit Reader(const std::string& model_path) : engine_(Options(model_path), [this] { Wake(); }) {}

  EmbeddingEngine& engine() { return engine_; }
  llama::Phase phase() const { return phase_; }
  size_t n_ended() const { return ends_.size(); }
  template <class What>
  const What* end(llama::RequestId id) const {
    const auto found = ends_.find(id);
    return found == ends_.end() ? nullptr : std::get_if<What>(&found->second.what);
  }

  void Submit(llama::RequestId id, size_t n_texts, const std::string& tenant, Deadline deadline = {}) {
    llama::EmbeddingRequest request;
    request.id = id;
    request.truncation = llama::Truncation::kEnd;
    for (size_t i = 0; i < n_texts; i++)
      request.texts.push_back("the cat sat on the house " + std::string(i % 50, 'a'));
    request.terms.tenant = tenant;
    request.terms.deadline = deadline;
    engine_.Submit(std::move(request));
  }

  template <class IsThere>
  void Until(IsThere is_there) {
    while (!is_there()) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return std::exchange(is_woken_, false); });
      }
      auto delivery = engine_.Take();
      phase_ = delivery.phase;
      for (auto& event : delivery.events) ends_.insert_or_assign(event.id, std::move(event));
    }
  }

 private:
  static llama::EmbeddingOptions Options(const std::string& model_path) {
    llama::EmbeddingOptions options;
    options.model_path = model_path;
    options.n_gpu_layers = 0;
    options.n_batch = 64;
    return options;
  }

  void Wake() {
    std::lock_guard lock(mutex_);
    is_woken_ = true;
    changed_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_woken_ = false;
  llama::Phase phase_ = llama::Phase::kLoading;
  std::map<llama::RequestId, llama::EmbeddingEvent> ends_;
  EmbeddingEngine engine_;  // last, because its thread uses the members above
};

void Drive(const std::string& model_path) {
  {
    Reader reader(model_path);
    reader.Until([&] { return reader.phase() != llama::Phase::kLoading; });
    Check(reader.phase() == llama::Phase::kReady, "a model loads");
    constexpr llama::RequestId kRequests = 300;
    std::vector<std::thread> callers;
    for (llama::RequestId first = 0; first < 3; first++) {
      callers.emplace_back([&reader, first] {
        for (llama::RequestId id = first; id < kRequests; id += 3) {
          const auto now = std::chrono::steady_clock::now();
          reader.Submit(id, 1 + static_cast<size_t>(id % 7), "tenant " + std::to_string(id % 5),
                        id % 11 == 0 ? Deadline(now + std::chrono::milliseconds(id % 50)) : std::nullopt);
          if (id % 4 == 0) reader.engine().Cancel(id - id % 8);
        }
      });
    }
    for (auto& caller : callers) caller.join();
    reader.Until([&] { return reader.n_ended() == kRequests; });
    Check(reader.end<llama::VectorsEvent>(1) != nullptr, "requests from several threads end once");
    reader.Submit(1000, 100'000, "");
    while (reader.engine().steps() == 0 || reader.engine().beats() == 0) std::this_thread::yield();
    reader.engine().Cancel(1000);
    reader.Until([&] { return reader.end<llama::CancelledEvent>(1000) != nullptr; });
    Check(true, "a long request is cancelled");
    for (llama::RequestId id = 2000; id < 2010; id++) reader.Submit(id, 1000, "");
    reader.engine().Stop();
    reader.Until([&] { return reader.phase() == llama::Phase::kClosed; });
    Check(reader.end<llama::CancelledEvent>(2000) && reader.end<llama::CancelledEvent>(2009),
          "a stop ends running and waiting requests");
  }
  {
    const Reader reader(model_path);
  }
  Check(true, "an engine can be destroyed while it loads");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: aana-embedding-driver <folder of the backends> <embedding model.gguf>\n");
    return 2;
  }
  try {
    aana::LoadBackends({argv[1]});
    Drive(argv[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::_Exit(1);
  }
  return 0;
}
