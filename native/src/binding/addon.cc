#include <ggml.h>
#include <llama.h>
#include <napi.h>
#include <whisper.h>

#include <string>
#include <vector>

#include "binding/llama/embedding_wrap.h"
#include "binding/llama/engine_wrap.h"
#include "binding/logger.h"
#include "binding/whisper/voice_detector_wrap.h"
#include "binding/whisper/engine_wrap.h"
#include "core/cuda_driver.h"
#include "core/devices.h"
#include "core/engine_log.h"
#include "core/llama/gguf/quantize.h"

namespace aana {
namespace {

void LoadBackendsFromJs(const Napi::CallbackInfo& info) {
  if (!info[0].IsArray()) throw Napi::TypeError::New(info.Env(), "directories is not an array");
  const auto array = info[0].As<Napi::Array>();
  std::vector<std::string> directories;
  for (uint32_t i = 0; i < array.Length(); i++) directories.push_back(array.Get(i).ToString());
  LoadBackends(directories);
}

const char* NameOf(DeviceType type) {
  switch (type) {
    case DeviceType::kCpu:
      return "cpu";
    case DeviceType::kGpu:
      return "gpu";
    case DeviceType::kAccelerator:
      return "accelerator";
  }
  return "accelerator";
}

Napi::Value Devices(const Napi::CallbackInfo& info) {
  const auto env = info.Env();
  auto result = Napi::Array::New(env);
  uint32_t index = 0;
  for (const auto& device : ListDevices()) {
    auto entry = Napi::Object::New(env);
    entry.Set("name", device.name);
    entry.Set("description", device.description);
    entry.Set("type", NameOf(device.type));
    entry.Set("memoryFreeBytes", static_cast<double>(device.memory_free_bytes));
    entry.Set("memoryTotalBytes", static_cast<double>(device.memory_total_bytes));
    result.Set(index++, entry);
  }
  return result;
}

Napi::Value DriverGpus(const Napi::CallbackInfo& info) {
  const auto env = info.Env();
  auto result = Napi::Array::New(env);
  uint32_t index = 0;
  for (const auto& gpu : ListDriverGpus()) {
    auto entry = Napi::Object::New(env);
    entry.Set("uuid", gpu.uuid);
    entry.Set("name", gpu.name);
    entry.Set("memoryTotalBytes", static_cast<double>(gpu.memory_total_bytes));
    result.Set(index++, entry);
  }
  return result;
}

Napi::Value GpuBackends(const Napi::CallbackInfo& info) {
  const auto env = info.Env();
  auto result = Napi::Array::New(env);
  uint32_t index = 0;
  for (const auto& backend : ListGpuBackends()) {
    auto entry = Napi::Object::New(env);
    entry.Set("name", backend.name);
    if (!backend.problem.empty()) entry.Set("problem", backend.problem);
    result.Set(index++, entry);
  }
  return result;
}

// Blocks the thread until the model is written.
void QuantizeFromJs(const Napi::CallbackInfo& info) {
  for (int i = 0; i < 3; i++) {
    if (!info[i].IsString()) throw Napi::TypeError::New(info.Env(), "a path or type is not a string");
  }
  if (!info[3].IsNumber()) throw Napi::TypeError::New(info.Env(), "threads is not a number");
  try {
    QuantizeModel(info[0].ToString(), info[1].ToString(), info[2].ToString(), info[3].ToNumber());
  } catch (const std::exception& error) {
    throw Napi::Error::New(info.Env(), error.what());
  }
}

Napi::Object Exports(Napi::Env env, Napi::Object exports) {
  InitEngines();
  auto versions = Napi::Object::New(env);
  versions.Set("llama", llama_version());
  versions.Set("whisper", whisper_version());
  versions.Set("ggml", ggml_version());
  versions.Set("mode", AANA_BUILD_MODE);
  exports.Set("versions", versions);
  exports.Set("loadBackends", Napi::Function::New(env, LoadBackendsFromJs, "loadBackends"));
  exports.Set("devices", Napi::Function::New(env, Devices, "devices"));
  exports.Set("gpuBackends", Napi::Function::New(env, GpuBackends, "gpuBackends"));
  exports.Set("driverGpus", Napi::Function::New(env, DriverGpus, "driverGpus"));
  exports.Set("setLogger", Napi::Function::New(env, SetLogger, "setLogger"));
  exports.Set("quantizeModel", Napi::Function::New(env, QuantizeFromJs, "quantizeModel"));
  exports.Set("loadLlama", Napi::Function::New(env, LoadLlama, "loadLlama"));
  exports.Set("loadLlamaEmbedding", Napi::Function::New(env, LoadLlamaEmbedding, "loadLlamaEmbedding"));
  exports.Set("loadVoiceDetector", Napi::Function::New(env, LoadVoiceDetector, "loadVoiceDetector"));
  exports.Set("loadWhisper", Napi::Function::New(env, LoadWhisper, "loadWhisper"));
  return exports;
}

}  // namespace
}  // namespace aana

// The macro needs an unqualified name.
static Napi::Object Init(Napi::Env env, Napi::Object exports) { return aana::Exports(env, exports); }

NODE_API_MODULE(aana_native, Init)
