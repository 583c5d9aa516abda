#include "core/llama/prompt/chat_template.h"

#include <chat-auto-parser-helpers.h>
#include <chat-auto-parser.h>
#include <chat-peg-parser.h>
#include <chat.h>
#include <json-schema-to-grammar.h>
#include <llama.h>
#include <log.h>

#include <algorithm>
#include <list>
#include <mutex>
#include <optional>
#include <utility>

#include "core/llama/answer/answer_syntax.h"
#include "core/llama/tools/argument_grammar.h"
#include "core/llama/tools/call_grammar.h"
#include "core/llama/tools/tool_prompt.h"

namespace aana::llama {
namespace {

// `common` writes to the standard streams by a thread of its own; errors come as exceptions.
void QuietCommonLog() {
  static std::once_flag once;
  std::call_once(once, [] { common_log_set_verbosity_thold(LOG_LEVEL_OUTPUT); });
}

// A template's own properties.
struct Traits {
  bool knows_tools = false;
  // llama.cpp has code for this template, which may also change the messages.
  bool is_special = false;
  // Answers have marks besides those of tools and reasoning.
  bool has_marked_answers = false;
  bool has_reasoning = false;
};

// common_chat_templates_init loses the reason when a template does not parse; this throws it.
Traits Analyse(const std::string& source) {
  const common_chat_template parsed(source, "", "");
  const auto caps = parsed.original_caps();
  Traits traits{.knows_tools = caps.supports_tools && caps.supports_tool_calls};
  autoparser::generation_params params;
  params.messages = common_json::array();
  params.messages.push_back({{"role", "user"}, {"content", "Hello"}});
  params.extra_context = common_json::object();
  params.add_generation_prompt = true;
  try {
    traits.is_special = common_chat_try_specialized_template(parsed, parsed.source(), params).has_value();
  } catch (const std::exception&) {
    traits.is_special = true;  // a known template that refuses the message
  }
  if (traits.is_special) return traits;
  try {
    autoparser::autoparser analysis;
    analysis.analyze_template(parsed);
    traits.has_reasoning = analysis.reasoning.mode != autoparser::reasoning_mode::NONE;
    traits.has_marked_answers = analysis.content.is_always_wrapped() || !analysis.additional_stops.empty();
  } catch (const std::exception&) {
    traits.knows_tools = false;
  }
  return traits;
}

common_chat_msg ToMessage(const ChatMessage& message) {
  common_chat_msg result;
  result.role = message.role;
  result.content = message.content;
  result.reasoning_content = message.reasoning;
  result.tool_name = message.name;
  result.tool_call_id = message.tool_call_id;
  for (const auto& part : message.parts)
    result.content_parts.push_back({part.media ? "media_marker" : "text", part.text});
  for (const auto& call : message.tool_calls) result.tool_calls.push_back({call.name, call.arguments, call.id});
  return result;
}

common_chat_templates_inputs ToInputs(const Dialog& dialog) {
  common_chat_templates_inputs inputs;
  inputs.add_generation_prompt = true;
  for (const auto& message : dialog.messages) inputs.messages.push_back(ToMessage(message));
  for (const auto& tool : dialog.tools) inputs.tools.push_back({tool.name, tool.description, tool.parameters});
  if (dialog.tool_choice == ToolChoice::kRequired) inputs.tool_choice = COMMON_CHAT_TOOL_CHOICE_REQUIRED;
  inputs.parallel_tool_calls = dialog.parallel_tool_calls.value_or(false);
  inputs.reasoning_format = dialog.is_reasoning_split ? COMMON_REASONING_FORMAT_AUTO : COMMON_REASONING_FORMAT_NONE;
  for (const auto& [name, value] : dialog.template_arguments) {
    inputs.chat_template_kwargs[name] = value;
    if (name == "enable_thinking") inputs.enable_thinking = value != "false";
  }
  if (!dialog.prefix.empty()) {
    inputs.messages.push_back(ToMessage({"assistant", dialog.prefix}));
    inputs.add_generation_prompt = false;
    inputs.continue_final_message = COMMON_CHAT_CONTINUATION_CONTENT;
  }
  return inputs;
}

// The inputs for the calls of an answer: a tool that must be called is the only one.
common_chat_templates_inputs ToCallInputs(const Dialog& dialog) {
  auto inputs = ToInputs(dialog);
  if (!dialog.required_tool.empty())
    std::erase_if(inputs.tools, [&](const auto& tool) { return tool.name != dialog.required_tool; });
  return inputs;
}

// The grammar of calls.
std::string WithArgumentRules(const common_chat_params& params, const Dialog& dialog) {
  if (dialog.argument_rules.empty() || params.grammar.empty() || params.parser.empty()) return params.grammar;
  return ArgumentGrammar(params.parser, params.grammar_lazy, dialog).value_or(params.grammar);
}

// The tools with schemas that llama.cpp takes.
std::vector<Tool> Outlined(std::vector<Tool> tools) {
  for (auto& tool : tools) tool.parameters = tool.rules.outline;
  return tools;
}

std::shared_ptr<const ChatFormat> ToFormat(const common_chat_params& params, const Dialog& dialog) {
  auto syntax = std::make_shared<AnswerSyntax>();
  syntax->parser = common_chat_parser_params(params);
  syntax->parser.reasoning_format =
      dialog.is_reasoning_split ? COMMON_REASONING_FORMAT_AUTO : COMMON_REASONING_FORMAT_NONE;
  syntax->parser.parse_tool_calls = !dialog.tools.empty();
  if (!params.thinking_end_tags.empty()) syntax->reasoning_end = params.thinking_end_tags.front();
  if (!params.parser.empty()) syntax->parser.parser.load(params.parser);
  auto format = std::make_shared<ChatFormat>();
  format->syntax = std::move(syntax);
  if (!dialog.tools.empty()) {
    const bool is_forced = dialog.tool_choice == ToolChoice::kRequired;
    format->grammar =
        CallGrammar(WithArgumentRules(params, dialog), is_forced, dialog.parallel_tool_calls.value_or(false));
    format->is_grammar_lazy = params.grammar_lazy;
    format->grammar_prefix = params.generation_prompt;
    for (const auto& trigger : params.grammar_triggers) {
      if (trigger.type == COMMON_GRAMMAR_TRIGGER_TYPE_WORD)
        format->grammar_triggers.push_back(trim_whitespace(trigger.value));
    }
  }
  if (!params.thinking_start_tag.empty() && !params.thinking_end_tags.empty()) {
    const auto& end = params.thinking_end_tags.front();
    const size_t start = params.generation_prompt.rfind(params.thinking_start_tag);
    if (start != std::string::npos && params.generation_prompt.find(end, start) == std::string::npos)
      format->open_reasoning_end = end;
  }
  format->shown_tokens = params.preserved_tokens;
  format->stops = params.additional_stops;
  return format;
}

// The format of calls as WithToolsAsText describes them, behind the reasoning and the prompt's end that `params` have.
std::shared_ptr<const ChatFormat> ToolTextFormat(common_chat_params params, const Dialog& dialog) {
  const bool is_forced = dialog.tool_choice == ToolChoice::kRequired;
  const auto inputs = ToCallInputs(dialog);
  const auto tools = common_chat_tools_to_json_oaicompat(inputs.tools);
  const bool is_thinking =
      dialog.is_reasoning_split && !params.thinking_start_tag.empty() && !params.thinking_end_tags.empty();
  const auto parser = build_chat_peg_parser([&](common_chat_peg_builder& p) {
    auto reasoning = p.eps();
    if (is_thinking) {
      const auto& end = params.thinking_end_tags.front();
      reasoning =
          p.optional(p.optspace(params.thinking_start_tag) + p.reasoning(p.until(end)) + p.optspace(end) + p.space());
    }
    const auto call = p.standard_json_tools(kCallStart, kCallEnd, tools, false, true);
    const auto some = p.trigger_rule("tool-calls", p.one_or_more(call + p.space()));
    const auto calls = is_forced ? some : p.optional(some);
    return p.prefix(params.generation_prompt, params.thinking_start_tag)
           << reasoning + p.optional(p.content(p.until(kCallStart))) + calls + p.end();
  });
  params.format = COMMON_CHAT_FORMAT_PEG_NATIVE;
  params.parser = parser.save();
  params.grammar_lazy = !is_forced;
  params.grammar =
      build_grammar([&](const common_grammar_builder& builder) { parser.build_grammar(builder, params.grammar_lazy); });
  params.grammar_triggers.clear();
  if (params.grammar_lazy) params.grammar_triggers.push_back({COMMON_GRAMMAR_TRIGGER_TYPE_WORD, kCallStart});
  return ToFormat(params, dialog);
}

// Analysing a template for a format takes some milliseconds; the prompts of a conversation share the result.
class FormatCache {
 public:
  template <class Make>
  std::shared_ptr<const ChatFormat> Get(const std::string& key, Make make) {
    {
      std::lock_guard lock(mutex_);
      const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) { return entry.key == key; });
      if (found != entries_.end()) {
        entries_.splice(entries_.begin(), entries_, found);
        return found->format;
      }
    }
    auto format = make();
    if (key.size() > kMaxKeyBytes) return format;
    std::lock_guard lock(mutex_);
    entries_.push_front({key, format});
    if (entries_.size() > kMaxEntries) entries_.pop_back();
    return format;
  }

