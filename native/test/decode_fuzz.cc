// Random requests to the language model engine without Node, for the sanitizers: arrivals, cancellations, slow readers,
// too few cells, guessed tokens, grammars, quotations, images, packed weights, kept states, and a stop while requests
// run or the model loads.
// `node native/test/sanitize.mjs` builds and runs it.
#include <ggml-backend.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "core/engine_log.h"
#include "core/llama/engine.h"

namespace {

using namespace aana;
using llama::RequestId;

constexpr const char* kWords[] = {"the", "dog", "house", "little", "red", "ball", "girl", "ran"};

class Round {
 public:
  // An empty `projector_path` is for a model that reads no images.
  Round(const std::string& model_path, const std::string& projector_path, const std::string& cache_folder,
        uint32_t seed)
      : random_(seed),
        has_eyes_(!projector_path.empty()),
        engine_(Options(model_path, projector_path, cache_folder), [this] { Wake(); }) {}

  void Run(int n_requests) {
    if (!FailureToLoad().empty()) throw std::runtime_error("the model does not load: " + failure_);
    // Cancels beside the thread that submits.
    std::thread canceller([this] {
      while (!is_over_) {
        const auto last = last_id_.load();
        if (last > 0)
          engine_.Cancel(1 +
                         static_cast<RequestId>(static_cast<uint64_t>(engine_.beats()) % static_cast<uint64_t>(last)));
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    });
    for (int i = 0; i < n_requests; i++) {
      Submit();
      while (n_open_.size() > 12) Take();
    }
    const bool is_stopped = UpTo(3) == 0;
    if (is_stopped) engine_.Stop();
    while (!n_open_.empty()) {
      reads_all_ = true;
      for (auto& [id, n_unread] : n_open_) engine_.Acknowledge(id, std::exchange(n_unread, 0));
      Take();
    }
    is_over_ = true;
    canceller.join();
    engine_.Stop();
    while (phase_ == llama::Phase::kReady) Take();
    if (phase_ != llama::Phase::kClosed) throw std::runtime_error("the engine failed: " + failure_);
  }

  llama::Counts counts() const { return engine_.counts(); }

  // Why the model does not load. Empty when it does.
  std::string FailureToLoad() {
    while (phase_ == llama::Phase::kLoading) Take();
    return failure_;
  }

 private:
  int UpTo(int most) { return std::uniform_int_distribution<int>(0, most)(random_); }

  llama::LoadOptions Options(const std::string& model_path, const std::string& projector_path,
                             const std::string& cache_folder) {
    llama::LoadOptions options;
    options.model_path = model_path;
    options.projector_path = projector_path;
    options.n_context = 128;
    options.n_sequences = 1 + UpTo(4);
    options.n_gpu_layers = 0;
    options.n_prefill_per_step = 8 + UpTo(56);
    options.n_threads = 1 + UpTo(2);
    options.least_sampling_work = std::chrono::microseconds(0);
    if (UpTo(1) == 0) options.n_cells = 128 + UpTo(60);
    if (UpTo(1) == 0) options.n_drafted = 1 + UpTo(11);
    if (options.n_drafted > 0 && UpTo(1) == 0) options.draft_model_path = model_path;
    options.least_draft_probability = 0.1F * static_cast<float>(UpTo(5));
    if (UpTo(1) == 0) options.packed_path = model_path + ".packed";
    if (UpTo(1) == 0) options.n_kept_bytes = 1U << 20;
    if (UpTo(2) == 0) options.prompt_cache = {.folder = cache_folder, .max_bytes = 1U << 20, .n_least = 8};
    return options;
  }

  // One of a few pictures, so that beginnings with images are shared. One in nine has a size that some encoders refuse.
  llama::Image NextImage() {
    const auto number = static_cast<uint32_t>(1 + UpTo(3));
    llama::Image image;
    image.width = UpTo(8) == 0 ? 1 : 64;
    image.height = 64;
    std::vector<uint8_t> pixels;
    for (uint32_t i = 0; i < image.width * image.height * 3; i++)
      pixels.push_back(static_cast<uint8_t>(i * number * 7 + i / 192 * 11));
    image.pixels = std::make_shared<const std::vector<uint8_t>>(std::move(pixels));
    for (uint32_t i = 0; i < image.digest.size(); i++) image.digest[i] = number * 0x9E3779B1U + i;
    return image;
  }

  llama::Prompt WithImages(const std::string& text) {
    llama::ChatMessage message{.role = "user", .content = {}};
    message.parts.push_back({.text = "Once upon a time"});
    for (int i = UpTo(2); i >= 0; i--) {
      message.parts.push_back({.text = {}, .media = NextImage()});
      message.parts.push_back({.text = text.substr(0, static_cast<size_t>(UpTo(static_cast<int>(text.size()))))});
    }
    llama::Dialog dialog;
    dialog.messages.push_back(std::move(message));
    return dialog;
  }

  // Quotations of few words, which repeat. Some sources have too few of them.
  llama::GrammarParams Quotations() {
    llama::Quotable quotable{.texts = {}, .min_words = static_cast<uint32_t>(1 + UpTo(5))};
    if (UpTo(1) == 0) quotable.max_words = quotable.min_words + static_cast<uint32_t>(UpTo(5));
    for (int i = UpTo(2); i >= 0; i--) {
      auto& text = quotable.texts.emplace_back();
      for (int words = UpTo(UpTo(1) == 0 ? 10 : 1000); words > 0; words--)
        text += (text.empty() ? "" : " ") + std::string(kWords[UpTo(7)]) + "\n";
    }
    llama::GrammarParams grammar;
    grammar.text = UpTo(1) == 0 ? "root ::= %quote" : "root ::= (%quote \", \")* %quote";
    grammar.quotable = std::make_shared<const llama::Quotable>(std::move(quotable));
    grammar.closes = UpTo(3) > 0;
    return grammar;
  }

  void Submit() {
    const std::string beginning = "Once upon a time there was a little girl who had a red ball and a big dog";
    // The longest one has the tokens that a kept state needs.
    const std::string beginnings[] = {"One day", beginning, beginning + " and " + beginning};
    std::string prompt = beginnings[UpTo(2)];
    for (int i = UpTo(20); i > 0; i--) prompt += std::string(" ") + kWords[UpTo(7)];
    const RequestId id = last_id_ + 1;
    const bool has_images = has_eyes_ && UpTo(1) == 0;
    llama::Request request{.id = id,
                           .prompt = has_images ? WithImages(prompt) : std::move(prompt),
                           .sampling = {},
                           .terms = {},
                           .adapter = {}};
    request.sampling.max_tokens = 1 + UpTo(UpTo(4) == 0 ? 100 : 10);
    if (UpTo(4) == 0) request.sampling.grammar.text = "root ::= (\"the \" | \"dog \" | [a-z]+)*";
    if (UpTo(4) == 0) request.sampling.grammar = Quotations();
    if (UpTo(2) == 0) request.sampling.temperature = 0.0F;
    request.overflow = has_images && UpTo(9) > 0 ? llama::Overflow::kError : static_cast<llama::Overflow>(UpTo(2));
    if (request.overflow == llama::Overflow::kShift && UpTo(4) == 0) request.sampling.max_tokens = 1 + UpTo(400);
    request.sampling.seed = static_cast<uint32_t>(id);
    request.terms.tenant = std::to_string(UpTo(2));
    if (UpTo(1) == 0) request.terms.cache_key = request.terms.tenant;
    request.terms.priority = UpTo(4) - 2;
    if (UpTo(9) == 0) request.terms.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(UpTo(200));
    n_open_[id] = 0;
    engine_.Submit(std::move(request));
    last_id_ = id;
  }

  void Take() {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, std::chrono::milliseconds(20), [&] { return is_woken_; });
      is_woken_ = false;
    }
    const auto delivery = engine_.Take();
    phase_ = delivery.phase;
    failure_ = delivery.failure;
    for (const auto& event : delivery.events) {
      const auto found = n_open_.find(event.id);
      if (found == n_open_.end())
        throw std::runtime_error("request " + std::to_string(event.id) + " has an event after its end");
      if (!std::holds_alternative<llama::TextEvent>(event.what)) {
        n_open_.erase(found);
      } else if (++found->second > UpTo(80) || reads_all_) {
        engine_.Acknowledge(event.id, std::exchange(found->second, 0));
      }
    }
  }

