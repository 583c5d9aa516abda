#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "binding/exports.h"
#include "binding/engine_object.h"
#include "binding/llama/engine_session.h"
#include "binding/llama/llama_values.h"
#include "binding/values.h"
#include "core/llama/embedding/engine.h"

namespace aana {
namespace {

using aana::Write;  // of the events that engines share

void Write(Napi::Object& object, const llama::VectorsEvent& event) {
  object.Set("type", "vectors");
  object.Set("values", ToTypedArray<Napi::Float32Array>(object.Env(), event.values));
  object.Set("tokens", ToTypedArray<Napi::Int32Array>(object.Env(), event.n_tokens));
  object.Set("queueMs", event.waited.count() * 1000);
}

void Write(Napi::Object& object, const llama::CancelledEvent&) { object.Set("type", "cancelled"); }

struct EmbeddingEvents {
  static Napi::Object ToValue(Napi::Env env, const llama::EmbeddingEvent& event) {
    auto object = Napi::Object::New(env);
    object.Set("id", static_cast<double>(event.id));
    std::visit([&](const auto& what) { Write(object, what); }, event.what);
    return object;
  }
  static bool IsLast(const llama::EmbeddingEvent&) { return true; }
};

using Session = EngineSession<llama::EmbeddingEngine, EmbeddingEvents>;

constexpr Named<llama::EmbeddingTask> kTasks[] = {
    {"embed", llama::EmbeddingTask::kEmbed},
    {"rank", llama::EmbeddingTask::kRank},
};
constexpr Named<enum llama_pooling_type> kPoolings[] = {
    {"mean", LLAMA_POOLING_TYPE_MEAN},
    {"cls", LLAMA_POOLING_TYPE_CLS},
    {"last", LLAMA_POOLING_TYPE_LAST},
};
constexpr Named<llama::Truncation> kTruncations[] = {
    {"none", llama::Truncation::kNone},
    {"start", llama::Truncation::kStart},
    {"end", llama::Truncation::kEnd},
};

llama::EmbeddingOptions ToOptions(Napi::Env env, Napi::Value value) {
  const auto object = ToObject(env, value, "options");
  llama::EmbeddingOptions options;
  ReadModelOptions(object, options);
  options.task = FromName(object, "task", kTasks);
  options.n_context = Int(object, "maxTokens", 0, 1 << 24);
  options.n_batch = Int(object, "batchTokens", 1, 1 << 20);
  if (Has(object, "pooling")) options.pooling = FromName(object, "pooling", kPoolings);
  if (Has(object, "rankTemplate")) options.rank_template = String(object, "rankTemplate");
  return options;
}

std::vector<int32_t> ToTokens(const Napi::Array& array) {
  std::vector<int32_t> tokens;
  tokens.reserve(array.Length());
  for (uint32_t i = 0; i < array.Length(); i++) {
    const Napi::Value item = array.Get(i);
    if (!item.IsNumber()) throw Napi::TypeError::New(array.Env(), "a token is not a number");
    tokens.push_back(item.As<Napi::Number>().Int32Value());
  }
  return tokens;
}

llama::TextOrTokens ToText(const Napi::Value& item) {
  if (item.IsArray()) return ToTokens(item.As<Napi::Array>());
  if (!item.IsString())
    throw Napi::TypeError::New(item.Env(), "texts has an item that is not a string or an array of tokens");
  return item.As<Napi::String>().Utf8Value();
}

llama::EmbeddingRequest ToRequest(const Napi::CallbackInfo& info) {
  const auto texts = ToObject(info.Env(), info[1], "the texts");
  const auto options = ToObject(info.Env(), info[2], "options");
  llama::EmbeddingRequest request;
  request.id = ToRequestId(info);
  if (Has(texts, "query")) request.query = String(texts, "query");
  request.texts = OptionalList<llama::TextOrTokens>(texts, "texts", ToText);
  request.terms = ToRequestTerms(options);
  if (Has(options, "truncate")) request.truncation = FromName(options, "truncate", kTruncations);
  return request;
}

Napi::Value SubmitTexts(Session& session, const Napi::CallbackInfo& info, bool only_counts) {
  session.engine(info.Env());
  auto request = ToRequest(info);
  request.only_counts = only_counts;
  session.Submit(info.Env(), std::move(request));
  return info.Env().Undefined();
}

Napi::Object InfoValue(Napi::Env env, const llama::EmbeddingModelInfo& info) {
  auto object = Napi::Object::New(env);
  object.Set("description", info.description);
  object.Set("vocabularySize", info.n_vocab);
  object.Set("maxTokens", info.n_context);
  object.Set("batchTokens", info.n_batch);
  object.Set("dimensions", info.n_values);
  object.Set("pooling", info.pooling == LLAMA_POOLING_TYPE_RANK ? "rank" : NameOf(info.pooling, kPoolings));
  object.Set("hasProbabilities", info.has_probabilities);
  return object;
}

Napi::Value CountsValue(Napi::Env env, const llama::EmbeddingCounts& counts) {
  auto object = Napi::Object::New(env);
  object.Set("steps", static_cast<double>(counts.n_steps));
  object.Set("texts", static_cast<double>(counts.n_texts));
  object.Set("tokens", static_cast<double>(counts.n_tokens));
  object.Set("waiting", static_cast<double>(counts.n_waiting));
  object.Set("running", static_cast<double>(counts.n_running));
  return object;
}

Napi::Object MakeEmbeddingObject(Napi::Env env, const std::shared_ptr<Session>& session) {
  auto object = Napi::Object::New(env);
  AddMethod(object, session, "submit",
            [](Session& of, const Napi::CallbackInfo& info) { return SubmitTexts(of, info, false); });
  AddMethod(object, session, "countTokens",
            [](Session& of, const Napi::CallbackInfo& info) { return SubmitTexts(of, info, true); });
  AddLife(object, session);
  object.Set("info", InfoValue(env, session->engine(env).info()));
  // Zeros after the end of the engine.
  AddGetter(object, session, "counts", [env = napi_env(env)](Session& of) {
    return CountsValue(env, of.IsOpen() ? of.engine(env).counts() : llama::EmbeddingCounts{});
  });
  return object;
}

}  // namespace

Napi::Value LoadLlamaEmbedding(const Napi::CallbackInfo& info) {
  return Session::Load(info, ToOptions(info.Env(), info[0]), MakeEmbeddingObject);
}

}  // namespace aana
