#include "core/llama/embedding/engine.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <unordered_set>
#include <utility>
#include <variant>

#include "core/llama/engine_life.h"
#include "core/llama/gguf/layer_fit.h"
#include "core/thread_name.h"

namespace aana::llama {
namespace {

using Clock = std::chrono::steady_clock;

// Text that is read before another request may go on.
constexpr uint64_t kBytesPerTurn = 64 * 1024;

}  // namespace

EmbeddingEngine::EmbeddingEngine(EmbeddingOptions options, std::function<void()> wake)
    : options_(std::move(options)), outbox_(std::move(wake)), thread_([this] { Run(); }) {}

EmbeddingEngine::~EmbeddingEngine() {
  Stop();
  Join();
}

void EmbeddingEngine::Submit(EmbeddingRequest request) {
  auto call = std::make_shared<Call>(Call{.request = std::move(request), .texts = {}, .values = {}});
  std::lock_guard lock(mutex_);
  if (is_stopping_) return End(*call, CancelledEvent{});
  const auto id = call->request.id;
  const auto now = Clock::now();
  call->arrived_at = now;
  calls_.emplace(id, call);
  to_read_.Add(id, call->request.terms, now);
  changed_.notify_all();
}

void EmbeddingEngine::Cancel(RequestId id) {
  std::lock_guard lock(mutex_);
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;
  const auto call = found->second;
  End(*call, CancelledEvent{});
}

void EmbeddingEngine::Stop() {
  std::lock_guard lock(mutex_);
  is_stopping_ = true;
  is_abandoned_ = true;
  changed_.notify_all();
}

void EmbeddingEngine::Join() {
  if (thread_.joinable()) thread_.join();
}

bool EmbeddingEngine::IsBusy() {
  std::lock_guard lock(mutex_);
  return !calls_.empty();
}

EmbeddingCounts EmbeddingEngine::counts() {
  std::lock_guard lock(mutex_);
  EmbeddingCounts counts{.n_steps = steps_, .n_texts = n_computed_texts_, .n_tokens = n_computed_tokens_};
  for (const auto& [id, call] : calls_) (call->began_at ? counts.n_running : counts.n_waiting)++;
  return counts;
}

bool EmbeddingEngine::IsAbandoned(void* data) {
  auto& engine = *static_cast<EmbeddingEngine*>(data);
  engine.pulse_.Beat();
  return engine.is_abandoned_.load(std::memory_order_relaxed);
}

void EmbeddingEngine::Run() {
  NameThread("aana-embed");
  const auto work = [this] {
    if (!Load()) return;
    reader_ = std::thread([this] { ReadAll(); });
    outbox_.PostPhase(Phase::kReady);
    ComputeAll();
  };
  RunEngine(outbox_, work, [this] {
    Stop();
    if (reader_.joinable()) reader_.join();
    try {
      std::lock_guard lock(mutex_);
      EndAll();
    } catch (...) {
      // Without memory for the events. Whoever submitted requests ends those that are open.
    }
    texts_.reset();
    encoder_.reset();
    model_.reset();
  });
}

bool EmbeddingEngine::Load() {
  const auto load = [this](const LoadProgress& progress) {
    LayerFit fit(options_.model_path, PlannedContext(options_));
    const auto place = [&](llama_model_params& params) {
      if (options_.fits_gpu_layers) fit.Apply(params);
    };
    model_ = std::make_unique<Model>(options_, progress, place);
    if (is_stopping_) return;
    encoder_ = std::make_unique<Encoder>(*model_, options_, IsAbandoned, this);
    texts_ = std::make_unique<TextReader>(*model_, options_, encoder_->n_context());
    info_ = encoder_->Describe();
  };
  return LoadReporting(outbox_, options_.model_path, [this] { return is_stopping_.load(); }, load);
}

void EmbeddingEngine::ReadAll() {
  NameThread("aana-texts");
  try {
    while (ReadNext()) {
    }
  } catch (const std::exception& error) {
    std::lock_guard lock(mutex_);
    reader_failure_ = "reading texts failed: " + ReasonOf(error);
    is_stopping_ = is_abandoned_ = true;
    changed_.notify_all();
  }
}

bool EmbeddingEngine::ReadNext() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_stopping_ || !to_read_.empty(); });
  if (is_stopping_) return false;
  const auto id = *to_read_.Next(Clock::now(), [](FairLine::Id) { return true; });
  const auto call = calls_.at(id);
  std::optional<ErrorEvent> error;
  uint64_t work = 1;
  lock.unlock();
  try {
    work = ReadSome(*call);
  } catch (const TextError& refused) {
    error = ErrorEvent{refused.code, Fault::kCaller, refused.message, refused.n_tokens, info_.n_context};
  } catch (const std::length_error& refused) {
    error = ErrorEvent{ErrorCode::kFailed, Fault::kCaller, std::string("a text could not be read: ") + refused.what(),
                       0, info_.n_context};
  } catch (const std::exception& failed) {
    error = ErrorEvent{ErrorCode::kFailed, Fault::kDeployment,
                       std::string("a text could not be read: ") + failed.what(), 0, info_.n_context};
  }
  pulse_.Beat();
  lock.lock();
  if (!IsOpen(*call)) return true;
  to_read_.Charge(id, work, Clock::now());
  if (error)
    End(*call, std::move(*error));
  else if (call->texts.size() == call->request.texts.size())
    NoteRead(call);
  return true;
}

