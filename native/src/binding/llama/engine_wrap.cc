#include "binding/llama/engine_wrap.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "binding/llama/engine_object.h"
#include "binding/llama/language_session.h"
#include "binding/llama/language_values.h"

namespace aana {
namespace {

using SessionPtr = std::shared_ptr<LlamaSession>;

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

Napi::Object MakeEngineObject(Napi::Env env, const SessionPtr& session) {
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
  const auto env = info.Env();
  if (!info[1].IsFunction() || !info[2].IsFunction())
    throw Napi::TypeError::New(env, "onEvents and onProgress are functions");
  return LlamaSession::Load(env, ToLlamaLoadOptions(env, info[0]), info[1].As<Napi::Function>(),
                            info[2].As<Napi::Function>(), MakeEngineObject);
}

}  // namespace aana
