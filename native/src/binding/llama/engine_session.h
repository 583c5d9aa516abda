#pragma once

#include <napi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "binding/at_exit.h"
#include "binding/js_queue.h"
#include "core/engine_log.h"
#include "core/llama/event.h"
#include "core/llama/outbox.h"

namespace aana {

// JavaScript's side of an engine: passes the engine's events to the listeners and promises. Use it only on JavaScript's
// thread, except where noted. It keeps Node running, and itself alive, while it loads, closes or has requests.
// `Values::ToValue(env, event)` converts an event, and `Values::IsLast(event)` says whether an event ends its request.
template <class Engine, class Values>
class EngineSession : public std::enable_shared_from_this<EngineSession<Engine, Values>> {
 public:
  // Makes the object to which the promise of a load resolves.
  using MakeObject = Napi::Object (*)(Napi::Env env, const std::shared_ptr<EngineSession>& session);

  // `info` are the arguments of the load: its second is called with events, its third with progress.
  static Napi::Promise Load(const Napi::CallbackInfo& info, typename Engine::Options options, MakeObject make_object) {
    if (!info[1].IsFunction() || !info[2].IsFunction())
      throw Napi::TypeError::New(info.Env(), "onEvents and onProgress are functions");
    auto session = std::make_shared<EngineSession>(info, make_object);
    session->loading_.emplace(info.Env());
    const auto promise = session->loading_->Promise();
    session->UpdateKeepAlive(info.Env());
    // The session owns the engine, so the engine ends before the session.
    session->engine_ = std::make_unique<Engine>(std::move(options), [raw = session.get()] { raw->Wake(); });
    return promise;
  }

  EngineSession(const Napi::CallbackInfo& info, MakeObject make_object)
      : env_(info.Env()),
        on_event_(Napi::Persistent(info[1].As<Napi::Function>())),
        on_progress_(Napi::Persistent(info[2].As<Napi::Function>())),
        make_object_(make_object),
        queue_(std::make_shared<JsQueue>(env_, "aana llama")) {
    AddAtExit(env_, OnExit, this);
  }
  ~EngineSession() { ReleaseAll(); }
  EngineSession(const EngineSession&) = delete;
  EngineSession& operator=(const EngineSession&) = delete;

  bool IsOpen() const { return engine_ && !is_closing_ && failure_.empty(); }
  // Throws a Napi::Error if the engine is closed.
  Engine& engine(Napi::Env env) const {
    if (!IsOpen()) throw Napi::Error::New(env, failure_.empty() ? "the engine is closed" : failure_);
    return *engine_;
  }
  uint64_t steps() const { return engine_ ? engine_->steps() : last_steps_; }
  bool IsBusy() const { return engine_ && failure_.empty() && engine_->IsBusy(); }
  uint64_t beats() const { return engine_ ? engine_->beats() : 0; }
  // Why the engine's thread ended unexpectedly. Empty while it runs and after Close.
  const std::string& failure() const { return failure_; }

  // Submits a request for a completion or a count. Throws a Napi::Error when its id is in use.
  template <class Request>
  void Submit(Napi::Env env, Request request) {
    auto& engine = this->engine(env);
    if (!requests_.try_emplace(request.id).second)
      throw Napi::Error::New(env, "request " + std::to_string(request.id) + " is running");
    engine.Submit(std::move(request));
    UpdateKeepAlive(env);
  }

