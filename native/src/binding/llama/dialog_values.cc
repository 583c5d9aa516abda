#include "binding/llama/llama_values.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "binding/values.h"
#include "core/llama/vision/shared_copies.h"

namespace aana {
namespace {

llama::ToolCall ToCall(Napi::Env env, Napi::Value value) {
  const auto call = ToObject(env, value, "a call of a tool");
  return {OptionalString(call, "id"), String(call, "name"), String(call, "arguments")};
}

// The most pixels of a side, of which the product fits into 32 bits.
constexpr int32_t kMostPixels = 32768;
// The most samples of a sound: a day.
constexpr size_t kMostSamples = size_t{86'400} * llama::kSoundRate;

template <class Array>
Array ArrayOf(const Napi::Object& object, const char* key, napi_typedarray_type type, const std::string& what) {
  const auto given = object.Get(key);
  if (!given.IsTypedArray() || given.As<Napi::TypedArray>().TypedArrayType() != type)
    throw Napi::TypeError::New(object.Env(), std::string(key) + " of " + what);
  return given.As<Array>();
}

Napi::Uint8Array BytesOf(const Napi::Object& object, const char* key, size_t n_bytes, const std::string& what) {
  const auto array = ArrayOf<Napi::Uint8Array>(object, key, napi_uint8_array, what + " is not a Uint8Array");
  if (array.ElementLength() != n_bytes) {
    throw Napi::RangeError::New(object.Env(), std::string(key) + " of " + what + " has " +
                                                  std::to_string(array.ElementLength()) + " bytes, not " +
                                                  std::to_string(n_bytes));
  }
  return array;
}

llama::Image ToImage(const Napi::Object& object) {
  llama::Image image;
  image.width = static_cast<uint32_t>(Int(object, "width", 1, kMostPixels));
  image.height = static_cast<uint32_t>(Int(object, "height", 1, kMostPixels));
  const auto pixels = BytesOf(object, "pixels", size_t{3} * image.width * image.height, "an image");
  const auto digest = BytesOf(object, "digest", sizeof(image.digest), "an image");
  std::memcpy(image.digest.data(), digest.Data(), sizeof(image.digest));
  thread_local llama::SharedCopies<uint8_t> copies;
  image.pixels = copies.Of(image.digest, pixels.Data(), pixels.ElementLength());
  return image;
}

llama::Sound ToSound(const Napi::Object& object) {
  llama::Sound sound;
  const auto samples =
      ArrayOf<Napi::Float32Array>(object, "samples", napi_float32_array, "audio is not a Float32Array");
  const float* begin = samples.Data();
  const float* end = begin + samples.ElementLength();
  if (begin == end || samples.ElementLength() > kMostSamples)
    throw Napi::RangeError::New(object.Env(), "audio has no samples, or more than a day of them");
  if (!std::all_of(begin, end, [](float sample) { return std::isfinite(sample); }))
    throw Napi::RangeError::New(object.Env(), "audio has a sample that is not finite");
  const auto digest = BytesOf(object, "digest", sizeof(sound.digest), "audio");
  std::memcpy(sound.digest.data(), digest.Data(), sizeof(sound.digest));
  thread_local llama::SharedCopies<float> copies;
  sound.samples = copies.Of(sound.digest, begin, samples.ElementLength());
  return sound;
}

llama::ContentPart ToPart(Napi::Env env, Napi::Value value) {
  if (value.IsString()) return {value.As<Napi::String>().Utf8Value()};
  const auto object = ToObject(env, value, "an image or audio");
  if (Has(object, "samples")) return {{}, ToSound(object)};
  return {{}, ToImage(object)};
}

llama::ChatMessage ToMessage(Napi::Env env, Napi::Value value) {
  const auto message = ToObject(env, value, "a message");
  return {
      .role = String(message, "role"),
      .content = String(message, "content"),
      .reasoning = OptionalString(message, "reasoning"),
      .name = OptionalString(message, "name"),
      .tool_call_id = OptionalString(message, "toolCallId"),
      .tool_calls = OptionalList<llama::ToolCall>(message, "toolCalls",
                                                  [&](const Napi::Value& item) { return ToCall(env, item); }),
      .parts = OptionalList<llama::ContentPart>(message, "parts",
                                                [&](const Napi::Value& item) { return ToPart(env, item); }),
  };
}

llama::Tool ToTool(Napi::Env env, Napi::Value value) {
  const auto tool = ToObject(env, value, "a tool");
  return {String(tool, "name"), OptionalString(tool, "description"), String(tool, "parameters")};
}

// The own texts of an object.
std::vector<std::pair<std::string, std::string>> Texts(const Napi::Object& object, const char* key) {
  std::vector<std::pair<std::string, std::string>> texts;
  if (!Has(object, key)) return texts;
  const auto given = ToObject(object.Env(), object.Get(key), key);
  const auto names = given.GetPropertyNames();
  for (uint32_t i = 0; i < names.Length(); i++) {
    const auto text = given.Get(names.Get(i));  // by its value, because a name may have a zero byte
    auto name = names.Get(i).ToString().Utf8Value();
    if (!text.IsString()) throw Napi::TypeError::New(object.Env(), name + " is not a string");
    texts.emplace_back(std::move(name), text.As<Napi::String>().Utf8Value());
  }
  return texts;
}

llama::ArgumentRules ToArgumentRules(Napi::Env env, Napi::Value value) {
  const auto rules = ToObject(env, value, "the rules of a tool");
  return {String(rules, "all"), Texts(rules, "values"), Texts(rules, "texts"), String(rules, "outline")};
}

void ReadArgumentRules(const Napi::Object& object, llama::Dialog& dialog) {
  if (!Has(object, "argumentRules")) return;
  const auto env = object.Env();
  const auto given = ToObject(env, object.Get("argumentRules"), "argumentRules");
  const auto rules = OptionalList<llama::ArgumentRules>(
      given, "tools", [&](const Napi::Value& item) { return ToArgumentRules(env, item); });
  if (rules.size() != dialog.tools.size())
    throw Napi::TypeError::New(env, "argumentRules.tools is not as long as tools");
  for (size_t i = 0; i < rules.size(); i++) dialog.tools[i].rules = rules[i];
  dialog.argument_rules = String(given, "text");
}

llama::Dialog ToDialog(Napi::Env env, const Napi::Object& object) {
  const auto messages = object.Get("messages");
  if (!messages.IsArray()) throw Napi::TypeError::New(env, "messages is not an array");
  llama::Dialog dialog{
      .messages = OptionalList<llama::ChatMessage>(object, "messages",
                                                   [&](const Napi::Value& item) { return ToMessage(env, item); }),
      .prefix = String(object, "prefix"),
      .tools = OptionalList<llama::Tool>(object, "tools", [&](const Napi::Value& item) { return ToTool(env, item); }),
      .required_tool = OptionalString(object, "requiredTool"),
      .parallel_tool_calls = OptionalBool(object, "parallelToolCalls"),
      .template_arguments = Texts(object, "templateArguments"),
      .is_reasoning_split = OptionalBool(object, "splitReasoning").value_or(true),
  };
  ReadArgumentRules(object, dialog);
  if (!dialog.required_tool.empty() || OptionalBool(object, "toolRequired").value_or(false))
    dialog.tool_choice = llama::ToolChoice::kRequired;
  return dialog;
}

}  // namespace

llama::Prompt ToPrompt(Napi::Env env, Napi::Value value) {
  const auto object = ToObject(env, value, "the prompt");
  const auto tokens = object.Get("tokens");
  if (tokens.IsTypedArray() && tokens.As<Napi::TypedArray>().TypedArrayType() == napi_int32_array) {
    const auto given = tokens.As<Napi::Int32Array>();
    return llama::TokenPrompt{{given.Data(), given.Data() + given.ElementLength()}};
  }
  if (!tokens.IsUndefined()) throw Napi::TypeError::New(env, "the tokens of a prompt are not an Int32Array");
  if (object.Get("messages").IsUndefined()) return String(object, "text");
  return ToDialog(env, object);
}

Napi::Array ToValue(Napi::Env env, const std::vector<llama::CallDelta>& calls) {
  return ToArray(env, calls, [&](const llama::CallDelta& call) {
    auto object = Napi::Object::New(env);
    object.Set("index", static_cast<double>(call.index));
    if (!call.name.empty()) object.Set("name", call.name);
    object.Set("arguments", call.arguments);
    return object;
  });
}

}  // namespace aana
