#include "core/llama/engine.h"

#include <algorithm>
#include <utility>

#include "core/llama/loop/decode_loop.h"
#include "core/llama/engine_life.h"
#include "core/llama/gguf/layer_fit.h"
#include "core/llama/model/purpose.h"
#include "core/thread_name.h"

namespace aana::llama {
namespace {

// Of the time of a load with a draft model, which is much smaller.
constexpr float kModelPart = 0.9F;

// Tokens of a pass over the weights, where the model reads an image in one pass.
constexpr int32_t kImageUbatchTokens = 2048;

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
  const auto work = [this] {
    if (!Load()) return;
    if (projector_) images_.Start(*projector_);
    prompts_.Start(*tokenizer_, *rule_finder_, {context_->n_context(), context_->n_ubatch()});
    outbox_.PostPhase(Phase::kReady);
    DecodeLoop loop(*model_, *context_, *adapters_, draft_model_.get(), prompt_store_.get(), options_, inbox_, outbox_,
                    counters_);
    loop.Run();
    prompts_.Join();
    images_.Join();
    loop.EndAll();
  };
  RunEngine(outbox_, work, [this] {
    prompts_.Abandon();
    prompts_.Join();
    images_.Abandon();
    images_.Join();
    prompt_store_.reset();
    // These point into the model.
    rule_finder_.reset();
    tokenizer_.reset();
    draft_model_.reset();
    context_.reset();
    adapters_.reset();
    projector_.reset();
    model_.reset();
  });
}

bool Engine::Load() {
  const auto load = [this](const LoadProgress& progress) {
    const bool has_draft_model = !options_.draft_model_path.empty();
    const float part = has_draft_model ? kModelPart : 1.0F;
    LayerFit fit(options_.model_path, PlannedContext(options_));
    const auto place = [&](llama_model_params& params) {
      if (options_.fits_gpu_layers) fit.Apply(params);
    };
    model_ = std::make_unique<Model>(options_, PartOf(progress, 0.0F, part), place);
    if (inbox_.IsStopping()) return;
    RequireTextModel(*model_, options_.model_path);
    adapters_ = std::make_unique<Adapters>(*model_, options_.adapters);
    auto options = options_;
    if (!options.projector_path.empty()) {
      projector_ = LoadProjector(options, *model_, [this](float) { return !inbox_.IsStopping(); });
      if (projector_->NeedsWholeImages()) options.n_ubatch = std::max(options.n_ubatch, kImageUbatchTokens);
    }
    if (inbox_.IsStopping()) return;
    context_ = std::make_unique<Context>(*model_, options, IsAbandoned, this);
    if (has_draft_model)
      draft_model_ = std::make_unique<DraftModel>(options_, *model_, PartOf(progress, part, 1.0F), IsAbandoned, this);
    if (inbox_.IsStopping()) return;
    if (!options_.prompt_cache.folder.empty())
      prompt_store_ = std::make_unique<PromptStore>(*model_, *context_, options_);
    chat_template_ = std::make_unique<ChatTemplate>(model_->get(), options_.chat_template);
    tokenizer_ = std::make_unique<PromptTokenizer>(*model_, *chat_template_, projector_.get());
    rule_finder_ = std::make_unique<RuleFinder>(*model_);
    info_ = Describe(*model_, *context_);
    info_.reads_images = projector_ && projector_->ReadsImages();
    info_.reads_sounds = projector_ && projector_->ReadsSounds();
    info_.n_window_tokens = projector_ ? static_cast<int32_t>(projector_->n_window_tokens()) : 0;
  };
  return LoadReporting(outbox_, options_.model_path, [this] { return inbox_.IsStopping(); }, load);
}

}  // namespace aana::llama
