#include "core/llama/tools/argument_grammar.h"

#include <json-schema-to-grammar.h>
#include <json.h>
#include <peg-parser.h>

#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace aana::llama {
namespace {

// Names of schemas in a parser, and the rules for their values.
using SchemaRules = std::map<std::string, std::string>;

std::optional<SchemaRules> RulesOf(const std::vector<Tool>& tools) {
  SchemaRules rules;
  for (const auto& tool : tools) {
    const auto prefix = "tool-" + tool.name;
    if (!rules.emplace(prefix + "-schema", tool.rules.all).second) return std::nullopt;
    for (const auto& [name, rule] : tool.rules.values) {
      if (!rules.emplace(prefix + "-arg-" + name + "-schema", rule).second) return std::nullopt;
    }
  }
  return rules;
}

// The name that llama.cpp gives a rule.
std::string RuleName(const std::string& name) {
  std::string result;
  bool is_replaced = false;
  for (const char c : name) {
    const bool is_kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    if (is_kept)
      result += c;
    else if (!is_replaced)
      result += '-';
    is_replaced = !is_kept;
  }
  return result;
}

// A parser as JSON, whose nodes are changed for its grammar. It does not parse after that.
class ParserNodes {
 public:
  explicit ParserNodes(const std::string& parser) : arena_(common_json::parse(parser)) {}

  std::string dump() const { return arena_.dump(); }

  // Returns whether there is a rule for each schema.
  bool ReplaceSchemas(const SchemaRules& rules) {
    const size_t nothing = Add({{"type", "epsilon"}});
    for (size_t id = 0; id < nothing; id++) {
      if (TypeOf(id) != "schema") continue;
      const auto rule = rules.find(nodes().at(id).at("name").get<std::string>());
      if (rule == rules.end()) return false;
      nodes().at(id) = common_json{{"type", "gbnf"}, {"child", nothing}, {"grammar", rule->second}};
    }
    return true;
  }

  // The text of an argument stands between marks, such as `<parameter=city>` and `</parameter>`.
  void ReplaceText(const std::string& argument_rule, const std::string& text_rule) {
    auto& rules = arena_.at("rules");
    if (!rules.contains(argument_rule)) return;
    const auto id = rules.at(argument_rule).get<size_t>();
    if (TypeOf(id) != "rule") return;
    const auto child = nodes().at(id).at("child").get<size_t>();
    const size_t replaced = WithText(child, text_rule);
    if (replaced != child) nodes().at(id)["child"] = replaced;
  }

 private:
  common_json& nodes() { return arena_.at("parsers"); }
  std::string TypeOf(size_t id) { return nodes().at(id).at("type").get<std::string>(); }

  size_t Add(const common_json& node) {
    nodes().push_back(node);
    return nodes().size() - 1;
  }

  // Returns a node that is like another one, but has the text of the rule in the place of any text. Arguments share
  // nodes, so it is a copy.
  size_t WithText(size_t id, const std::string& text_rule) {
    const auto type = TypeOf(id);
    if (type == "ref") {
      const auto name = nodes().at(id).at("name").get<std::string>();
      const auto target = arena_.at("rules").at(name).get<size_t>();
      const size_t replaced = WithText(target, text_rule);
      return replaced == target ? id : replaced;
    }
    if (type == "ac") return Marked(id, text_rule);
    if (type == "sequence") {
      const auto children = nodes().at(id).at("children").get<std::vector<size_t>>();
      for (size_t i = 0; i < children.size(); i++) {
        const size_t replaced = WithText(children[i], text_rule);
        if (replaced == children[i]) continue;
        auto copy = nodes().at(id);
        copy.at("children").at(i) = replaced;
        return Add(copy);
      }
      return id;
    }
    if (type != "rule" && type != "tag" && type != "atomic") return id;
    const auto child = nodes().at(id).at("child").get<size_t>();
    const size_t replaced = WithText(child, text_rule);
    if (replaced == child) return id;
    // A rule has a name, so its copy would take the place of the rule.
    if (type == "rule") return replaced;
    auto copy = nodes().at(id);
    copy["child"] = replaced;
    return Add(copy);
  }

  // `id` is a text up to a mark. The texts of the rules have no `<`, so the mark must begin so.
  size_t Marked(size_t id, const std::string& text_rule) {
    const auto& delimiters = nodes().at(id).at("delimiters");
    if (delimiters.size() != 1) return id;
    const auto mark = delimiters.at(size_t{0}).get<std::string>();
    const size_t begin = mark.find_first_not_of(" \n");
    if (begin == std::string::npos || mark[begin] != '<') return id;
    return Add({{"type", "gbnf"}, {"child", id}, {"grammar", text_rule + " " + gbnf_format_literal(mark)}});
  }

  common_json arena_;
};

}  // namespace

std::optional<std::string> ArgumentGrammar(const std::string& parser, bool is_lazy, const Dialog& dialog) {
  const auto rules = RulesOf(dialog.tools);
  if (!rules) return std::nullopt;
  ParserNodes nodes(parser);
  if (!nodes.ReplaceSchemas(*rules)) return std::nullopt;
  for (const auto& tool : dialog.tools) {
    for (const auto& [name, rule] : tool.rules.texts)
      nodes.ReplaceText(RuleName("tool-" + tool.name + "-arg-" + name), rule);
  }
  common_peg_arena arena;
  arena.load(nodes.dump());
  return build_grammar([&](const common_grammar_builder& builder) { arena.build_grammar(builder, is_lazy); }) +
         dialog.argument_rules;
}

}  // namespace aana::llama
