#include "core/llama/prompt/prompt_reader.h"

#include <chrono>
#include <exception>
#include <stdexcept>
#include <utility>

#include "core/llama/tools/call_grammar.h"
#include "core/llama/prompt/dialog_texts.h"
#include "core/llama/prompt/overflow.h"
#include "core/llama/sampling/sampling_error.h"

namespace aana::llama {
namespace {

using Result = std::variant<ReadRequest, Event>;

// Lets the answer meet the format. Throws SamplingError.
void Use(const ChatFormat& format, SamplingParams& sampling, const PromptTokenizer& tokenizer) {
  sampling.stop.insert(sampling.stop.end(), format.stops.begin(), format.stops.end());
  auto& own = sampling.grammar;
  if (!own.text.empty() && !format.open_reasoning_end.empty()) {
    // Else the text of the grammar would be the reasoning.
    own.text = GrammarAfter(format.open_reasoning_end, own.text, std::exchange(own.root, kAfterRule));
    own.trigger_words = {format.open_reasoning_end};
    own.visible_tokens = tokenizer.ControlTokens(format.shown_tokens);
  }
  if (format.grammar.empty()) return;
  if (!own.text.empty()) {
    // A call that the model may make gives way to the grammar that the answer must meet.
    if (format.is_grammar_lazy) return;
    throw SamplingError(Fault::kCaller, "an answer that must call a tool cannot have a grammar of its own");
  }
  GrammarParams grammar;
  grammar.text = format.grammar;
  grammar.visible_tokens = tokenizer.ControlTokens(format.shown_tokens);
  if (format.is_grammar_lazy) {
    grammar.trigger_words = format.grammar_triggers;
    if (grammar.trigger_words.empty()) return;
  } else {
    grammar.prefix = format.grammar_prefix;
  }
  sampling.grammar = std::move(grammar);
}

// What a request with images cannot have. Throws SamplingError or std::invalid_argument.
void CheckImages(const Request& request, const std::vector<PromptImage>& images, int32_t n_pass) {
  if (request.overflow != Overflow::kError) {
    throw SamplingError(Fault::kCaller,
                        "a prompt with images or audio cannot be shortened, because they have no middle to leave out; "
                        "leave out overflow");
  }
  if (request.sampling.n_prompt_logprobs >= 0) {
    throw SamplingError(Fault::kCaller,
                        "the tokens of images and audio have no log-probabilities; leave out prompt_logprobs");
  }
  if (request.sampling.is_reproducible) {
    throw SamplingError(Fault::kCaller,
                        "an answer to a prompt with images or audio cannot be reproducible, because these are "
                        "computed in other passes; leave out reproducible");
  }
  for (const auto& image : images) {
    if (image.is_causal || image.n_cells <= static_cast<size_t>(n_pass)) continue;
    throw std::invalid_argument("an image has " + std::to_string(image.n_cells) +
                                " tokens, and the engine computes at most " + std::to_string(n_pass) +
                                " tokens of an image in one pass");
  }
}

// What becomes of a request for a completion whose prompt has these tokens.
Result Admit(Request&& request, PromptTokenizer::Tokens&& prompt, Dropped dropped, const PromptTokenizer& tokenizer,
             RuleFinder& rules, int32_t n_context) {
  const auto n_prompt = static_cast<int32_t>(prompt.is_complete ? prompt.tokens.size() : prompt.n_least);
  if (n_prompt >= n_context) {
    const std::string message = std::string("the prompt has ") + (prompt.is_complete ? "" : "more than ") +
                                std::to_string(n_prompt) + " tokens, the context holds " + std::to_string(n_context);
    return Event{request.id, ErrorEvent{ErrorCode::kPromptTooLong, Fault::kCaller, message, n_prompt, n_context}};
  }
  if (n_prompt == 0) {  // an empty text, and a model that begins texts with no token of its own
    return Event{request.id, ErrorEvent{ErrorCode::kEmptyPrompt, Fault::kCaller, "the prompt is empty", 0, n_context}};
  }
  if (request.sampling.max_tokens == 0)
    return Event{request.id, EndEvent{.reason = FinishReason::kLength,
                                      .n_prompt = n_prompt,
                                      .dropped = dropped,
                                      .n_image = MediaTokens(prompt.images, false),
                                      .n_sound = MediaTokens(prompt.images, true)}};
  const bool has_own_grammar = !request.sampling.grammar.text.empty();
  if (prompt.format) Use(*prompt.format, request.sampling, tokenizer);
  auto found = rules.Find(request.sampling, request.terms.cache_key);
  const auto* dialog = std::get_if<Dialog>(&request.prompt);
  if (dialog && has_own_grammar && found.grammar && !found.grammar->Skip(dialog->prefix)) {
    throw SamplingError(Fault::kCaller, "the form of the answer does not allow its prefix");
  }
  ReadRequest read{.id = request.id,
                   .tokens = std::move(prompt.tokens),
                   .sampling = std::move(request.sampling),
                   .rules = std::move(found),
                   .shown_tokens = {},
                   .terms = std::move(request.terms),
                   .adapter = request.adapter,
                   .arrived_at = request.arrived_at};
  read.dropped = dropped;
  read.images = std::move(prompt.images);
  read.media_prompt = std::move(prompt.media_prompt);
  if (prompt.format) read.shown_tokens = tokenizer.ControlTokens(prompt.format->shown_tokens);
  if (request.overflow == Overflow::kShift) read.n_kept = KeptTokens(tokenizer, request.prompt, read.tokens, n_context);
  return read;
}

// Throws std::invalid_argument for a dialog of so many messages that its template would hold up other requests.
CountEvent Count(const CountRequest& request, const PromptTokenizer& tokenizer, int32_t n_context) {
  if (const size_t n_least = tokenizer.LeastTokens(request.prompt); n_least > MostRead(n_context)) {
    throw std::invalid_argument("it has more than " + std::to_string(n_least) + " tokens, and the context holds " +
                                std::to_string(n_context));
  }
  const auto* text = std::get_if<std::string>(&request.prompt);
  auto read = text && !request.has_outer_tokens ? PromptTokenizer::Tokens{tokenizer.ReadInner(*text)}
                                                : tokenizer.Read(request.prompt, PromptTokenizer::kNoLimit);
  if (request.tells_tokens && !read.images.empty())
    throw std::invalid_argument("the tokens of images and audio have no numbers");
  auto& tokens = read.tokens;
  CountEvent event{.n_tokens = static_cast<int32_t>(tokens.size())};
  if (!request.tells_tokens) return event;
  for (const auto token : tokens) {
    const auto piece = tokenizer.TextOf(token);
    event.text += piece;
    event.n_bytes.push_back(static_cast<int32_t>(piece.size()));
  }
  event.tokens = std::move(tokens);
  return event;
}

Result Read(PromptReader::Job&& job, const PromptTokenizer& tokenizer, RuleFinder& rules, ChatAnswers& answers,
            PromptReader::Room room) {
  const auto n_context = room.n_context;
  const auto id = IdOf(job);
  const auto refused = [&](ErrorCode code, Fault fault, std::string message) {
    return Event{id, ErrorEvent{code, fault, std::move(message), 0, n_context}};
  };
  if (TermsOf(job).IsOverdue(std::chrono::steady_clock::now())) {
    return refused(ErrorCode::kDeadlineExceeded, Fault::kOverload, "its deadline had passed when the engine got to it");
  }
  const std::string unreadable = "the prompt could not be read: ";
  try {
    if (const auto* count = std::get_if<CountRequest>(&job)) {
      return Event{id, Count(*count, tokenizer, n_context)};
    }
    auto& request = std::get<Request>(job);
    Dropped dropped;
    const bool is_shortened = request.overflow == Overflow::kTruncateMiddle && !HasMedia(request.prompt);
    auto tokens = is_shortened
                      ? ReadShortened(tokenizer, request.prompt, RoomForPrompt(n_context, request.sampling.max_tokens),
                                      n_context, dropped)
                      : tokenizer.Read(request.prompt, static_cast<size_t>(n_context));
    if (!tokens.images.empty()) CheckImages(request, tokens.images, room.n_pass);
    if (tokens.format) answers.Begin(id, tokens.format->syntax);
    return Admit(std::move(request), std::move(tokens), dropped, tokenizer, rules, n_context);
  } catch (const TemplateError& error) {
    return refused(ErrorCode::kTemplate, Fault::kCaller, error.what());
  } catch (const SamplingError& error) {
    return refused(ErrorCode::kInvalidSampling, error.fault(), error.what());
  } catch (const std::invalid_argument& error) {
    return refused(ErrorCode::kFailed, Fault::kCaller, unreadable + error.what());
  } catch (const std::length_error& error) {
    return refused(ErrorCode::kFailed, Fault::kCaller, unreadable + error.what());
  } catch (const std::exception& error) {
    return refused(ErrorCode::kFailed, Fault::kDeployment, unreadable + error.what());
  }
}

}  // namespace

void PromptReader::Start(const PromptTokenizer& tokenizer, RuleFinder& rules, Room room) {
  jobs_.Start(
      "aana-prompts",
      [this, &tokenizer, &rules, room](Job& job) { return Read(std::move(job), tokenizer, rules, answers_, room); },
      [this](Job&, Result result) {
        Deliver(std::move(result));
        return false;
      });
}

void PromptReader::Post(Job job) {
  std::visit(
      [](auto& request) {
        if (auto* dialog = std::get_if<Dialog>(&request.prompt)) dialog->cache_key = request.terms.cache_key;
      },
      job);
  jobs_.Post(std::move(job));
}

void PromptReader::Deliver(std::variant<ReadRequest, Event> result) {
  if (auto* event = std::get_if<Event>(&result)) return outbox_.Post({std::move(*event)});
  auto& request = std::get<ReadRequest>(result);
  if (request.images.empty())
    inbox_.Post(std::move(request));
  else
    images_.Post(std::move(request));
}

}  // namespace aana::llama
