#include <memory>
#include <utility>
#include <variant>

#include "binding/exports.h"
#include "binding/engine_object.h"
#include "binding/llama/engine_session.h"
#include "binding/llama/llama_values.h"
#include "core/llama/engine.h"

namespace aana {
namespace {

struct LlamaEvents {
  static Napi::Object ToValue(Napi::Env env, const llama::Event& event) { return aana::ToValue(env, event); }
  static bool IsLast(const llama::Event& event) { return !std::holds_alternative<llama::TextEvent>(event.what); }
};
using LlamaSession = EngineSession<llama::Engine, LlamaEvents>;

Napi::Value Submit(LlamaSession& session, const Napi::CallbackInfo& info) {
  const auto& engine = session.engine(info.Env());
  auto request = ToLlamaRequest(info);
  if (request.adapter.index >= static_cast<int32_t>(engine.n_adapters()))
    throw Napi::RangeError::New(info.Env(), "there is no such adapter");
  if (request.overflow == llama::Overflow::kShift && !engine.info().can_shift) {
    throw Napi::RangeError::New(info.Env(), "the model cannot take tokens out of the middle of its context");
  }
  session.Submit(info.Env(), std::move(request));
  return info.Env().Undefined();
}

Napi::Value Acknowledge(LlamaSession& session, const Napi::CallbackInfo& info) {
  if (session.IsOpen())
    session.engine(info.Env()).Acknowledge(info[0].ToNumber().Int64Value(), info[1].ToNumber().Int64Value());
  return info.Env().Undefined();
}

Napi::Value LimitKept(LlamaSession& session, const Napi::CallbackInfo& info) {
  const auto n_bytes = ToBytes(info.Env(), info[0], "bytes");
  if (session.IsOpen()) session.engine(info.Env()).LimitKept(n_bytes);
  return info.Env().Undefined();
}

Napi::Value CountTokens(LlamaSession& session, const Napi::CallbackInfo& info) {
  session.engine(info.Env());
  session.Submit(info.Env(), ToLlamaCountRequest(info));
  return info.Env().Undefined();
}

Napi::Object MakeEngineObject(Napi::Env env, const std::shared_ptr<LlamaSession>& session) {
  auto object = Napi::Object::New(env);
  AddMethod(object, session, "submit", Submit);
  AddMethod(object, session, "acknowledge", Acknowledge);
  AddMethod(object, session, "limitKept", LimitKept);
  AddMethod(object, session, "countTokens", CountTokens);
  AddLife(object, session);
  object.Set("info", ToValue(env, session->engine(env).info()));
  // Zeros after the end of the engine.
  AddGetter(object, session, "counts", [env = napi_env(env)](const LlamaSession& of) {
    return ToValue(env, of.IsOpen() ? of.engine(env).counts() : llama::Counts{});
  });
  return object;
}

}  // namespace

Napi::Value LoadLlama(const Napi::CallbackInfo& info) {
  return LlamaSession::Load(info, ToLlamaLoadOptions(info.Env(), info[0]), MakeEngineObject);
}

}  // namespace aana
