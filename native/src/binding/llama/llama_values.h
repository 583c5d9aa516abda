#pragma once

#include <napi.h>

#include <cstdint>
#include <vector>

#include "core/llama/answer/answer_parser.h"
#include "core/llama/counters.h"
#include "core/llama/event.h"
#include "core/llama/model/model.h"
#include "core/llama/prompt/prompt.h"
#include "core/llama/request.h"
#include "core/llama/sampling/params.h"

// Converts values of native/lib/binding to and from values of the engines over llama.cpp. All functions throw a
// Napi::TypeError or Napi::RangeError that names the field.
namespace aana {

// Of all engines. Reads the fields of LlamaModelOptions.
void ReadModelOptions(const Napi::Object& object, llama::ModelOptions& options);
// Reads the id that is the first argument of a call.
llama::RequestId ToRequestId(const Napi::CallbackInfo& info);
// Writes the fields of an event of the type `error`.
void Write(Napi::Object& object, const llama::ErrorEvent& event);

// Of engines for text.
uint64_t ToBytes(Napi::Env env, const Napi::Value& value, const char* name);
llama::LoadOptions ToLlamaLoadOptions(Napi::Env env, Napi::Value value);
// Convert the arguments of submit() and of countTokens().
llama::Request ToLlamaRequest(const Napi::CallbackInfo& info);
llama::CountRequest ToLlamaCountRequest(const Napi::CallbackInfo& info);
llama::Prompt ToPrompt(Napi::Env env, Napi::Value value);
llama::SamplingParams ToSamplingParams(const Napi::Object& object);
Napi::Array ToValue(Napi::Env env, const std::vector<llama::CallDelta>& calls);
Napi::Object ToValue(Napi::Env env, const llama::ModelInfo& model);
Napi::Object ToValue(Napi::Env env, const llama::Counts& counts);
Napi::Object ToValue(Napi::Env env, const llama::Event& event);

}  // namespace aana
