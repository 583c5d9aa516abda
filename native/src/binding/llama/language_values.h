#pragma once

#include <napi.h>

#include <cstdint>

#include "core/llama/counters.h"
#include "core/llama/event.h"
#include "core/llama/model/model.h"
#include "core/llama/request.h"

// Converts values of native/lib/binding.ts to and from values of the engine. All functions throw Napi::TypeError for a
// value of the wrong type.
namespace aana {

// Throws Napi::RangeError, which names the value, for a number that is no size.
uint64_t ToBytes(Napi::Env env, const Napi::Value& value, const char* name);
llama::LoadOptions ToLlamaLoadOptions(Napi::Env env, Napi::Value value);
// Converts the arguments of submit().
llama::Request ToLlamaRequest(const Napi::CallbackInfo& info);
// From the arguments of countTokens().
llama::CountRequest ToLlamaCountRequest(const Napi::CallbackInfo& info);

Napi::Object ToValue(Napi::Env env, const llama::ModelInfo& model);
Napi::Object ToValue(Napi::Env env, const llama::Counts& counts);
Napi::Object ToValue(Napi::Env env, const llama::Event& event);

}  // namespace aana
