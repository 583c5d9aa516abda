#include "binding/llama_engine_wrap.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "binding/llama_session.h"
#include "binding/llama_values.h"

namespace aana {
namespace {

using SessionPtr = std::shared_ptr<LlamaSession>;

Napi::Value Submit(LlamaSession& session, const Napi::CallbackInfo& info) {
  session.engine(info.Env());
  session.Submit(info.Env(), ToLlamaRequest(info));
  return info.Env().Undefined();
}

Napi::Value Cancel(LlamaSession& session, const Napi::CallbackInfo& info) {
  if (session.IsOpen()) session.engine(info.Env()).Cancel(info[0].ToNumber().Int64Value());
  return info.Env().Undefined();
}

Napi::Value Acknowledge(LlamaSession& session, const Napi::CallbackInfo& info) {
  if (session.IsOpen()) session.engine(info.Env()).Acknowledge(info[0].ToNumber().Int64Value(), info[1].ToNumber().Int64Value());
  return info.Env().Undefined();
}

Napi::Value CountTokens(LlamaSession& session, const Napi::CallbackInfo& info) {
  session.engine(info.Env());
  session.Submit(info.Env(), ToLlamaCountRequest(info));
  return info.Env().Undefined();
}

Napi::Value Close(LlamaSession& session, const Napi::CallbackInfo& info) { return session.Close(info.Env()); }

using Method = Napi::Value (*)(LlamaSession&, const Napi::CallbackInfo&);

Napi::Object MakeEngineObject(Napi::Env env, const SessionPtr& session) {
  auto object = Napi::Object::New(env);
  const auto add = [&](const char* name, Method method) {
    object.Set(name, Napi::Function::New(env, [session, method](const Napi::CallbackInfo& info) { return method(*session, info); }, name));
  };
  add("submit", Submit);
  add("cancel", Cancel);
  add("acknowledge", Acknowledge);
  add("countTokens", CountTokens);
  add("close", Close);
  const auto& engine = session->engine(env);
  object.Set("info", ToValue(env, engine.info(), engine.HasChatTemplate()));
  const auto add_getter = [&](const char* name, auto read) {
    object.DefineProperty(Napi::PropertyDescriptor::Accessor(
        env, object, name, [session, read](const Napi::CallbackInfo& info) -> Napi::Value { return Napi::Value::From(info.Env(), read(*session)); },
        napi_enumerable));
  };
  add_getter("steps", [](const LlamaSession& of) { return static_cast<double>(of.steps()); });
  add_getter("busy", [](const LlamaSession& of) { return of.IsBusy(); });
  add_getter("failure", [](const LlamaSession& of) { return of.failure(); });
  add_getter("beats", [](const LlamaSession& of) { return static_cast<double>(of.beats()); });
  return object;
}

}  // namespace

Napi::Value LoadLlama(const Napi::CallbackInfo& info) {
  const auto env = info.Env();
  if (!info[1].IsFunction() || !info[2].IsFunction()) throw Napi::TypeError::New(env, "onEvents and onProgress are functions");
  return LlamaSession::Load(env, ToLlamaLoadOptions(env, info[0]), info[1].As<Napi::Function>(), info[2].As<Napi::Function>(), MakeEngineObject);
}

}  // namespace aana
