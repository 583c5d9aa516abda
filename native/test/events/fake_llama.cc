#include "fake_llama.h"

#include <ggml-backend.h>
#include <llama.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "core/llama/draft/draft_model.h"
#include "core/llama/model/adapters.h"
#include "core/llama/gguf/gguf_check.h"
#include "core/llama/model/shifting.h"
#include "core/llama/loop/ubatches.h"
#include "core/llama/vision/projector.h"

namespace aana::fake {
namespace {

// What the cache holds for a token.
struct Value {
  int32_t token = 0;
  llama_pos position = 0;
  llama_pos next_position = 0;  // of what follows
  int32_t n_image_left = 0;     // cells of the image that follow
  uint64_t plain = 0;           // follows from the tokens up to this one, and from the adapter of each
  uint64_t passes = 0;          // and from the passes that computed them
};

uint64_t Mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL;
  return hash ^ (hash >> 29);
}

// Adapters have other numbers, and so has an adapter with another scale.
uint64_t NumberOf(const llama::AdapterUse& use) {
  return use.index < 0 ? 0 : static_cast<uint64_t>(use.index + 1) * 1000 + static_cast<uint64_t>(use.scale * 4);
}

Value After(const Value* last, int32_t token, size_t n_in_pass, const llama::AdapterUse& adapter) {
  const uint64_t plain = Mix(last ? last->plain : 17, static_cast<uint64_t>(token) + (NumberOf(adapter) << 32));
  const uint64_t passes = Mix(Mix(last ? last->passes : 17, static_cast<uint64_t>(token)), n_in_pass);
  const llama_pos position = last ? last->next_position : 0;
  return {token, position, position + 1, 0, plain, passes};
}

// Counts most of the time, so that guesses come true.
int32_t NextPlain(const Value& value) {
  if (value.plain % 8 != 0) return 1 + std::abs(value.token) % 7;
  return static_cast<int32_t>(value.plain / 8 % kPlainTokens);
}
int32_t NextByPasses(const Value& value) {
  return kPlainTokens + static_cast<int32_t>(value.passes % (kTokens - kPlainTokens));
}

constexpr uint32_t kStateMagic = 0xaf143cd8;

Setup setup;
std::mt19937 random_numbers;
std::string first_misuse;
int n_failures = 0;
int n_images_taken_back = 0;
int n_windows_lost = 0;
std::mutex threads_mutex;
std::set<std::thread::id> threads;
const llama_memory_i* cache = nullptr;  // of the one context

bool Happens(double probability) {
  return probability > 0 && std::uniform_real_distribution<>(0, 1)(random_numbers) < probability;
}

void Expect(bool is_true, const std::string& misuse) {
  if (is_true) return;
  if (first_misuse.empty()) first_misuse = misuse;
  throw Misuse(misuse);
}

// A cell of an image in a batch.
struct Cell {
  int32_t number;
  int32_t index;
  int32_t n_cells;
  int32_t n_positions;
  bool is_causal;
};

Cell CellAt(const llama_batch& batch, size_t index) {
  const float* values = batch.embd + index * kCellFloats;
  return {static_cast<int32_t>(values[0]), static_cast<int32_t>(values[1]), static_cast<int32_t>(values[2]),
          static_cast<int32_t>(values[3]), values[4] != 0};
}

// Adds where a cell of an image stands. Its image begins behind `last`.
void Place(Value& value, const Value* last, const Cell& cell) {
  const bool has_one_position = !setup.has_image_positions;
  // In models whose positions have several numbers, all cells of an image are at the first of its positions.
  const llama_pos begin =
      last ? (cell.index == 0 ? last->next_position : last->position - (has_one_position ? cell.index - 1 : 0)) : 0;
  value.position = begin + (has_one_position ? cell.index : 0);
  value.n_image_left = cell.n_cells - cell.index - 1;
  value.next_position = value.n_image_left == 0 ? begin + cell.n_positions : begin + cell.index + 1;
}

}  // namespace

std::atomic<std::chrono::nanoseconds> now{std::chrono::nanoseconds(1)};
void Advance(std::chrono::nanoseconds time) { now = now.load() + time; }

void Set(const Setup& next) {
  setup = next;
  random_numbers.seed(next.seed);
  n_failures = 0;
  n_images_taken_back = 0;
  n_windows_lost = 0;
  std::lock_guard lock(threads_mutex);
  threads.clear();
}

