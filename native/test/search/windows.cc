// Attempts with rising temperatures, and shared cells, over a model of a few texts.
#include <cmath>
#include <functional>

#include "../check.h"
#include "core/llama/sampling/sampling_error.h"
#include "core/whisper/decoder/cells.h"
#include "core/whisper/decoder/window_decoder.h"
#include "tests.h"

namespace aana::test {
namespace {

struct Decoded {
  DecodedText text;
  size_t prompt_rows = 0;
  size_t most_rows = 0;
};

// Decodes a window with `logits_for`, which fills the logits after a text, given as the tokens after the prompt.
Decoded Decode(DecodingTask task, const std::function<void(const std::vector<int32_t>&, std::span<float>)>& logits_for,
               double no_speech) {
  const auto vocabulary = SmallVocabulary();
  const auto size = vocabulary.texts.size();
  Cells cells;
  const AudioKeys audio{nullptr, 1500};
  Decoded decoded;
  {
    const size_t n_prompt = task.prompt.tokens.size();
    WindowDecoder window(vocabulary, cells, audio, std::move(task));
    std::vector<int32_t> token_of_cell(1000, -1);
    while (!window.text()) {
      std::vector<DecoderRow> rows;
      window.AddRows(rows);
      Expect(!rows.empty() && rows.size() < 100, "rows of a step");
      std::vector<float> logits;
      for (const auto& row : rows) {
        // Two rows of a step never write the same cell, and no row writes a cell that another text reads.
        token_of_cell[static_cast<size_t>(row.cells.back())] = row.token;
        if (row.wants_logits) logits.resize(logits.size() + size, -INFINITY);
      }
      decoded.most_rows = std::max(decoded.most_rows, rows.size());
      size_t at = 0;
      for (const auto& row : rows) {
        if (!row.wants_logits) continue;
        const auto own = std::span(logits).subspan(size * at++, size);
        std::vector<int32_t> text;
        for (size_t i = n_prompt; i < row.cells.size(); i++)
          text.push_back(token_of_cell[static_cast<size_t>(row.cells[i])]);
        if (row.cells.size() <= n_prompt) {
          decoded.prompt_rows++;
          own[static_cast<size_t>(vocabulary.no_speech)] = static_cast<float>(std::log(no_speech / (1 - no_speech)));
          own[0] = std::max(own[0], 0.0F);
        }
        if (row.cells.size() >= n_prompt) logits_for(text, own);
      }
      window.Advance(logits);
    }
    decoded.text = *window.text();
  }
  // All cells were given back: the first one is free again.
  Expect(cells.Take() == 0, "a cell is still used");
  return decoded;
}

DecodingTask Task(std::vector<float> temperatures) {
  const auto vocabulary = SmallVocabulary();
  DecodingTask task;
  task.prompt.tokens = {vocabulary.start, vocabulary.first_language, vocabulary.transcribe, vocabulary.no_timestamps};
  task.logits.without_timestamps = true;
  task.logits.suppress_blank = false;
  task.search.max_tokens = 20;
  task.temperatures = std::move(temperatures);
  return task;
}

// A text of three words, each with this probability beside another word, then the end.
std::function<void(const std::vector<int32_t>&, std::span<float>)> Words(double probability) {
  return [probability](const std::vector<int32_t>& text, std::span<float> logits) {
    if (text.size() == 3) {
      logits[static_cast<size_t>(SmallVocabulary().end)] = 0;
      return;
    }
    logits[text.size()] = static_cast<float>(std::log(probability));
    for (int32_t word = 5; word < kWords; word++)
      logits[static_cast<size_t>(word)] = static_cast<float>(std::log((1 - probability) / 5));
  };
}

}  // namespace

void TestWindows() {
  Test("a likely text is found at the first temperature, after one computation of the prompt", [] {
    const auto decoded = Decode(Task({0, 0.5F, 1}), Words(0.9), 0.1);
    Expect(decoded.text.temperature == 0 && decoded.text.is_speech && decoded.text.tokens.size() == 3 &&
               decoded.text.tokens[1].id == 1,
           "another text");
    ExpectNear(decoded.text.average_log_probability, 3 * std::log(0.9) / 4, 1e-5, "mean log-probability");
    ExpectNear(decoded.text.no_speech_probability, 0.1, 1e-5, "probability that nobody speaks");
    Expect(decoded.prompt_rows == 2, "logits of the start and of the end of the prompt");
  });
  Test("a logit that is not a number ends the window", [] {
    for (const size_t at : {0, 2}) {
      bool is_thrown = false;
      try {
        Decode(
            Task({0, 0.5F}),
            [at](const std::vector<int32_t>& text, std::span<float> logits) {
              Words(0.9)(text, logits);
              if (text.size() == at) logits[3] = NAN;
            },
            0.1);
      } catch (const llama::SamplingError&) {
        is_thrown = true;
      }
      Expect(is_thrown, "it made a text");
    }
  });
  Test("an unlikely text is decoded again with each temperature, and the likeliest attempt stands", [] {
    auto task = Task({0, 0.5F, 1});
    task.log_prob_threshold = -0.01;
    const auto decoded = Decode(task, Words(0.6), 0.1);
    Expect(decoded.prompt_rows == 2, "the prompt was computed again");
    ExpectNear(decoded.text.average_log_probability, 3 * std::log(0.6) / 4, 1e-5, "the likeliest attempt");
  });
  Test("an unlikely text where nobody speaks is no speech, and is not tried again", [] {
    auto task = Task({0, 0.5F, 1});
    task.log_prob_threshold = -0.01;
    const auto decoded = Decode(task, Words(0.6), 0.9);
    Expect(!decoded.text.is_speech && decoded.text.temperature == 0, "it was tried again");
    Expect(Decode(Task({0}), Words(0.9), 0.9).text.is_speech, "a likely text is speech whatever the probability says");
  });
  Test("a text that repeats itself is decoded again", [] {
    const auto repeat = [](const std::vector<int32_t>& text, std::span<float> logits) {
      logits[0] = text.size() < 20 ? 2.0F : -INFINITY;
      logits[static_cast<size_t>(SmallVocabulary().end)] = 0.0F;
      for (int32_t word = 1; word < kWords; word++) logits[static_cast<size_t>(word)] = -1;
    };
    auto task = Task({0, 1});
    task.search.best_of = 4;
    const auto decoded = Decode(task, repeat, 0.1);
    Expect(decoded.text.temperature == 1 && decoded.text.compression_ratio <= 2.4,
           std::to_string(decoded.text.compression_ratio));
    task.compression_ratio_threshold = 100;
    Expect(Decode(task, repeat, 0.1).text.temperature == 0, "the threshold is not that of the task");
  });
  Test("beams share the cells of what they have in common", [] {
    auto task = Task({0});
    task.search.beam_size = 3;
    const auto decoded = Decode(task, Words(0.5), 0.1);
    Expect(decoded.text.tokens.size() == 3 && decoded.most_rows == 4, std::to_string(decoded.most_rows));
  });
  Test("a cell is free again when its last user gives it back", [] {
    Cells cells;
    CellList one(cells);
    one.Append();
    one.Append();
    {
      auto two = one;
      two.Append();
      one = CellList(cells);
      Expect(cells.Take() == 3 && cells.size() == 4, "a shared cell was taken");
    }
    Expect(cells.Take() == 0 && cells.Take() == 1 && cells.Take() == 2 && cells.size() == 4, "cells were lost");
  });
}

}  // namespace aana::test
