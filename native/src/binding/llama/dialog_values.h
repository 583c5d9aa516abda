#pragma once

#include <napi.h>

#include <vector>

#include "core/llama/answer/answer_parser.h"
#include "core/llama/prompt/prompt.h"

// Converts prompts, described in native/lib/binding.ts, and calls of tools. All functions throw Napi::TypeError for a
// value of the wrong type.
namespace aana {

llama::Prompt ToPrompt(Napi::Env env, Napi::Value value);
Napi::Array ToValue(Napi::Env env, const std::vector<llama::CallDelta>& calls);

}  // namespace aana
