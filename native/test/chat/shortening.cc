#include <string>
#include <vector>

#include "../check.h"
#include "core/llama/prompt/shortened_dialog.h"
#include "tests.h"

namespace aana::test {

using namespace aana::llama;

namespace {

// A token for each byte, and ten for each message.
size_t CountBytes(const Dialog& dialog) {
  size_t n = 0;
  for (const auto& message : dialog.messages) n += message.content.size() + 10;
  return n;
}

ChatMessage Said(const std::string& role, size_t n_bytes) { return {role, std::string(n_bytes, role[0])}; }

ChatMessage Calling(const std::string& id) {
  ChatMessage message{"assistant", ""};
  message.tool_calls = {{id, "weather", "{}"}};
  return message;
}

ChatMessage Result(const std::string& id, size_t n_bytes) {
  auto message = Said("tool", n_bytes);
  message.tool_call_id = id;
  return message;
}

// The roles and lengths of the messages that are left, such as "s5 u5"; "too long" when nothing fits.
std::string Left(const std::vector<ChatMessage>& messages, size_t n_most) {
  const auto shortened = Shorten({.messages = messages}, n_most, CountBytes);
  if (!shortened) return "too long";
  Expect(CountBytes(shortened->dialog) <= n_most, "it has too many tokens");
  Expect(shortened->n_dropped == messages.size() - shortened->dialog.messages.size(),
         "another number of messages is told");
  std::string left;
  for (const auto& message : shortened->dialog.messages) {
    left += (left.empty() ? "" : " ") + message.role.substr(0, 1) + std::to_string(message.content.size());
  }
  return left;
}

void ExpectLeft(const std::vector<ChatMessage>& messages, size_t n_most, const std::string& expected) {
  const auto left = Left(messages, n_most);
  Expect(left == expected, std::to_string(n_most) + " tokens: " + left + ", not " + expected);
}

}  // namespace

void TestShortening() {
  const std::vector<ChatMessage> dialog = {Said("system", 5), Said("user", 10),      Said("assistant", 20),
                                           Said("user", 30),  Said("assistant", 40), Said("user", 50)};
  Test("a dialog that fits stays as it is", [&] { ExpectLeft(dialog, 215, "s5 u10 a20 u30 a40 u50"); });
  Test("the oldest turns are dropped first, as few as need be", [&] {
    ExpectLeft(dialog, 214, "s5 u30 a40 u50");
    ExpectLeft(dialog, 165, "s5 u30 a40 u50");
    ExpectLeft(dialog, 164, "s5 u50");
    ExpectLeft(dialog, 75, "s5 u50");
  });
  Test("then the middle of the longest text is cut", [&] {
    const auto shortened = Shorten({.messages = dialog}, 60, CountBytes);
    Expect(shortened && shortened->n_dropped == 4, "it dropped other messages");
    const auto& text = shortened->dialog.messages.back().content;
    Expect(text.size() >= 25 && text.size() <= 35, "it has " + std::to_string(text.size()) + " bytes");
    Expect(text.starts_with("uuuu") && text.ends_with("uuuu") && text.find("u…u") != std::string::npos, text);
    Expect(shortened->dialog.messages.front().content == "sssss", "a short text was cut, too");
  });
  Test("two long texts are cut alike", [] {
    const auto shortened = Shorten({.messages = {Said("system", 400), Said("user", 300)}}, 260, CountBytes);
    Expect(shortened.has_value(), "it does not fit");
    const auto& messages = shortened->dialog.messages;
    Expect(messages[0].content.size() == messages[1].content.size() && messages[0].content.size() > 100,
           "they have other lengths");
  });
  Test("characters stay whole", [] {
    std::string text;
    for (int i = 0; i < 100; i++) text += "€";
    for (size_t n_most = 20; n_most < 60; n_most++) {
      const auto shortened = Shorten({.messages = {{"user", text}}}, n_most, CountBytes);
      Expect(shortened.has_value(), "it does not fit");
      std::string left = shortened->dialog.messages[0].content;
      const auto ellipsis = left.find("…");
      Expect(ellipsis != std::string::npos && ellipsis % 3 == 0 && left.size() % 3 == 0, left);
    }
  });
  Test("calls of tools stay with their results", [] {
    const std::vector<ChatMessage> calls = {Said("user", 10), Calling("a"), Result("a", 30), Said("assistant", 5),
                                            Said("user", 10), Calling("b"), Result("b", 30), Result("b", 9)};
    ExpectLeft(calls, 160, "u10 a0 t30 t9");
  });
  Test("the last turn loses its oldest steps, and keeps its question and its last step", [] {
    const std::vector<ChatMessage> steps = {Said("system", 5), Said("user", 10), Calling("a"), Result("a", 30),
                                            Calling("b"),      Result("b", 30),  Calling("c"), Result("c", 30)};
    ExpectLeft(steps, 170, "s5 u10 a0 t30 a0 t30");
    ExpectLeft(steps, 100, "s5 u10 a0 t30");
  });
  Test("what comes before the first question is a turn", [] {
    ExpectLeft({Said("assistant", 20), Said("user", 10)}, 30, "u10");
    ExpectLeft({Said("system", 3), Said("system", 3), Said("assistant", 20), Said("user", 10)}, 50, "s3 s3 u10");
  });
  Test("a dialog whose messages alone are too many tokens does not fit", [&] {
    ExpectLeft(dialog, 20, "too long");
    ExpectLeft({}, 20, "");
  });
}

}  // namespace aana::test
