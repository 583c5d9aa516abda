#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "core/llama/answer/answer_parser.h"
#include "core/llama/event.h"

namespace aana::llama {

// Takes the texts of the requests apart whose answers have a format. It works on the thread that takes the events: a
// step of the decode loop does not wait for it.
class ChatAnswers {
 public:
  // Any thread, before the request's first event.
  void Begin(RequestId id, std::shared_ptr<const AnswerSyntax> syntax);
  // Replaces texts in events, which come in order. One thread.
  void Read(std::vector<Event>& events);

 private:
  // Null: the request's answer has no format.
  AnswerParser* Find(RequestId id);

  std::mutex mutex_;
  std::unordered_map<RequestId, AnswerParser> parsers_;
};

}  // namespace aana::llama
