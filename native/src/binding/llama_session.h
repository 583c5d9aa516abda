#pragma once

#include <napi.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/llama/engine.h"

namespace aana {

// JavaScript's side of an engine: passes the engine's events to the listeners and promises. Use it only on JavaScript's
// thread, except where noted. It keeps Node running, and itself alive, while it loads, closes or has requests.
class LlamaSession : public std::enable_shared_from_this<LlamaSession> {
 public:
  // Makes the object to which the promise of a load resolves.
  using MakeObject = Napi::Object (*)(Napi::Env env, const std::shared_ptr<LlamaSession>& session);

  static Napi::Promise Load(Napi::Env env, llama::LoadOptions options, Napi::Function on_events, Napi::Function on_progress, MakeObject make_object);

  LlamaSession(Napi::Env env, Napi::Function on_events, Napi::Function on_progress, MakeObject make_object);
  ~LlamaSession();
  LlamaSession(const LlamaSession&) = delete;
  LlamaSession& operator=(const LlamaSession&) = delete;

  bool IsOpen() const { return engine_ && !is_closing_ && failure_.empty(); }
  // Throws a Napi::Error if the engine is closed.
  llama::Engine& engine(Napi::Env env) const;
  uint64_t steps() const { return engine_ ? engine_->steps() : last_steps_; }
  bool IsBusy() const { return engine_ && failure_.empty() && engine_->IsBusy(); }
  uint64_t beats() const { return engine_ ? engine_->beats() : 0; }
  // Why the engine's thread ended unexpectedly. Empty while it runs and after Close.
  const std::string& failure() const { return failure_; }
  // Submits a request for a completion or a count. Throws a Napi::Error when its id is in use.
  template <class Request>
  void Submit(Napi::Env env, Request request) {
    auto& engine = this->engine(env);
    Open(env, request.id);
    engine.Submit(std::move(request));
    UpdateKeepAlive(env);
  }
  // Returns a promise that resolves when the model is freed.
  Napi::Promise Close(Napi::Env env);

 private:
  void Open(Napi::Env env, llama::RequestId id);
  static void OnExit(void* self);

  // Called on any thread.
  void Wake();
  // Called on JavaScript's thread after Wake.
  void Deliver(Napi::Env env);
  void DeliverEvents(Napi::Env env, const std::vector<llama::Event>& events);
  void OnReady(Napi::Env env);
  // Ends the open requests that the engine has not ended.
  void EndOpenRequests(Napi::Env env);
  // Called when the engine's thread has ended.
  void OnEnded(Napi::Env env, const llama::Delivery& delivery);
  void UpdateKeepAlive(Napi::Env env);
  void ReleaseAll();

  const napi_env env_;
  Napi::FunctionReference on_events_;
  Napi::FunctionReference on_progress_;
  const MakeObject make_object_;
  Napi::ThreadSafeFunction tsfn_;
  std::unique_ptr<llama::Engine> engine_;  // null: its thread has ended and its memory is freed
  std::optional<Napi::Promise::Deferred> loading_;
  std::vector<Napi::Promise::Deferred> closing_;
  std::unordered_set<llama::RequestId> requests_;  // requests without a delivered end
  std::shared_ptr<LlamaSession> keep_alive_;
  float progress_ = 0.0F;
  uint64_t last_steps_ = 0;
  std::string failure_;
  bool is_closing_ = false;
  bool is_released_ = false;
};

}  // namespace aana
