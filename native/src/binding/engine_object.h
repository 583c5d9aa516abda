#pragma once

#include <napi.h>

#include <memory>

namespace aana {

// Adds a method to the object of an engine. `method(session, info)` returns its result.
template <class Session, class Method>
void AddMethod(Napi::Object& object, const std::shared_ptr<Session>& session, const char* name, Method method) {
  const auto call = [session, method](const Napi::CallbackInfo& info) -> Napi::Value { return method(*session, info); };
  object.Set(name, Napi::Function::New(object.Env(), call, name));
}

template <class Session, class Read>
void AddGetter(Napi::Object& object, const std::shared_ptr<Session>& session, const char* name, Read read) {
  const auto get = [session, read](const Napi::CallbackInfo& info) -> Napi::Value {
    return Napi::Value::From(info.Env(), read(*session));
  };
  object.DefineProperty(Napi::PropertyDescriptor::Accessor(object.Env(), object, name, get, napi_enumerable));
}

// Adds what every engine over a session has: cancel, close and the state.
template <class Session>
void AddLife(Napi::Object& object, const std::shared_ptr<Session>& session) {
  AddMethod(object, session, "cancel", [](Session& of, const Napi::CallbackInfo& info) {
    if (of.IsOpen()) of.engine(info.Env()).Cancel(info[0].ToNumber().Int64Value());
    return info.Env().Undefined();
  });
  AddMethod(object, session, "close", [](Session& of, const Napi::CallbackInfo& info) { return of.Close(info.Env()); });
  AddGetter(object, session, "steps", [](const Session& of) { return static_cast<double>(of.steps()); });
  AddGetter(object, session, "busy", [](const Session& of) { return of.IsBusy(); });
  AddGetter(object, session, "failure", [](const Session& of) { return of.failure(); });
  AddGetter(object, session, "beats", [](const Session& of) { return static_cast<double>(of.beats()); });
}

}  // namespace aana
