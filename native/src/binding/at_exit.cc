#include "binding/at_exit.h"

#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace aana {
namespace {

using Hook = std::pair<void (*)(void*), void*>;

// Shared by the environments of different threads. Never destroyed, because it is used while the process ends.
struct Registry {
  std::mutex mutex;
  std::map<napi_env, std::vector<Hook>> hooks;
};

Registry& Hooks() {
  static auto* registry = new Registry;
  return *registry;
}

bool TakeLast(napi_env env, Hook& hook) {
  std::lock_guard lock(Hooks().mutex);
  auto found = Hooks().hooks.find(env);
  if (found == Hooks().hooks.end() || found->second.empty()) return false;
  hook = found->second.back();
  found->second.pop_back();
  return true;
}

void OnProcessExit(const Napi::CallbackInfo& info) {
  for (Hook hook; TakeLast(info.Env(), hook);) {
    napi_remove_env_cleanup_hook(info.Env(), hook.first, hook.second);
    hook.first(hook.second);
  }
}

void ForgetEnvironment(void* data) {
  auto* env = static_cast<napi_env>(data);
  std::lock_guard lock(Hooks().mutex);
  Hooks().hooks.erase(env);
}

}  // namespace

void AddAtExit(Napi::Env env, void (*function)(void*), void* data) {
  bool is_first = false;
  {
    std::lock_guard lock(Hooks().mutex);
    is_first = Hooks().hooks.try_emplace(env).second;
    Hooks().hooks[env].emplace_back(function, data);
  }
  if (is_first) {
    napi_add_env_cleanup_hook(env, ForgetEnvironment, static_cast<napi_env>(env));
    const auto process = env.Global().Get("process").As<Napi::Object>();
    process.Get("once").As<Napi::Function>().Call(
        process, {Napi::String::New(env, "exit"), Napi::Function::New(env, OnProcessExit)});
  }
  // Each function has its own hook, because Node runs hooks in order with those of objects made in between, such as
  // thread-safe functions.
  napi_add_env_cleanup_hook(env, function, data);
}

void RemoveAtExit(Napi::Env env, void (*function)(void*), void* data) {
  napi_remove_env_cleanup_hook(env, function, data);
  std::lock_guard lock(Hooks().mutex);
  if (const auto found = Hooks().hooks.find(env); found != Hooks().hooks.end())
    std::erase(found->second, Hook(function, data));
}

}  // namespace aana