 private:
  static constexpr size_t kMaxEntries = 32;
  static constexpr size_t kMaxKeyBytes = 1 << 18;
  struct Entry {
    std::string key;
    std::shared_ptr<const ChatFormat> format;
  };
  std::mutex mutex_;
  std::list<Entry> entries_;
};

// Everything that a format depends on. `prompt_end` is what the template writes for the answer's beginning.
std::string KeyOf(const Dialog& dialog, const std::string& prompt_end) {
  std::string key;
  const auto add = [&](const std::string& part) { key.append(std::to_string(part.size())).append(":").append(part); };
  add(dialog.cache_key);
  add(prompt_end);
  add(dialog.required_tool);
  key += dialog.tool_choice == ToolChoice::kRequired ? 'r' : 'a';
  key += dialog.parallel_tool_calls ? (*dialog.parallel_tool_calls ? 'p' : 's') : 'd';
  key += dialog.is_reasoning_split ? 't' : 'n';
  for (const auto& [name, value] : dialog.template_arguments) add(name), add(value);
  add(dialog.argument_rules);
  key += '|';
  for (const auto& tool : dialog.tools) add(tool.name), add(tool.description), add(tool.parameters);
  return key;
}

bool HasTools(const Dialog& dialog) {
  return !dialog.tools.empty() || std::ranges::any_of(dialog.messages, [](const auto& message) {
    return message.role == "tool" || !message.tool_calls.empty();
  });
}

}  // namespace