uint64_t EmbeddingEngine::ReadSome(Call& call) const {
  uint64_t work = 0;
  const auto& texts = call.request.texts;
  while (call.texts.size() < texts.size() && work < kBytesPerTurn) {
    const size_t index = call.texts.size();
    call.texts.push_back(texts_->Read(call.request, index));
    work += std::visit([](const auto& text) { return text.size(); }, texts[index]) + 1;
  }
  return work;
}

void EmbeddingEngine::NoteRead(const CallPtr& call) {
  const auto& request = call->request;
  to_read_.Remove(request.id);
  if (request.only_counts || request.texts.empty()) {
    VectorsEvent event;
    for (const auto& text : call->texts) event.n_tokens.push_back(static_cast<int32_t>(text.size()));
    return End(*call, std::move(event));
  }
  call->values.resize(call->texts.size() * encoder_->n_values());
  to_compute_.Add(request.id, request.terms, Clock::now());
  changed_.notify_all();
}

void EmbeddingEngine::ComputeAll() {
  std::unique_lock lock(mutex_);
  for (;;) {
    for (auto due = NextDue(); !is_stopping_ && to_compute_.empty() && !(due && *due <= Clock::now());
         due = NextDue()) {
      if (due)
        changed_.wait_until(lock, *due);
      else
        changed_.wait(lock);
    }
    if (!reader_failure_.empty()) throw std::runtime_error(reader_failure_);
    if (is_stopping_) return;
    EndOverdue();
    const auto picks = ChooseTexts();
    if (picks.empty()) continue;
    for (const auto& pick : picks) computed_ids_.push_back(pick.call->request.id);
    lock.unlock();
    Compute(picks);
    lock.lock();
  }
}

void EmbeddingEngine::Compute(const std::vector<Pick>& picks) {
  std::vector<Encoder::Text> texts;
  for (const auto& [call, index] : picks) texts.emplace_back(call->texts[index]);
  std::vector<float> values;
  auto result = Encoder::Result::kDone;
  std::string failure;
  try {
    result = encoder_->Encode(texts, values, is_abandoned_);
  } catch (const std::exception& error) {
    failure = std::string("computing failed: ") + error.what();
  }
  std::lock_guard lock(mutex_);
  computed_ids_.clear();
  if (!is_stopping_) is_abandoned_ = false;
  if (!failure.empty()) {
    for (const auto& pick : picks) {
      if (IsOpen(*pick.call))
        End(*pick.call, ErrorEvent{ErrorCode::kFailed, Fault::kDeployment, failure, 0, info_.n_context});
    }
  } else if (result == Encoder::Result::kDone) {
    steps_++;
    for (const auto& text : texts) n_computed_tokens_ += text.size();
    n_computed_texts_ += texts.size();
    NoteComputed(picks, values);
  }
}

