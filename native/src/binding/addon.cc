#include <ggml.h>
#include <llama.h>
#include <napi.h>
#include <whisper.h>

#include <string>
#include <vector>

#include "binding/exports.h"
#include "binding/values.h"
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

constexpr Named<DeviceType> kDeviceTypes[] = {
    {"cpu", DeviceType::kCpu},
    {"gpu", DeviceType::kGpu},
    {"accelerator", DeviceType::kAccelerator},
};

Napi::Value Devices(const Napi::CallbackInfo& info) {
  return ToArray(info.Env(), ListDevices(), [&](const Device& device) {
    auto entry = Napi::Object::New(info.Env());
    entry.Set("name", device.name);
    entry.Set("description", device.description);
    entry.Set("type", NameOf(device.type, kDeviceTypes));
    entry.Set("memoryFreeBytes", static_cast<double>(device.memory_free_bytes));
    entry.Set("memoryTotalBytes", static_cast<double>(device.memory_total_bytes));
    return entry;
  });
}

Napi::Value DriverGpus(const Napi::CallbackInfo& info) {
  return ToArray(info.Env(), ListDriverGpus(), [&](const DriverGpu& gpu) {
    auto entry = Napi::Object::New(info.Env());
    entry.Set("uuid", gpu.uuid);
    entry.Set("name", gpu.name);
    entry.Set("memoryTotalBytes", static_cast<double>(gpu.memory_total_bytes));
    return entry;
  });
}

Napi::Value GpuBackends(const Napi::CallbackInfo& info) {
  return ToArray(info.Env(), ListGpuBackends(), [&](const auto& backend) {
    auto entry = Napi::Object::New(info.Env());
    entry.Set("name", backend.name);
    if (!backend.problem.empty()) entry.Set("problem", backend.problem);
    return entry;
  });
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
  const auto add = [&](const char* name, auto function) {
    exports.Set(name, Napi::Function::New(env, function, name));
  };
  add("loadBackends", LoadBackendsFromJs);
  add("devices", Devices);
  add("gpuBackends", GpuBackends);
  add("driverGpus", DriverGpus);
  add("setLogger", SetLogger);
  add("quantizeModel", QuantizeFromJs);
  add("loadLlama", LoadLlama);
  add("loadLlamaEmbedding", LoadLlamaEmbedding);
  add("loadVoiceDetector", LoadVoiceDetector);
  add("loadWhisper", LoadWhisper);
  return exports;
}

}  // namespace
}  // namespace aana

// The macro needs an unqualified name.
static Napi::Object Init(Napi::Env env, Napi::Object exports) { return aana::Exports(env, exports); }

NODE_API_MODULE(aana_native, Init)