struct ChatTemplate::Templates {
  common_chat_templates_ptr value;
  Traits traits;
  // Of the template for dialogs with tools, where the model has another one for these.
  std::optional<Traits> tool_traits;
  bool has_parallel_calls = false;
  FormatCache formats;

  const Traits& TraitsFor(const Dialog& dialog) const {
    return tool_traits && !dialog.tools.empty() ? *tool_traits : traits;
  }
  common_chat_params Apply(const common_chat_templates_inputs& inputs) const {
    return common_chat_templates_apply(value.get(), inputs);
  }
  // llama.cpp also makes a grammar, and does not take every schema for it.
  common_chat_params ApplyWithFormat(const Dialog& dialog) const {
    auto inputs = ToInputs(dialog);
    try {
      return Apply(inputs);
    } catch (const std::exception&) {
      if (dialog.argument_rules.empty()) throw;
      inputs.tool_choice = COMMON_CHAT_TOOL_CHOICE_NONE;
      return Apply(inputs);
    }
  }
  // The text alone, without the time for a format.
  common_chat_params ApplyAsText(const Dialog& dialog) const {
    auto inputs = ToInputs(dialog);
    inputs.force_pure_content = true;
    return Apply(inputs);
  }
};

ChatTemplate::ChatTemplate(const llama_model* model, const std::string& override_source) {
  QuietCommonLog();
  const char* own = model ? llama_model_chat_template(model, nullptr) : nullptr;
  const std::string source = !override_source.empty() ? override_source : own ? own : "";
  if (source.empty()) {
    reason_ = "it has no chat template; set chat_template in model_kwargs";
    return;
  }
  try {
    if (source != "chatml") common_chat_template(source, "", "");
    auto templates = std::make_unique<Templates>();
    templates->value = common_chat_templates_init(model, override_source);
    const auto* value = templates->value.get();
    templates->traits = Analyse(common_chat_templates_source(value));
    const auto for_tools = common_chat_templates_source(value, "tool_use");
    if (!for_tools.empty()) templates->tool_traits = Analyse(for_tools);
    templates->has_parallel_calls = common_chat_templates_get_caps(value)["supports_parallel_tool_calls"];
    templates_ = std::move(templates);
  } catch (const std::exception& error) {
    if (!override_source.empty())
      throw std::runtime_error(std::string("the chat template cannot be parsed: ") + error.what());
    reason_ =
        std::string("its chat template cannot be parsed; set chat_template in model_kwargs (") + error.what() + ")";
  }
}