std::vector<EmbeddingEngine::Pick> EmbeddingEngine::ChooseTexts() {
  std::vector<Pick> picks;
  std::unordered_set<RequestId> skipped;  // their next text does not fit any more
  std::unordered_map<RequestId, size_t> n_chosen;
  const auto now = Clock::now();
  auto n_left = static_cast<size_t>(encoder_->n_batch());
  while (picks.size() < encoder_->n_texts()) {
    const auto next = to_compute_.Next(now, [&](FairLine::Id id) {
      const auto& call = *calls_.at(id);
      return !skipped.contains(id) && call.n_computed + n_chosen[id] < call.texts.size();
    });
    if (!next) break;
    const auto& call = calls_.at(*next);
    const size_t index = call->n_computed + n_chosen[*next];
    const size_t n_tokens = call->texts[index].size();
    const bool is_alone = n_tokens > static_cast<size_t>(encoder_->n_batch());
    if (is_alone ? !picks.empty() : n_tokens > n_left) {
      skipped.insert(*next);
      continue;
    }
    picks.push_back({call, index});
    n_chosen[*next]++;
    if (!call->began_at) call->began_at = now;
    to_compute_.Charge(*next, n_tokens, now);
    if (is_alone) break;
    n_left -= n_tokens;
  }
  return picks;
}

void EmbeddingEngine::NoteComputed(const std::vector<Pick>& picks, const std::vector<float>& values) {
  const auto n_values = static_cast<std::ptrdiff_t>(encoder_->n_values());
  for (size_t i = 0; i < picks.size(); i++) {
    auto& call = *picks[i].call;
    if (!IsOpen(call)) continue;
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(i) * n_values;
    if (!std::all_of(begin, begin + n_values, [](float value) { return std::isfinite(value); })) {
      End(call, ErrorEvent{ErrorCode::kFailed, Fault::kDeployment, "the model computed a value that is not a number", 0,
                           info_.n_context});
      continue;
    }
    std::copy(begin, begin + n_values, call.values.begin() + static_cast<std::ptrdiff_t>(picks[i].index) * n_values);
    if (++call.n_computed < call.texts.size()) continue;
    VectorsEvent event{.values = std::move(call.values), .n_tokens = {}, .waited = *call.began_at - call.arrived_at};
    for (const auto& text : call.texts) event.n_tokens.push_back(static_cast<int32_t>(text.size()));
    End(call, std::move(event));
  }
}

void EmbeddingEngine::EndOverdue() {
  const auto now = Clock::now();
  std::vector<CallPtr> overdue;
  for (const auto& [id, call] : calls_) {
    if (call->request.terms.IsOverdue(now)) overdue.push_back(call);
  }
  for (const auto& call : overdue) {
    const bool has_begun = call->n_computed > 0;
    const auto* message = has_begun ? "its deadline passed before its answer was complete"
                                    : "its deadline passed while it waited for its turn";
    End(*call, ErrorEvent{ErrorCode::kDeadlineExceeded, has_begun ? Fault::kCancelled : Fault::kOverload, message, 0,
                          info_.n_context});
  }
}

Deadline EmbeddingEngine::NextDue() const {
  Deadline due;
  for (const auto& [id, call] : calls_) due = Earlier(due, call->request.terms.deadline);
  return due;
}

void EmbeddingEngine::End(Call& call, decltype(EmbeddingEvent::what) what) {
  const auto id = call.request.id;
  outbox_.Post({EmbeddingEvent{id, std::move(what)}});
  to_read_.Remove(id);
  to_compute_.Remove(id);
  calls_.erase(id);
  if (!computed_ids_.empty() &&
      std::ranges::none_of(computed_ids_, [&](RequestId other) { return calls_.contains(other); }))
    is_abandoned_ = true;
}

void EmbeddingEngine::EndAll() {
  while (!calls_.empty()) {
    const auto call = calls_.begin()->second;
    End(*call, CancelledEvent{});
  }
}

}  // namespace aana::llama
