#include "binding/llama/language_values.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "binding/llama/dialog_values.h"
#include "binding/llama/engine_values.h"
#include "binding/request_values.h"
#include "binding/llama/sampling_values.h"
#include "binding/values.h"

namespace aana {
namespace {

const char* NameOf(llama::FinishReason reason) {
  switch (reason) {
    case llama::FinishReason::kStop:
      return "stop";
    case llama::FinishReason::kLength:
      return "length";
    case llama::FinishReason::kCancelled:
      return "cancelled";
  }
  return "stop";
}

Napi::Object ToValue(Napi::Env env, const llama::ScoredToken& token) {
  auto object = Napi::Object::New(env);
  object.Set("id", token.token);
  object.Set("bytes", Napi::Buffer<char>::Copy(env, token.text.data(), token.text.size()));
  object.Set("logprob", token.logprob);
  return object;
}

Napi::Object ToValue(Napi::Env env, const llama::TokenScores& scores) {
  auto object = ToValue(env, scores.chosen);
  auto top = Napi::Array::New(env, scores.top.size());
  for (uint32_t i = 0; i < scores.top.size(); i++) top.Set(i, ToValue(env, scores.top[i]));
  object.Set("top", top);
  return object;
}

Napi::Object ToValue(Napi::Env env, const llama::PromptToken& token) {
  auto object = Napi::Object::New(env);
  object.Set("id", token.token.token);
  object.Set("bytes", Napi::Buffer<char>::Copy(env, token.token.text.data(), token.token.text.size()));
  if (!token.rank) return object;
  object.Set("logprob", token.token.logprob);
  object.Set("rank", token.rank->rank);
  auto top = Napi::Array::New(env, token.rank->top.size());
  for (uint32_t i = 0; i < token.rank->top.size(); i++) top.Set(i, ToValue(env, token.rank->top[i]));
  object.Set("top", top);
  return object;
}

template <class Item>
Napi::Array ToArray(Napi::Env env, const std::vector<Item>& items) {
  auto array = Napi::Array::New(env, items.size());
  for (uint32_t i = 0; i < items.size(); i++) array.Set(i, ToValue(env, items[i]));
  return array;
}

void Write(Napi::Object& object, const llama::TextEvent& event) {
  object.Set("type", "text");
  object.Set("text", event.text);
  object.Set("tokens", event.n_tokens);
  if (!event.reasoning.empty()) object.Set("reasoning", event.reasoning);
  if (!event.calls.empty()) object.Set("calls", aana::ToValue(object.Env(), event.calls));
  if (!event.scores.empty()) object.Set("scores", ToArray(object.Env(), event.scores));
  if (!event.prompt.empty()) object.Set("promptScores", ToArray(object.Env(), event.prompt));
}

void Write(Napi::Object& object, const llama::EndEvent& event) {
  object.Set("type", "end");
  object.Set("reason", NameOf(event.reason));
  object.Set("promptTokens", event.n_prompt);
  object.Set("reusedTokens", event.n_reused);
  if (event.n_image > 0) object.Set("imageTokens", event.n_image);
  if (event.n_sound > 0) object.Set("audioTokens", event.n_sound);
  object.Set("completionTokens", event.n_completion);
  object.Set("reasoningTokens", event.n_reasoning);
  object.Set("queueMs", event.timings.queue.count());
  object.Set("promptMs", event.timings.prompt.count());
  object.Set("completionMs", event.timings.completion.count());
  if (!event.stop.empty()) object.Set("stop", event.stop);
  if (event.dropped.n_tokens > 0) object.Set("droppedTokens", event.dropped.n_tokens);
  if (event.dropped.n_messages > 0) object.Set("droppedMessages", event.dropped.n_messages);
}

void Write(Napi::Object& object, const llama::CountEvent& event) {
  object.Set("type", "count");
  object.Set("tokens", event.n_tokens);
  if (event.tokens.empty()) return;
  object.Set("ids", ToTypedArray<Napi::Int32Array>(object.Env(), event.tokens));
  object.Set("bytes", Napi::Buffer<char>::Copy(object.Env(), event.text.data(), event.text.size()));
  object.Set("lengths", ToTypedArray<Napi::Int32Array>(object.Env(), event.n_bytes));
}

llama::Overflow ToOverflow(const Napi::Object& options) {
  if (!Has(options, "overflow")) return llama::Overflow::kError;
  const auto name = String(options, "overflow");
  if (name == "error") return llama::Overflow::kError;
  if (name == "truncate_middle") return llama::Overflow::kTruncateMiddle;
  if (name == "shift") return llama::Overflow::kShift;
  throw Napi::TypeError::New(options.Env(), "overflow must be error, truncate_middle or shift");
}

llama::AdapterUse ToAdapterUse(const Napi::Object& options) {
  const auto value = options.Get("adapter");
  if (value.IsUndefined()) return {};
  const auto object = ToObject(options.Env(), value, "adapter");
  const auto scale = object.Get("scale");
  if (!scale.IsNumber() || !std::isfinite(scale.As<Napi::Number>().FloatValue())) {
    throw Napi::TypeError::New(options.Env(), "the adapter's scale is not a number");
  }
  return {Int(object, "index", 0), scale.As<Napi::Number>().FloatValue()};
}

float Probability(const Napi::Object& object, const char* key) {
  const auto value = object.Get(key);
  const float number = value.IsNumber() ? value.As<Napi::Number>().FloatValue() : NAN;
  if (number >= 0.0F && number <= 1.0F) return number;
  throw Napi::RangeError::New(object.Env(), std::string(key) + " must be a number from 0 to 1");
}

}  // namespace

uint64_t ToBytes(Napi::Env env, const Napi::Value& value, const char* name) {
  const double n_bytes = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : NAN;
  if (!(n_bytes >= 0 && n_bytes <= 1e18))
    throw Napi::RangeError::New(env, std::string(name) + " must be a number from 0");
  return static_cast<uint64_t>(n_bytes);
}

namespace {

llama::PromptCacheOptions ToPromptCache(Napi::Env env, const Napi::Value& value) {
  const auto object = ToObject(env, value, "promptCache");
  llama::PromptCacheOptions options;
  options.folder = String(object, "folder");
  options.max_bytes = ToBytes(env, object.Get("maxBytes"), "maxBytes");
  if (!object.Get("minTokens").IsUndefined()) options.n_least = Int(object, "minTokens", 1);
  return options;
}

ggml_type ToKvType(const Napi::Object& object, const char* key) {
  const auto name = String(object, key);
  for (const auto type : {GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q8_0, GGML_TYPE_Q5_1, GGML_TYPE_Q5_0, GGML_TYPE_Q4_1,
                          GGML_TYPE_Q4_0}) {
    if (name == ggml_type_name(type)) return type;
  }
  throw Napi::TypeError::New(object.Env(), std::string(key) + " must be f16, bf16, q8_0, q5_1, q5_0, q4_1 or q4_0");
}

float Positive(const Napi::Object& object, const char* key) {
  const auto value = object.Get(key);
  const float number = value.IsNumber() ? value.As<Napi::Number>().FloatValue() : NAN;
  if (number > 0.0F && std::isfinite(number)) return number;
  throw Napi::RangeError::New(object.Env(), std::string(key) + " must be a number above 0");
}

llama::RopeScaling ToRopeScaling(Napi::Env env, const Napi::Value& value) {
  const auto object = ToObject(env, value, "ropeScaling");
  const auto type = String(object, "type");
  if (type != "linear" && type != "yarn") throw Napi::TypeError::New(env, "ropeScaling.type must be linear or yarn");
  return {
      .type = type == "yarn" ? LLAMA_ROPE_SCALING_TYPE_YARN : LLAMA_ROPE_SCALING_TYPE_LINEAR,
      .factor = std::max(1.0F, Positive(object, "factor")),
      .n_original = Int(object, "originalTokens", 0, 1 << 24),
      .beta_fast = Positive(object, "betaFast"),
      .beta_slow = Positive(object, "betaSlow"),
  };
}

}  // namespace

llama::LoadOptions ToLlamaLoadOptions(Napi::Env env, Napi::Value value) {
  const auto object = ToObject(env, value, "options");
  llama::LoadOptions options;
  ReadModelOptions(object, options);
  options.n_context = Int(object, "contextTokens", 0);
  if (Has(object, "ropeScaling")) options.rope_scaling = ToRopeScaling(env, object.Get("ropeScaling"));
  if (Has(object, "ropeFrequencyBase")) options.rope_frequency_base = Positive(object, "ropeFrequencyBase");
  options.n_sequences = Int(object, "maxSequences", 1, static_cast<int32_t>(llama_max_parallel_sequences()));
  options.n_prefill_per_step = Int(object, "prefillTokensPerStep", 1, 65536);
  if (Has(object, "passTokens")) options.n_ubatch = Int(object, "passTokens", 32, 65536);
  if (!object.Get("guessedTokensPerStep").IsUndefined())
    options.n_drafted = Int(object, "guessedTokensPerStep", 0, 256);
  if (!object.Get("draftModelPath").IsUndefined()) options.draft_model_path = String(object, "draftModelPath");
  if (!object.Get("leastGuessProbability").IsUndefined())
    options.least_draft_probability = Probability(object, "leastGuessProbability");
  if (!object.Get("readerTimeoutMs").IsUndefined())
    options.reader_timeout = std::chrono::milliseconds(Int(object, "readerTimeoutMs", 1));
  options.key_type = ToKvType(object, "keyType");
  options.value_type = ToKvType(object, "valueType");
  if (!object.Get("totalCells").IsUndefined()) options.n_cells = Int(object, "totalCells", 0);
  if (Has(object, "keepsAllWindows")) options.keeps_all_windows = object.Get("keepsAllWindows").ToBoolean();
  if (!object.Get("promptCache").IsUndefined()) options.prompt_cache = ToPromptCache(env, object.Get("promptCache"));
  if (!object.Get("keptBytes").IsUndefined()) options.n_kept_bytes = ToBytes(env, object.Get("keptBytes"), "keptBytes");
  options.adapters = OptionalList<std::string>(object, "adapters",
                                               [](const Napi::Value& item) { return item.ToString().Utf8Value(); });
  if (!object.Get("projectorPath").IsUndefined()) options.projector_path = String(object, "projectorPath");
  if (!object.Get("chatTemplate").IsUndefined()) options.chat_template = String(object, "chatTemplate");
  return options;
}

llama::Request ToLlamaRequest(const Napi::CallbackInfo& info) {
  const auto env = info.Env();
  const auto object = ToObject(env, info[2], "options");
  llama::Request request;
  request.id = ToRequestId(info);
  request.prompt = ToPrompt(env, info[1]);
  request.terms = ToRequestTerms(object);
  request.sampling = ToSamplingParams(object);
  request.adapter = ToAdapterUse(object);
  request.overflow = ToOverflow(object);
  return request;
}

llama::CountRequest ToLlamaCountRequest(const Napi::CallbackInfo& info) {
  const auto env = info.Env();
  const auto options = ToObject(env, info[2], "options");
  llama::CountRequest request{
      .id = ToRequestId(info), .prompt = ToPrompt(env, info[1]), .terms = ToRequestTerms(options)};
  request.tells_tokens = options.Get("tellsTokens").ToBoolean();
  request.has_outer_tokens = !Has(options, "outerTokens") || options.Get("outerTokens").ToBoolean();
  return request;
}

Napi::Object ToValue(Napi::Env env, const llama::ModelInfo& model) {
  auto object = Napi::Object::New(env);
  object.Set("description", model.description);
  object.Set("contextTokens", model.n_context);
  object.Set("vocabularySize", model.n_vocab);
  object.Set("canShift", model.can_shift);
  object.Set("readsImages", model.reads_images);
  object.Set("readsAudio", model.reads_sounds);
  object.Set("audioWindowTokens", model.n_window_tokens);
  return object;
}

Napi::Object ToValue(Napi::Env env, const llama::Counts& counts) {
  auto object = Napi::Object::New(env);
  const auto set = [&](const char* name, uint64_t count) { object.Set(name, static_cast<double>(count)); };
  set("steps", counts.n_steps);
  set("ubatches", counts.n_ubatches);
  set("computedTokens", counts.n_computed);
  set("promptTokens", counts.n_prompt);
  set("reusedTokens", counts.n_reused);
  set("restoredTokens", counts.n_restored);
  set("keptTokens", counts.n_kept_tokens);
  set("keptHits", counts.n_kept_hits);
  set("keptMisses", counts.n_kept_misses);
  set("preemptions", counts.n_preempted);
  set("pauses", counts.n_paused);
  set("shifts", counts.n_shifted);
  set("guessedTokens", counts.n_drafted);
  set("acceptedTokens", counts.n_accepted);
  set("generatedTokens", counts.n_generated);
  set("encodedMedia", counts.n_encoded_media);
  set("keptMedia", counts.n_kept_media);
  object.Set("prefillSeconds", counts.prefill_seconds);
  object.Set("decodeSeconds", counts.decode_seconds);
  set("waiting", counts.n_waiting);
  set("running", counts.n_running);
  set("usedCells", counts.n_used_cells);
  set("cells", counts.n_cells);
  set("keptStates", counts.n_kept_states);
  set("keptBytes", counts.n_kept_bytes);
  return object;
}

Napi::Object ToValue(Napi::Env env, const llama::Event& event) {
  auto object = Napi::Object::New(env);
  object.Set("id", static_cast<double>(event.id));
  std::visit([&](const auto& what) { Write(object, what); }, event.what);
  return object;
}

}  // namespace aana