const std::string& FirstMisuse() { return first_misuse; }
int NFailures() { return n_failures; }
int NImagesTakenBack() { return n_images_taken_back; }
int NWindowsLost() { return n_windows_lost; }

size_t NThreads() {
  std::lock_guard lock(threads_mutex);
  return threads.size();
}

std::vector<int32_t> Continue(std::span<const int32_t> prompt, std::span<const size_t> chunks, size_t n,
                              bool depends_on_passes, const llama::AdapterUse& adapter) {
  Value last{};
  size_t chunk = 0;
  size_t n_left = 0;
  for (size_t i = 0; i < prompt.size(); i++) {
    if (n_left == 0) n_left = chunks[chunk++];
    last = After(i == 0 ? nullptr : &last, prompt[i], chunks[chunk - 1], adapter);
    n_left--;
  }
  std::vector<int32_t> text;
  while (text.size() < n) {
    const auto token = depends_on_passes ? NextByPasses(last) : NextPlain(last);
    if (token == kEnd) break;
    text.push_back(token);
    last = After(&last, token, 1, adapter);
  }
  return text;
}

llama_token CellNumber(int32_t picture, size_t cell) { return -(picture * 64 + static_cast<int32_t>(cell) + 1); }

llama::Embeddings EmbeddingsOf(const llama::PromptImage& image, int32_t picture) {
  std::vector<float> values;
  for (size_t cell = 0; cell < image.n_cells; cell++) {
    for (const auto value : {CellNumber(picture, cell), static_cast<int32_t>(cell), static_cast<int32_t>(image.n_cells),
                             static_cast<int32_t>(image.n_positions), image.is_causal ? 1 : 0}) {
      values.push_back(static_cast<float>(value));
    }
  }
  return std::make_shared<const std::vector<float>>(std::move(values));
}

}  // namespace aana::fake

// The types that llama.h declares without a definition.

struct llama_vocab {};

struct llama_model {
  llama_vocab vocab;
};

struct llama_memory_i {
  virtual ~llama_memory_i() = default;
  std::map<llama_seq_id, std::vector<std::shared_ptr<aana::fake::Value>>> sequences;
  // Where the tokens begin that layers with a window still have. Tokens that leave it are overwritten a little later.
  std::map<llama_seq_id, llama_pos> window_begins;
  size_t n_cells = 0;  // of all sequences, or of each
  bool is_unified = false;

  llama_pos WindowBegin(llama_seq_id id) const {
    const auto found = window_begins.find(id);
    return found == window_begins.end() ? 0 : found->second;
  }

  size_t Used() const {
    std::vector<const void*> used;
    for (const auto& [id, cells] : sequences) {
      for (const auto& cell : cells) used.push_back(cell.get());
    }
    std::ranges::sort(used);
    return used.size() - static_cast<size_t>(std::ranges::unique(used).size());
  }
};

struct llama_context {
  llama_memory_i memory;
  llama_context_params params;
  bool is_causal = true;
  aana::llama::AdapterUse adapter;
  std::map<int32_t, std::vector<float>> logits;
};

using namespace aana::fake;

size_t aana::fake::NUsedCells() { return cache->Used(); }
size_t aana::fake::NEndingInImage() {
  const auto ends_in_image = [](const auto& sequence) {
    return !sequence.second.empty() && sequence.second.back()->n_image_left > 0;
  };
  return static_cast<size_t>(std::ranges::count_if(cache->sequences, ends_in_image));
}

namespace aana::llama {
void CheckGguf(const std::string&, std::string_view) {}
bool CanShift(llama_context*, ggml_type) { return false; }
Adapters::Adapters(const Model&, const std::vector<std::string>&) {}
void Adapters::Apply(llama_context* context, const AdapterUse& use) const { context->adapter = use; }
void DraftModel::Guess(std::span<DraftDemand>) {}

class FakeProjector : public Projector {
 public:
  bool ReadsImages() const override { return true; }
  bool ReadsSounds() const override { return false; }
  bool NeedsWholeImages() const override { return false; }
  size_t n_window_tokens() const override { return 0; }
  Layout Read(const MediaPrompt&) const override { return {}; }
  void Encode(const MediaPrompt& prompt, size_t part, std::vector<PromptImage>& images,
              const std::function<bool()>& goes_on) override {
    const auto& picture = std::get<Image>(prompt.media[*prompt.parts[part].media]);
    for (auto& image : images) {
      if (image.part != part || !goes_on()) continue;
      if (picture.digest[0] == kBrokenPicture) throw std::runtime_error("the picture is broken");
      image.embeddings = EmbeddingsOf(image, static_cast<int32_t>(picture.digest[0]));
    }
  }
};
std::unique_ptr<Projector> LoadProjector(const LoadOptions&, const Model&, const LoadProgress&) {
  return std::make_unique<FakeProjector>();
}
}  // namespace aana::llama

