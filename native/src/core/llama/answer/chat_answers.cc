#include "core/llama/answer/chat_answers.h"

#include <utility>

namespace aana::llama {
namespace {

void Write(AnswerDelta&& delta, TextEvent& event) {
  event.text = std::move(delta.content);
  event.reasoning = std::move(delta.reasoning);
  event.calls = std::move(delta.calls);
}

bool IsEmpty(const AnswerDelta& delta) {
  return delta.content.empty() && delta.reasoning.empty() && delta.calls.empty();
}

}  // namespace

void ChatAnswers::Begin(RequestId id, std::shared_ptr<const AnswerSyntax> syntax) {
  AnswerParser parser(std::move(syntax));
  std::lock_guard lock(mutex_);
  parsers_.insert_or_assign(id, std::move(parser));
}

void ChatAnswers::Read(std::vector<Event>& events) {
  std::vector<Event> read;
  read.reserve(events.size());
  for (auto& event : events) {
    if (auto* parser = Find(event.id)) {
      if (auto* text = std::get_if<TextEvent>(&event.what)) {
        // Also an empty one, because the reader acknowledges each.
        Write(parser->Push(text->text, text->n_tokens), *text);
      } else {
        if (auto* end = std::get_if<EndEvent>(&event.what)) {
          auto delta = parser->Finish();
          if (!IsEmpty(delta))
            Write(std::move(delta), std::get<TextEvent>(read.emplace_back(event.id, TextEvent{}).what));
          end->n_reasoning = parser->n_reasoning();
        }
        std::lock_guard lock(mutex_);
        parsers_.erase(event.id);
      }
    }
    read.push_back(std::move(event));
  }
  events = std::move(read);
}

AnswerParser* ChatAnswers::Find(RequestId id) {
  std::lock_guard lock(mutex_);
  const auto found = parsers_.find(id);
  return found == parsers_.end() ? nullptr : &found->second;
}

}  // namespace aana::llama