  void Wake() {
    std::lock_guard lock(mutex_);
    is_woken_ = true;
    changed_.notify_one();
  }

  std::mt19937 random_;
  const bool has_eyes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_woken_ = false;
  bool reads_all_ = false;
  std::atomic<bool> is_over_ = false;
  std::atomic<RequestId> last_id_ = 0;
  std::map<RequestId, int64_t> n_open_;  // text events that were not acknowledged, of each open request
  llama::Phase phase_ = llama::Phase::kLoading;
  std::string failure_;
  llama::Engine engine_;  // last, because its threads use the members above
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5 && argc != 6) {
    std::fprintf(
        stderr,
        "usage: aana-decode-fuzz <folder of the backends> <text model.gguf> <requests> <seed> [projector.gguf]\n");
    return 2;
  }
  try {
    InitEngines();
    ggml_backend_load_all_from_path(argv[1]);
    const int n_requests = std::atoi(argv[3]);
    const auto seed = static_cast<uint32_t>(std::atoi(argv[4]));
    const auto of_model = [&](const std::string& path, uint32_t number) {
      return std::make_unique<Round>(path, argc == 6 ? argv[5] : "", std::string(argv[2]) + ".prompts", seed + number);
    };
    of_model(argv[2], 0).reset();  // while it loads
    if (of_model(std::string(argv[2]) + ".absent", 0)->FailureToLoad().empty())
      throw std::runtime_error("a missing model loads");
    uint64_t n_preempted = 0;
    uint64_t n_reused = 0;
    uint64_t n_restored = 0;
    uint64_t n_kept = 0;
    uint32_t round = 0;
    for (int n = 0; n < n_requests; n += 100, round++) {
      const auto run = of_model(argv[2], round);
      run->Run(std::min(100, n_requests - n));
      n_preempted += run->counts().n_preempted;
      n_reused += run->counts().n_reused;
      n_restored += run->counts().n_restored;
      n_kept += run->counts().n_kept_tokens;
    }
    std::printf("%d requests ended, %llu interrupted, %llu prompt tokens reused, %llu restored, %llu kept\n",
                n_requests, static_cast<unsigned long long>(n_preempted), static_cast<unsigned long long>(n_reused),
                static_cast<unsigned long long>(n_restored), static_cast<unsigned long long>(n_kept));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::_Exit(1);
  }
  return 0;
}