// Returns the passes over the weights that llama.cpp would need.
static int32_t CountPasses(const llama_context& context, const llama_batch& batch) {
  std::vector<aana::llama::SequenceTokens> sequences;
  for (int32_t i = 0; i < batch.n_tokens; i++) {
    if (sequences.empty() || sequences.back().sequence != batch.seq_id[i][0])
      sequences.push_back({batch.seq_id[i][0], 0});
    sequences.back().n_tokens++;
  }
  return aana::llama::CountUbatches(
      sequences, static_cast<int32_t>(context.params.n_ubatch),
      context.memory.is_unified ? aana::llama::UbatchRule::kTokens : aana::llama::UbatchRule::kNeighbours);
}

// An image whose cells attend to each other is computed at once.
static void CheckImage(const llama_context& context, const llama_batch& batch) {
  const auto n = static_cast<int32_t>(batch.n_tokens);
  const auto first = CellAt(batch, 0);
  Expect(context.is_causal == first.is_causal, "an image whose cells attend to others than the model wants");
  Expect(
      first.is_causal || (first.index == 0 && n == first.n_cells && n <= static_cast<int32_t>(context.params.n_ubatch)),
      "a pass over " + std::to_string(n) + " of " + std::to_string(first.n_cells) + " cells that attend to each other");
}

// Returns the value of a token, or of a cell of an image, behind `last`.
static Value NextValue(const llama_context& context, const llama_batch& batch, size_t index, const Value* last) {
  const auto n = static_cast<size_t>(batch.n_tokens);
  const int32_t n_image_left = last ? last->n_image_left : 0;
  if (!batch.embd) {
    const auto value = After(last, batch.token[index], n, context.adapter);
    Expect(n_image_left == 0, "a token in the middle of an image");
    Expect(batch.pos[index] == value.position, "a token at " + std::to_string(batch.pos[index]) + " where " +
                                                   std::to_string(value.position) + " comes next");
    return value;
  }
  const auto cell = CellAt(batch, index);
  Expect(n_image_left == (cell.index == 0 ? 0 : cell.n_cells - cell.index),
         "cell " + std::to_string(cell.index) + " of an image in the wrong place");
  auto value = After(last, cell.number, n, context.adapter);
  Place(value, last, cell);
  const auto expect = [&](size_t dimension, llama_pos position) {
    const auto given = batch.pos[dimension * n + index];
    Expect(given == position, "cell " + std::to_string(cell.index) + " of an image at " + std::to_string(given) +
                                  ", not " + std::to_string(position));
  };
  expect(0, value.position);
  if (!setup.has_image_positions) return value;
  expect(1, value.position + cell.index / cell.n_positions);
  expect(2, value.position + cell.index % cell.n_positions);
  expect(3, 0);
  return value;
}

// A state of a recurrent model is its values. Any other one has the form of that of llama.cpp's cache for attention,
// with one layer, whose keys are the values.
static uint32_t CachesOf(const llama_context& context) {
  return context.memory.is_unified ? 1 : context.params.n_seq_max;
}