  // Returns a promise that resolves when the model is freed.
  Napi::Promise Close(Napi::Env env) {
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

 private:
  static void OnExit(void* self) {
    auto& session = *static_cast<EngineSession*>(self);
    const auto alive = std::exchange(session.keep_alive_, nullptr);
    session.ReleaseAll();
  }

  // Called on any thread. The engine wakes again only after a delivery.
  void Wake() {
    queue_->Post([weak = this->weak_from_this()](Napi::Env env) {
      if (const auto session = weak.lock()) session->Deliver(env);
    });
  }

  // Called on JavaScript's thread after Wake.
  void Deliver(Napi::Env env) {
    if (!engine_) return;
    const auto delivery = engine_->Take();
    DeliverProgress(env, delivery.progress);
    for (const auto& event : delivery.events) DeliverEvent(env, event);
    UpdateKeepAlive(env);
    if (delivery.phase == llama::Phase::kReady) OnReady(env);
    if (delivery.phase == llama::Phase::kClosed || delivery.phase == llama::Phase::kFailed) OnEnded(env, delivery);
  }

  void DeliverProgress(Napi::Env env, float progress) {
    if (std::exchange(progress_, progress) == progress) return;
    try {
      on_progress_.Call({Napi::Number::New(env, progress)});
    } catch (const Napi::Error& error) {
      Log(LogLevel::kError, "the listener of a load's progress threw: " + error.Message());
    }
  }

  // A request whose listener throws is cancelled, and its last event becomes an error. Others are not touched.
  void DeliverEvent(Napi::Env env, const typename Engine::Event& event) {
    const auto found = requests_.find(event.id);
    if (found == requests_.end()) return;
    const bool is_last = Values::IsLast(event);
    const auto thrown = found->second;
    if (is_last)
      requests_.erase(found);  // first, because the listener may use the id again
    else if (!thrown.empty())
      return;
    const Napi::HandleScope scope(env);
    try {
      on_event_.Call({Values::ToValue(
          env, thrown.empty() ? event : typename Engine::Event{event.id, llama::ErrorEvent{.message = thrown}})});
    } catch (const Napi::Error& error) {
      const auto reason = "the listener of the request's events threw: " + error.Message();
      Log(LogLevel::kError, reason);
      if (is_last || !engine_) return;
      requests_[event.id] = reason;
      engine_->Cancel(event.id);
    }
  }

  void OnReady(Napi::Env env) {
    if (!loading_) return;
    const auto loading = *std::exchange(loading_, std::nullopt);
    loading.Resolve(make_object_(env, this->shared_from_this()));
    UpdateKeepAlive(env);
  }

  // Called when the engine's thread has ended.
  void OnEnded(Napi::Env env, const llama::DeliveryOf<typename Engine::Event>& delivery) {
    if (!loading_ && delivery.phase == llama::Phase::kFailed) {
      failure_ = "the engine ended: " + delivery.failure;
      Log(LogLevel::kError, failure_);
    }
    EndOpenRequests(env);
    const auto loading = std::exchange(loading_, std::nullopt);
    const auto closing = std::exchange(closing_, {});
    const auto self = std::exchange(keep_alive_, nullptr);
    ReleaseAll();
    if (loading)
      loading->Reject(
          Napi::Error::New(env, delivery.failure.empty() ? "the load was stopped" : delivery.failure).Value());
    for (const auto& deferred : closing) deferred.Resolve(env.Undefined());
  }

  // Ends the open requests that the engine has not ended.
  void EndOpenRequests(Napi::Env env) {
    const auto message = failure_.empty() ? std::string("the engine is closed") : failure_;
    while (!requests_.empty()) {
      const auto id = requests_.begin()->first;
      DeliverEvent(env, {id, llama::ErrorEvent{llama::ErrorCode::kEngineEnded, Fault::kDeployment, message, 0, 0}});
    }
  }

  void UpdateKeepAlive(Napi::Env env) {
    if (is_released_) return;
    const bool is_busy = loading_ || !closing_.empty() || !requests_.empty();
    if (is_busy && !keep_alive_) {
      keep_alive_ = this->shared_from_this();
      queue_->Ref(env);
    } else if (!is_busy && keep_alive_) {
      keep_alive_ = nullptr;
      queue_->Unref(env);
    }
  }

  void ReleaseAll() {
    if (std::exchange(is_released_, true)) return;
    if (engine_) {
      engine_->Stop();
      engine_->Join();
      last_steps_ = engine_->steps();
      engine_ = nullptr;
    }
    queue_->Close();
    on_event_.Reset();
    on_progress_.Reset();
    RemoveAtExit(env_, OnExit, this);
  }

  const napi_env env_;
  Napi::FunctionReference on_event_;
  Napi::FunctionReference on_progress_;
  const MakeObject make_object_;
  const std::shared_ptr<JsQueue> queue_;
  std::unique_ptr<Engine> engine_;  // null: its thread has ended and its memory is freed
  std::optional<Napi::Promise::Deferred> loading_;
  std::vector<Napi::Promise::Deferred> closing_;
  // Requests without a delivered end, with what their listener threw; empty: nothing.
  std::unordered_map<llama::RequestId, std::string> requests_;
  std::shared_ptr<EngineSession> keep_alive_;
  float progress_ = 0.0F;
  uint64_t last_steps_ = 0;
  std::string failure_;
  bool is_closing_ = false;
  bool is_released_ = false;
};

}  // namespace aana
