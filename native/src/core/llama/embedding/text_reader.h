#pragma once

#include <llama.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/llama/embedding/options.h"
#include "core/llama/embedding/request.h"
#include "core/llama/model/model.h"
#include "core/llama/prompt/control_texts.h"

namespace aana::llama {

// A text of a request that cannot be read.
struct TextError {
  ErrorCode code = ErrorCode::kFailed;
  std::string message;
  int32_t n_tokens = 0;
};

// Turns texts, and pairs of a query and a document, into the tokens that the model computes. The texts of control
// tokens in them are text. Any thread.
class TextReader {
 public:
  // The model must outlive it. `n_context` tokens fit into one text. Throws LoadError for a template that is not one.
  TextReader(const Model& model, const EmbeddingOptions& options, int32_t n_context);

  // Returns the tokens of the text at `index`, at least one. Throws TextError, which is the caller's fault.
  std::vector<llama_token> Read(const EmbeddingRequest& request, size_t index) const;

 private:
  struct Text {
    const std::string& content;
    std::string name;  // in errors
  };
  struct Inner {
    std::vector<llama_token> tokens;
    bool is_complete = true;  // false: the text has more tokens
  };

  std::vector<llama_token> ReadTokens(const std::vector<int32_t>& tokens, const std::string& name,
                                      Truncation truncation) const;
  std::vector<llama_token> ReadText(const Text& text, Truncation truncation) const;
  std::vector<llama_token> ReadPair(const std::string& query, const Text& document, Truncation truncation) const;
  std::vector<llama_token> ReadTemplate(const std::string& query, const Text& document, Truncation truncation) const;
  // Returns the tokens of a text beside `n_used` others. `together` ends the number of tokens in the error.
  std::vector<llama_token> ReadRest(const Text& text, size_t n_used, const char* together, Truncation truncation) const;
  // Leaves `n_room` of the tokens.
  static void Truncate(std::vector<llama_token>& tokens, size_t n_room, Truncation truncation);
  // Returns at least one token more than `n_room` of a text that has more; the tokens at its end for
  // Truncation::kStart.
  Inner ReadInner(const std::string& text, size_t n_room, Truncation truncation) const;
  std::vector<llama_token> FillTemplate(std::string_view query, std::string_view document) const;
  TextError TooLong(const std::string& name, size_t n_tokens, bool is_complete, const char* together) const;

  const Model& model_;
  const EmbeddingTask task_;
  const size_t n_context_;
  const ControlTexts control_texts_;
  std::string template_;
  // The tokens that the model wants around a text.
  std::vector<llama_token> begin_;
  std::vector<llama_token> end_;
  // The tokens between a query and a document.
  std::vector<llama_token> between_;
};

}  // namespace aana::llama