static std::vector<uint8_t> StateOf(const llama_context& context, llama_seq_id id) {
  std::vector<uint8_t> state;
  const auto put = [&](const auto& value) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    state.insert(state.end(), bytes, bytes + sizeof value);
  };
  const auto found = context.memory.sequences.find(id);
  auto cells = found == context.memory.sequences.end() ? decltype(found->second)() : found->second;
  if (setup.is_recurrent) {
    for (const auto& cell : cells) put(*cell);
    return state;
  }
  // A cache has its cells in any order. All cells of an image may be at one position.
  const bool has_image = std::ranges::any_of(cells, [](const auto& cell) { return cell->token < 0; });
  if (!has_image && !cells.empty()) std::ranges::rotate(cells, cells.begin() + setup.seed % cells.size());
  put(kStateMagic);
  put(id);
  put(CachesOf(context));
  for (uint32_t i = 0; i < CachesOf(context); i++) {
    const bool is_here = context.memory.is_unified || i == static_cast<uint32_t>(id);
    put(static_cast<uint32_t>(is_here ? cells.size() : 0));
    if (!is_here || cells.empty()) continue;
    for (const auto& cell : cells) {
      put(cell->position);
      put(uint32_t{1});
      put(id);
    }
    put(uint32_t{0});
    put(uint32_t{1});
    put(int32_t{0});
    put(uint64_t{sizeof(Value)});
    for (const auto& cell : cells) put(*cell);
  }
  // A state lacks what has left the window, also where the cache has it.
  if (setup.n_window > 0) {
    const auto last =
        cells.empty() ? 0 : std::ranges::max(cells, {}, [](const auto& cell) { return cell->position; })->position;
    put(std::max(context.memory.WindowBegin(id), last - setup.n_window + 1));
  }
  return state;
}

static std::vector<std::shared_ptr<Value>> CellsOf(const llama_context& context, std::span<const uint8_t> state) {
  std::vector<std::shared_ptr<Value>> cells;
  const auto take = [&]<class Number>(Number number) {
    Expect(state.size() >= sizeof number, "a state that is too short");
    std::memcpy(&number, state.data(), sizeof number);
    state = state.subspan(sizeof number);
    return number;
  };
  if (setup.is_recurrent) {
    while (!state.empty()) cells.push_back(std::make_shared<Value>(take(Value())));
    return cells;
  }
  Expect(take(uint32_t{}) == kStateMagic, "no state");
  take(llama_seq_id{});
  Expect(take(uint32_t{}) == CachesOf(context), "a state of a context with another number of caches");
  for (uint32_t i = 0; i < CachesOf(context); i++) {
    const auto n = take(uint32_t{});
    if (n == 0) continue;
    for (uint32_t cell = 0; cell < n; cell++) {
      take(llama_pos{});
      Expect(take(uint32_t{}) == 1, "a cell of several sequences");
      take(llama_seq_id{});
    }
    Expect(take(uint32_t{}) == 0 && take(uint32_t{}) == 1 && take(int32_t{}) == 0, "a state of other layers");
    Expect(take(uint64_t{}) == sizeof(Value), "a state of other keys");
    for (uint32_t cell = 0; cell < n; cell++) cells.push_back(std::make_shared<Value>(take(Value())));
  }
  Expect(state.empty(), "a state that is too long");
  std::ranges::stable_sort(cells, {}, [](const auto& cell) { return cell->position; });
  return cells;
}

