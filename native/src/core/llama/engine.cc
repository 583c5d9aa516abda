#include "core/llama/engine.h"

#include <chrono>
#include <exception>
#include <utility>

#include "core/engine_log.h"
#include "core/llama/decode_loop.h"
#include "core/llama/model/load_error.h"
#include "core/thread_name.h"

namespace aana::llama {
namespace {

constexpr auto kProgressInterval = std::chrono::milliseconds(100);
constexpr auto kRetryInterval = std::chrono::milliseconds(50);

// What the error says; less where there is no memory for that.
std::string Reason(const std::exception& error) noexcept {
  try {
    return error.what();
  } catch (...) {
    return "no memory";  // short: it needs none
  }
}

}  // namespace

Engine::Engine(LoadOptions options, std::function<void()> wake)
    : options_(std::move(options)), outbox_(std::move(wake)), thread_([this] { Run(); }) {}

Engine::~Engine() {
  Stop();
  Join();
}

void Engine::Join() {
  if (thread_.joinable()) thread_.join();
}

bool Engine::IsAbandoned(void* data) {
  auto& engine = *static_cast<Engine*>(data);
  engine.pulse_.Beat();
  return engine.inbox_.is_abandoned().load(std::memory_order_relaxed);
}

void Engine::Run() {
  NameThread("aana-llama");
  Phase last = Phase::kClosed;
  std::string failure;
  try {
    if (Load()) {
      prompts_.Start(*tokenizer_, *rule_finder_, context_->n_context());
      outbox_.PostPhase(Phase::kReady);
      DecodeLoop loop(*model_, *context_, options_, inbox_, outbox_, steps_);
      loop.Run();
      prompts_.Join();
      loop.EndAll();
    }
  } catch (const std::exception& error) {
    last = Phase::kFailed;
    failure = Reason(error);
  } catch (...) {
    last = Phase::kFailed;
    failure = "unknown";
  }
  prompts_.Abandon();
  prompts_.Join();
  // These point into the model.
  rule_finder_.reset();
  tokenizer_.reset();
  context_.reset();
  model_.reset();
  // Who waits must be told, also where there is no memory for that at the moment.
  while (!TryPostPhase(last, failure)) std::this_thread::sleep_for(kRetryInterval);
}

bool Engine::TryPostPhase(Phase phase, const std::string& failure) noexcept {
  try {
    outbox_.PostPhase(phase, failure);
    return true;
  } catch (...) {
    return false;
  }
}

bool Engine::Load() {
  auto told_at = std::chrono::steady_clock::time_point::min();
  const LoadProgress progress = [&](float fraction) {
    const auto now = std::chrono::steady_clock::now();
    if (fraction >= 1.0F || told_at + kProgressInterval <= now) {
      told_at = now;
      outbox_.PostProgress(fraction);
    }
    return !inbox_.IsStopping();
  };
  const ScopedLoadLog load_log;
  try {
    model_ = std::make_unique<Model>(options_, progress);
    if (inbox_.IsStopping()) return false;
    context_ = std::make_unique<Context>(*model_, options_, IsAbandoned, this);
    chat_template_ = std::make_unique<ChatTemplate>(model_->get(), options_.chat_template);
    tokenizer_ = std::make_unique<PromptTokenizer>(*model_, *chat_template_);
    rule_finder_ = std::make_unique<RuleFinder>(*model_);
  } catch (const LoadError& error) {
    if (inbox_.IsStopping()) return false;
    if (load_log.error().empty()) throw;
    throw LoadError(std::string(error.what()) + " (" + load_log.error() + ")");
  } catch (const std::exception& error) {
    throw LoadError("model file " + options_.model_path + " could not be loaded: " + error.what());
  }
  info_ = Describe(*model_, *context_);
  return true;
}

}  // namespace aana::llama
