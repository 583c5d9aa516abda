#pragma once

#include <napi.h>

#include <variant>

#include "binding/llama/engine_session.h"
#include "binding/llama/language_values.h"
#include "core/llama/engine.h"

namespace aana {

struct LlamaEvents {
  static Napi::Object ToValue(Napi::Env env, const llama::Event& event) { return aana::ToValue(env, event); }
  static bool IsLast(const llama::Event& event) { return !std::holds_alternative<llama::TextEvent>(event.what); }
};

using LlamaSession = EngineSession<llama::Engine, LlamaEvents>;

}  // namespace aana