extern "C" {

llama_model_params llama_model_default_params() { return {}; }
llama_context_params llama_context_default_params() { return {}; }
llama_model* llama_model_load_from_file(const char*, llama_model_params) { return new llama_model(); }
void llama_model_free(llama_model* model) { delete model; }
const llama_vocab* llama_model_get_vocab(const llama_model* model) { return &model->vocab; }
enum llama_vocab_type llama_vocab_type(const llama_vocab*) { return LLAMA_VOCAB_TYPE_SPM; }
int32_t llama_vocab_n_tokens(const llama_vocab*) { return kTokens; }
bool llama_vocab_is_eog(const llama_vocab*, llama_token token) { return token == kEnd; }
llama_token llama_vocab_eos(const llama_vocab*) { return kEnd; }
bool llama_vocab_get_add_eos(const llama_vocab*) { return false; }
int32_t llama_tokenize(const llama_vocab*, const char*, int32_t, llama_token*, int32_t, bool, bool) { return 0; }
int32_t llama_token_to_piece(const llama_vocab*, llama_token token, char* text, int32_t, int32_t, bool) {
  {
    std::lock_guard lock(threads_mutex);
    threads.insert(std::this_thread::get_id());
  }
  *text = static_cast<char>('0' + token);
  return 1;
}
int32_t llama_model_n_ctx_train(const llama_model*) { return 4096; }
int32_t llama_model_n_swa(const llama_model*) { return setup.n_window; }
int32_t llama_model_meta_val_str(const llama_model*, const char*, char*, size_t) { return -1; }
bool llama_model_has_encoder(const llama_model*) { return false; }
bool llama_model_has_decoder(const llama_model*) { return true; }
int32_t llama_split_prefix(char*, size_t, const char*, int32_t, int32_t) { return 0; }
int32_t llama_split_path(char*, size_t, const char*, int32_t, int32_t) { return 0; }
int32_t llama_model_desc(const llama_model*, char* text, size_t) { return *text = '\0'; }
uint64_t llama_model_size(const llama_model*) { return 0; }
uint64_t llama_model_n_params(const llama_model*) { return 0; }
bool llama_model_is_recurrent(const llama_model*) { return setup.is_recurrent; }
bool llama_model_is_hybrid(const llama_model*) { return false; }
size_t llama_max_devices() { return 1; }
void llama_log_set(ggml_log_callback, void*) {}
void llama_backend_init() {}

void llama_attach_threadpool(llama_context*, ggml_threadpool_t, ggml_threadpool_t) {}

llama_context* llama_init_from_model(llama_model*, llama_context_params params) {
  auto* context = new llama_context();
  context->params = params;
  context->memory.is_unified = params.kv_unified;
  context->memory.n_cells = params.kv_unified ? params.n_ctx : params.n_ctx / params.n_seq_max;
  cache = &context->memory;
  return context;
}
void llama_free(llama_context* context) {
  if (cache == &context->memory) cache = nullptr;
  delete context;
}
uint32_t llama_n_ubatch(const llama_context* context) { return context->params.n_ubatch; }
llama_memory_t llama_get_memory(const llama_context* context) { return const_cast<llama_memory_i*>(&context->memory); }

llama_batch llama_batch_init(int32_t n_tokens, int32_t, int32_t) {
  llama_batch batch{};
  const auto n = static_cast<size_t>(n_tokens);
  batch.token = new llama_token[n];
  batch.pos = new llama_pos[n];
  batch.n_seq_id = new int32_t[n];
  batch.seq_id = new llama_seq_id*[n];
  auto* ids = new llama_seq_id[n];
  for (size_t i = 0; i < n; i++) batch.seq_id[i] = ids + i;
  batch.logits = new int8_t[n];
  return batch;
}
void llama_batch_free(llama_batch batch) {
  delete[] batch.token;
  delete[] batch.pos;
  delete[] batch.n_seq_id;
  delete[] batch.seq_id[0];
  delete[] batch.seq_id;
  delete[] batch.logits;
}

int32_t llama_decode(llama_context* context, llama_batch batch) {
  auto& memory = context->memory;
  const auto n = static_cast<size_t>(batch.n_tokens);
  Expect(n > 0 && n <= context->params.n_batch, "a batch of " + std::to_string(n) + " tokens");
  Expect(std::count_if(batch.logits, batch.logits + n, [](int8_t wanted) { return wanted != 0; }) <=
             static_cast<std::ptrdiff_t>(context->params.n_outputs_max),
         "a batch with too many outputs");
  if (Happens(setup.failing)) return n_failures++, -3;
  const size_t n_done = Happens(setup.abandoned) ? random_numbers() % n : n;
  size_t n_used = memory.is_unified ? memory.Used() : 0;
  context->logits.clear();
  constexpr std::chrono::microseconds kPassTime{900};
  constexpr std::chrono::microseconds kTokenTime{300};
  Advance(kPassTime * CountPasses(*context, batch) + kTokenTime * batch.n_tokens);
  if (batch.embd)
    CheckImage(*context, batch);
  else
    Expect(context->is_causal, "tokens that attend to those after them");
  for (size_t i = 0; i < n_done; i++) {
    const auto id = batch.seq_id[i][0];
    auto& cells = memory.sequences[id];
    Expect(id >= 0 && id < static_cast<llama_seq_id>(context->params.n_seq_max), "a sequence that does not exist");
    const auto value = NextValue(*context, batch, i, cells.empty() ? nullptr : cells.back().get());
    auto& window_begin = memory.window_begins[id];
    Expect(setup.n_window == 0 || window_begin <= std::max(0, value.position - setup.n_window + 1),
           "a token whose window is gone");
    if (setup.n_window > 0 && !context->params.swa_full) {
      const auto n_more = static_cast<llama_pos>(random_numbers() % 16);
      window_begin = std::max(window_begin, value.position + 1 - setup.n_window - n_more);
    }
    const size_t n_free = memory.n_cells - (memory.is_unified ? n_used++ : cells.size());
    Expect(n_free > 0, "a decode of " + std::to_string(n) + " tokens where " + std::to_string(i) + " cells are free");
    cells.push_back(std::make_shared<Value>(value));
    if (!batch.logits[i]) continue;
    auto& row = context->logits[static_cast<int32_t>(i)];
    row.assign(kTokens, 0.0F);
    row[static_cast<size_t>(NextPlain(*cells.back()))] = 10.0F;
    row[static_cast<size_t>(NextByPasses(*cells.back()))] = 5.0F;
  }
  return n_done == n ? 0 : 2;
}
void llama_synchronize(llama_context*) {}
void llama_set_causal_attn(llama_context* context, bool is_causal) { context->is_causal = is_causal; }
float* llama_get_logits_ith(llama_context* context, int32_t index) {
  const auto found = context->logits.find(index);
  return found == context->logits.end() ? nullptr : found->second.data();
}

void llama_memory_clear(llama_memory_t memory, bool) {
  memory->sequences.clear();
  memory->window_begins.clear();
}
bool llama_memory_seq_rm(llama_memory_t memory, llama_seq_id id, llama_pos from, llama_pos) {
  auto& cells = memory->sequences[id];
  const auto first = std::ranges::find_if(cells, [from](const auto& cell) { return cell->position >= from; });
  if (setup.is_recurrent && first != cells.begin() && first != cells.end()) return false;
  if (first != cells.end() && cells.back()->n_image_left > 0) n_images_taken_back++;
  cells.erase(first, cells.end());
  if (cells.empty()) memory->window_begins.erase(id);
  return true;
}
void llama_memory_seq_cp(llama_memory_t memory, llama_seq_id from, llama_seq_id to, llama_pos, llama_pos n) {
  auto& source = memory->sequences[from];
  Expect(memory->is_unified, "cells of a sequence are shared where each has its own");
  Expect(memory->sequences[to].empty() && !source.empty() && n <= source.back()->next_position,
         "a beginning that cannot be shared");
  const auto end = std::ranges::find_if(source, [n](const auto& cell) { return cell->position >= n; });
  Expect(end == source.begin() || (*std::prev(end))->n_image_left == 0, "a part of an image is shared");
  memory->sequences[to].assign(source.begin(), end);
  memory->window_begins[to] = memory->WindowBegin(from);
}
bool llama_memory_can_shift(llama_memory_t) { return false; }
void llama_memory_seq_add(llama_memory_t, llama_seq_id, llama_pos, llama_pos, llama_pos) {
  Expect(false, "cells are moved");
}
llama_pos llama_memory_seq_pos_min(llama_memory_t memory, llama_seq_id id) {
  const auto& cells = memory->sequences[id];
  if (cells.empty()) return -1;
  if (memory->WindowBegin(id) <= cells.back()->position) return memory->WindowBegin(id);
  n_windows_lost++;
  return -1;
}

llama_pos llama_memory_seq_pos_max(llama_memory_t memory, llama_seq_id id) {
  const auto& cells = memory->sequences[id];
  return cells.empty() ? -1 : cells.back()->position;
}

size_t llama_state_seq_get_size(llama_context* context, llama_seq_id id) { return StateOf(*context, id).size(); }
size_t llama_state_seq_get_data(llama_context* context, uint8_t* data, size_t size, llama_seq_id id) {
  const auto state = StateOf(*context, id);
  Expect(size == state.size(), "a state of another size");
  std::ranges::copy(state, data);
  return size;
}
size_t llama_state_seq_set_data(llama_context* context, const uint8_t* data, size_t size, llama_seq_id id) {
  const size_t n_window_bytes = setup.n_window > 0 ? sizeof(llama_pos) : 0;
  Expect(size >= n_window_bytes, "a state that is too short");
  auto cells = CellsOf(*context, {data, size - n_window_bytes});
  if (n_window_bytes > 0) std::memcpy(&context->memory.window_begins[id], data + size - n_window_bytes, n_window_bytes);
  Expect(context->memory.is_unified || cells.size() <= context->memory.n_cells, "a state of too many cells");
  context->memory.sequences[id] = std::move(cells);
  return size;
}

}  // extern "C"
