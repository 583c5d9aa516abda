#include "binding/llama_session.h"

#include <string>
#include <utility>
#include <variant>

#include "binding/at_exit.h"
#include "binding/llama_values.h"
#include "core/engine_log.h"

namespace aana {
namespace {

void CallListener(const Napi::FunctionReference& listener, Napi::Value value) {
  try {
    listener.Call({value});
  } catch (const Napi::Error& error) {
    Log(LogLevel::kError, "a listener of the language model's events threw: " + error.Message());
  }
}

}  // namespace

Napi::Promise LlamaSession::Load(Napi::Env env, llama::LoadOptions options, Napi::Function on_events, Napi::Function on_progress,
                                 MakeObject make_object) {
  auto session = std::make_shared<LlamaSession>(env, on_events, on_progress, make_object);
  session->loading_.emplace(env);
  const auto promise = session->loading_->Promise();
  session->UpdateKeepAlive(env);
  // The session owns the engine, so the engine ends before the session.
  session->engine_ = std::make_unique<llama::Engine>(std::move(options), [raw = session.get()] { raw->Wake(); });
  return promise;
}

LlamaSession::LlamaSession(Napi::Env env, Napi::Function on_events, Napi::Function on_progress, MakeObject make_object)
    : env_(env),
      on_events_(Napi::Persistent(on_events)),
      on_progress_(Napi::Persistent(on_progress)),
      make_object_(make_object),
      // Only a wake-up, so no queue can fill: the engine wakes again only after a delivery.
      tsfn_(Napi::ThreadSafeFunction::New(env, on_events, "aana llama", 0, 1)) {
  AddAtExit(env, OnExit, this);
}

LlamaSession::~LlamaSession() { ReleaseAll(); }

llama::Engine& LlamaSession::engine(Napi::Env env) const {
  if (!IsOpen()) throw Napi::Error::New(env, failure_.empty() ? "the engine is closed" : failure_);
  return *engine_;
}

void LlamaSession::Open(Napi::Env env, llama::RequestId id) {
  if (!requests_.insert(id).second) throw Napi::Error::New(env, "request " + std::to_string(id) + " is running");
}

Napi::Promise LlamaSession::Close(Napi::Env env) {
  Napi::Promise::Deferred deferred(env);
  if (!engine_) {
    deferred.Resolve(env.Undefined());
    return deferred.Promise();
  }
  closing_.push_back(deferred);
  if (!std::exchange(is_closing_, true)) engine_->Stop();
  UpdateKeepAlive(env);
  return deferred.Promise();
}

void LlamaSession::Wake() {
  // Fails while the environment ends. Nobody waits for a delivery then.
  tsfn_.NonBlockingCall([weak = weak_from_this()](Napi::Env env, Napi::Function) {
    if (!env) return;
    const auto session = weak.lock();
    if (!session) return;
    try {
      session->Deliver(env);
    } catch (const Napi::Error&) {
      // The environment is ending.
    }
  });
}

void LlamaSession::Deliver(Napi::Env env) {
  if (!engine_) return;
  const auto delivery = engine_->Take();
  if (progress_ != delivery.progress) {
    progress_ = delivery.progress;
    CallListener(on_progress_, Napi::Number::New(env, progress_));
  }
  if (!delivery.events.empty()) DeliverEvents(env, delivery.events);
  if (delivery.phase == llama::Phase::kReady) OnReady(env);
  if (delivery.phase == llama::Phase::kClosed || delivery.phase == llama::Phase::kFailed) OnEnded(env, delivery);
}

void LlamaSession::DeliverEvents(Napi::Env env, const std::vector<llama::Event>& events) {
  for (const auto& event : events) {
    if (!std::holds_alternative<llama::TextEvent>(event.what)) requests_.erase(event.id);
  }
  UpdateKeepAlive(env);
  CallListener(on_events_, ToValue(env, events));
}

void LlamaSession::OnReady(Napi::Env env) {
  if (!loading_) return;
  const auto loading = *std::exchange(loading_, std::nullopt);
  loading.Resolve(make_object_(env, shared_from_this()));
  UpdateKeepAlive(env);
}

void LlamaSession::OnEnded(Napi::Env env, const llama::Delivery& delivery) {
  if (!loading_ && delivery.phase == llama::Phase::kFailed) {
    failure_ = "the engine ended: " + delivery.failure;
    Log(LogLevel::kError, failure_);
  }
  EndOpenRequests(env);
  const auto loading = std::exchange(loading_, std::nullopt);
  const auto closing = std::exchange(closing_, {});
  const auto self = std::exchange(keep_alive_, nullptr);
  ReleaseAll();
  if (loading) loading->Reject(Napi::Error::New(env, delivery.failure.empty() ? "the load was stopped" : delivery.failure).Value());
  for (const auto& deferred : closing) deferred.Resolve(env.Undefined());
}

void LlamaSession::EndOpenRequests(Napi::Env env) {
  if (requests_.empty()) return;
  const auto message = failure_.empty() ? std::string("the engine is closed") : failure_;
  std::vector<llama::Event> events;
  for (const auto id : requests_) {
    events.push_back({id, llama::ErrorEvent{llama::ErrorCode::kEngineEnded, Fault::kDeployment, message, 0, 0}});
  }
  DeliverEvents(env, events);
}

void LlamaSession::UpdateKeepAlive(Napi::Env env) {
  if (is_released_) return;
  const bool is_busy = loading_ || !closing_.empty() || !requests_.empty();
  if (is_busy && !keep_alive_) {
    keep_alive_ = shared_from_this();
    tsfn_.Ref(env);
  } else if (!is_busy && keep_alive_) {
    keep_alive_ = nullptr;
    tsfn_.Unref(env);
  }
}

void LlamaSession::ReleaseAll() {
  if (std::exchange(is_released_, true)) return;
  if (engine_) {
    engine_->Stop();
    engine_->Join();
    last_steps_ = engine_->steps();
    engine_ = nullptr;
  }
  tsfn_.Release();
  on_events_.Reset();
  on_progress_.Reset();
  RemoveAtExit(env_, OnExit, this);
}

void LlamaSession::OnExit(void* self) {
  auto& session = *static_cast<LlamaSession*>(self);
  const auto alive = std::exchange(session.keep_alive_, nullptr);
  session.ReleaseAll();
}

}  // namespace aana
