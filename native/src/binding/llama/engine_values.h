#pragma once

#include <napi.h>

#include "core/llama/event.h"
#include "core/llama/model/model.h"
#include "core/llama/request.h"

// Values that the engines over llama.cpp share, described in native/lib/binding.ts. All functions throw a Napi::Error
// for a value of the wrong type.
namespace aana {

// Reads the fields of LlamaModelOptions.
void ReadModelOptions(const Napi::Object& object, llama::ModelOptions& options);
// Reads the id that is the first argument of a call.
llama::RequestId ToRequestId(const Napi::CallbackInfo& info);
// Writes the fields of an event of the type `error`.
void Write(Napi::Object& object, const llama::ErrorEvent& event);

}  // namespace aana