ChatTemplate::~ChatTemplate() = default;

ChatPrompt ChatTemplate::Apply(const Dialog& dialog, const Dialog& marked) const {
  if (!templates_) throw TemplateError(reason_);
  try {
    return ApplyChecked(dialog, marked);
  } catch (const std::exception& error) {
    throw TemplateError(std::string("its chat template refuses the messages: ") + error.what());
  }
}

ChatPrompt ChatTemplate::ApplyChecked(Dialog dialog, Dialog marked) const {
  const auto& traits = templates_->TraitsFor(dialog);
  const bool are_tools_text = HasTools(dialog) && !traits.knows_tools;
  if (!dialog.parallel_tool_calls) dialog.parallel_tool_calls = are_tools_text || templates_->has_parallel_calls;
  marked.parallel_tool_calls = dialog.parallel_tool_calls;
  const auto tools = dialog.tools;
  if (are_tools_text) {
    dialog = WithToolsAsText(dialog);
    marked = WithToolsAsText(marked);
  }
  const auto with_tools = [](Dialog plain, const std::vector<Tool>& others) {
    plain.tools = others;
    return plain;
  };
  const auto format_with = [&](const std::vector<Tool>& described) {
    const auto changed = are_tools_text ? dialog : with_tools(dialog, described);
    const auto params = templates_->Apply(ToCallInputs(changed));
    return are_tools_text && !tools.empty() ? ToolTextFormat(params, with_tools(dialog, described))
                                            : ToFormat(params, changed);
  };
  const auto format = [&] {
    try {
      return format_with(tools);
    } catch (const std::exception&) {
      if (dialog.argument_rules.empty()) throw;
      return format_with(Outlined(tools));
    }
  };
  const bool has_format = !tools.empty() || traits.is_special || traits.has_marked_answers ||
                          (traits.has_reasoning && dialog.is_reasoning_split);

  // The text of a special template, and of one whose answers are continued behind marks, comes only with a format.
  if (traits.is_special || (has_format && !dialog.prefix.empty())) {
    return {templates_->ApplyWithFormat(marked).prompt, format()};
  }
  const auto prefix = std::exchange(marked.prefix, {});
  const auto params = templates_->ApplyAsText(marked);
  ChatPrompt prompt{params.prompt + prefix, nullptr};
  if (has_format) {
    prompt.format = templates_->formats.Get(KeyOf(with_tools(dialog, tools), params.generation_prompt), format);
  }
  return prompt;
}

}  // namespace aana::llama
