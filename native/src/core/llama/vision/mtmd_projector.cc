#include "core/llama/vision/mtmd_projector.h"

#include <ggml-backend.h>
#include <mtmd.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>

#include "core/deleter.h"
#include "core/llama/model/load_error.h"

namespace aana::llama {
namespace {

using Bitmap = std::unique_ptr<mtmd_bitmap, Deleter<mtmd_bitmap_free>>;
using Chunks = std::unique_ptr<mtmd_input_chunks, Deleter<mtmd_input_chunks_free>>;

bool OnProgress(float fraction, void* data) {
  const auto& progress = *static_cast<const LoadProgress*>(data);
  return !progress || progress(fraction);
}

// The GPU for the encoder, which lies on one; null leaves the choice to mtmd.
ggml_backend_dev_t DeviceOf(const ModelOptions& options) {
  if (options.devices.empty()) return nullptr;
  const auto index = std::min(static_cast<size_t>(std::max(options.main_gpu, 0)), options.devices.size() - 1);
  return ggml_backend_dev_by_name(options.devices[index].c_str());
}

std::string Described(const Media& media) {
  if (const auto* image = std::get_if<Image>(&media))
    return "an image of " + std::to_string(image->width) + " x " + std::to_string(image->height) + " pixels";
  return "audio of " + std::to_string(std::get<Sound>(media).samples->size()) + " samples";
}

// The length of a sound with silence at its end. Encoders end the process for a sound, or for what a sound has behind
// its whole windows, that is shorter than what they compute at once. Half a second is enough for all of them.
size_t PaddedLength(const Sound& sound) {
  const size_t n = sound.samples->size();
  return n - n % kSoundWindow + (n % kSoundWindow > 0 ? std::max(n % kSoundWindow, size_t{kSoundRate / 2}) : 0);
}

Bitmap ToBitmap(const Media& media, bool has_data) {
  if (const auto* image = std::get_if<Image>(&media))
    return Bitmap(mtmd_bitmap_init(image->width, image->height, has_data ? image->pixels->data() : nullptr));
  const auto& sound = std::get<Sound>(media);
  if (!has_data) return Bitmap(mtmd_bitmap_init_from_audio(PaddedLength(sound), nullptr));
  auto samples = *sound.samples;
  // The squares of larger ones may be infinite.
  for (auto& sample : samples) sample = std::clamp(sample, -1.0F, 1.0F);
  samples.resize(PaddedLength(sound));
  return Bitmap(mtmd_bitmap_init_from_audio(samples.size(), samples.data()));
}

// The chunks of the prompt. Only the media of the part `with_data` has pixels or samples. Throws std::invalid_argument.
Chunks Tokenize(const mtmd_context* context, const MediaPrompt& prompt, std::optional<size_t> with_data) {
  std::vector<mtmd_input_text> texts(prompt.parts.size());
  std::vector<Bitmap> bitmaps;
  std::vector<mtmd_input_part> parts(prompt.parts.size());
  std::vector<const mtmd_input_part*> pointers;
  for (size_t i = 0; i < prompt.parts.size(); i++) {
    const auto& part = prompt.parts[i];
    if (part.media) {
      bitmaps.push_back(ToBitmap(prompt.media[*part.media], with_data == i));
      parts[i] = {nullptr, bitmaps.back().get()};
    } else {
      texts[i] = {part.text.data(), part.text.size(), false, part.has_control_tokens};
      parts[i] = {&texts[i], nullptr};
    }
    pointers.push_back(&parts[i]);
  }
  Chunks chunks(mtmd_input_chunks_init());
  if (mtmd_tokenize_from_parts(context, chunks.get(), pointers.data(), pointers.size(), true) == 0) return chunks;
  std::string which;
  for (const auto& media : prompt.media) which += (which.empty() ? "" : ", ") + Described(media);
  throw std::invalid_argument("the model's encoder does not take it (" + which + ")");
}

bool IsMedia(const mtmd_input_chunk* chunk) { return mtmd_input_chunk_get_type(chunk) != MTMD_INPUT_CHUNK_TYPE_TEXT; }

size_t CountMedia(const mtmd_input_chunks* chunks) {
  size_t n = 0;
  for (size_t i = 0; i < mtmd_input_chunks_size(chunks); i++) n += IsMedia(mtmd_input_chunks_get(chunks, i)) ? 1 : 0;
  return n;
}

// The part alone.
MediaPrompt Alone(const MediaPrompt& prompt, const PromptPart& part) {
  return {{{.media = 0}}, {prompt.media[*part.media]}};
}

// The prompt without its sounds, on which the chunks of images do not depend.
MediaPrompt WithoutSounds(const MediaPrompt& prompt) {
  auto changed = prompt;
  for (auto& part : changed.parts) {
    if (part.media && std::holds_alternative<Sound>(prompt.media[*part.media])) part = PromptPart{};
  }
  return changed;
}

using ContextPtr = std::unique_ptr<mtmd_context, Deleter<mtmd_free>>;

class MtmdProjector : public Projector {
 public:
  MtmdProjector(const LoadOptions& options, const Model& model, const LoadProgress& progress);
  bool ReadsImages() const override { return mtmd_support_vision(context_.get()); }
  bool ReadsSounds() const override { return mtmd_support_audio(context_.get()); }
  bool NeedsWholeImages() const override { return mtmd_decode_use_non_causal(context_.get(), nullptr); }
  size_t n_window_tokens() const override { return n_window_tokens_; }
  Layout Read(const MediaPrompt& prompt) const override;
  void Encode(const MediaPrompt& prompt, size_t part, std::vector<PromptImage>& images,
              const std::function<bool()>& goes_on) override;

 private:
  // The positions of the cells of a chunk whose first one has the position `begin`.
  std::vector<std::array<llama_pos, 4>> Positions(const mtmd_input_chunk* chunk, llama_pos begin) const;

  const int32_t n_embedding_;
  ContextPtr context_;
  size_t n_window_tokens_ = 0;
};

MtmdProjector::MtmdProjector(const LoadOptions& options, const Model& model, const LoadProgress& progress)
    : n_embedding_(llama_model_n_embd_inp(model.get())) {
  const auto& path = options.projector_path;
  auto params = mtmd_context_params_default();
  params.use_gpu = options.n_gpu_layers != 0;
  // Otherwise it takes the first GPU of the machine, which another replica may have.
  if (params.use_gpu) params.device = DeviceOf(options);
  params.print_timings = false;
  params.n_threads = options.n_threads;
  params.warmup = false;
  params.progress_callback = OnProgress;
  params.progress_callback_user_data = const_cast<LoadProgress*>(&progress);
  context_.reset(mtmd_init_from_file(path.c_str(), model.get(), params));
  if (!context_)
    throw LoadError("projector " + path + " could not be loaded, or is not made for " + options.model_path);
  if (!ReadsImages() && !ReadsSounds())
    throw LoadError("projector " + path + " has no encoder for images and none for audio");
  if (!ReadsSounds()) return;
  if (const int rate = mtmd_get_audio_sample_rate(context_.get()); rate != kSoundRate) {
    throw LoadError("projector " + path + " reads audio of " + std::to_string(rate) +
                    " samples per second; only those of " + std::to_string(kSoundRate) + " can be used");
  }
  const auto tokens_of = [this](size_t n_windows) {
    const auto silence = std::make_shared<const std::vector<float>>(n_windows * kSoundWindow);
    const auto chunks = Tokenize(context_.get(), {{{.media = 0}}, {Sound{silence, {}}}}, std::nullopt);
    size_t n_tokens = 0;
    for (size_t i = 0; i < mtmd_input_chunks_size(chunks.get()); i++) {
      const auto* chunk = mtmd_input_chunks_get(chunks.get(), i);
      if (IsMedia(chunk)) n_tokens += mtmd_input_chunk_get_n_tokens(chunk);
    }
    return n_tokens;
  };
  // What a further window adds. Encoders without windows round the whole.
  const size_t n_one = tokens_of(1);
  n_window_tokens_ = std::max(tokens_of(2), n_one + 1) - n_one - 1;
}

Projector::Layout MtmdProjector::Read(const MediaPrompt& prompt) const {
  for (const auto& media : prompt.media) {
    const bool is_image = std::holds_alternative<Image>(media);
    if (!(is_image ? ReadsImages() : ReadsSounds()))
      throw std::invalid_argument(std::string("the model's projector has no encoder for ") +
                                  (is_image ? "images" : "audio"));
  }
  const auto chunks = Tokenize(context_.get(), prompt, std::nullopt);
  Layout layout;
  // Which part an image comes from: a part gives one or more chunks of images, and mtmd does not tell where the next
  // part begins. A part alone gives as many chunks as among others.
  std::vector<std::pair<size_t, size_t>> n_tiles;  // of the parts with media
  for (size_t i = 0; i < prompt.parts.size(); i++) {
    if (!prompt.parts[i].media) continue;
    const auto own = Tokenize(context_.get(), Alone(prompt, prompt.parts[i]), std::nullopt);
    n_tiles.emplace_back(i, CountMedia(own.get()));
  }
  size_t at_part = 0;
  size_t tile = 0;
  for (size_t i = 0; i < mtmd_input_chunks_size(chunks.get()); i++) {
    const auto* chunk = mtmd_input_chunks_get(chunks.get(), i);
    if (!IsMedia(chunk)) {
      size_t n = 0;
      const auto* tokens = mtmd_input_chunk_get_tokens_text(chunk, &n);
      layout.tokens.insert(layout.tokens.end(), tokens, tokens + n);
      continue;
    }
    while (at_part < n_tiles.size() && tile >= n_tiles[at_part].second) at_part++, tile = 0;
    if (at_part == n_tiles.size()) throw std::runtime_error("the encoder gave more than the prompt has");
    PromptImage image;
    image.part = n_tiles[at_part].first;
    image.first = layout.tokens.size();
    image.n_cells = mtmd_input_chunk_get_n_tokens(chunk);
    image.n_positions = static_cast<size_t>(mtmd_input_chunk_get_n_pos(chunk));
    image.is_causal = !mtmd_decode_use_non_causal(context_.get(), chunk);
    image.is_sound = mtmd_input_chunk_get_type(chunk) == MTMD_INPUT_CHUNK_TYPE_AUDIO;
    const auto& media = prompt.media[*prompt.parts[image.part].media];
    for (size_t cell = 0; cell < image.n_cells; cell++) layout.tokens.push_back(CellNumber(media, tile, cell));
    if (mtmd_decode_use_mrope(context_.get()))
      image.positions = Positions(chunk, PositionAfter(layout.images, image.first));
    layout.images.push_back(std::move(image));
    tile++;
  }
  return layout;
}

std::vector<std::array<llama_pos, 4>> MtmdProjector::Positions(const mtmd_input_chunk* chunk, llama_pos begin) const {
  std::vector<std::array<llama_pos, 4>> positions;
  const auto* tokens = mtmd_input_chunk_get_tokens_image(chunk);
  for (size_t cell = 0; cell < mtmd_input_chunk_get_n_tokens(chunk); cell++) {
    if (!tokens) {  // a sound, which has the positions of a text
      const auto position = begin + static_cast<llama_pos>(cell);
      positions.push_back({position, position, position, 0});
      continue;
    }
    const auto at = mtmd_image_tokens_get_decoder_pos(tokens, begin, cell);
    positions.push_back({static_cast<llama_pos>(at.t), static_cast<llama_pos>(at.y), static_cast<llama_pos>(at.x),
                         static_cast<llama_pos>(at.z)});
  }
  return positions;
}

void MtmdProjector::Encode(const MediaPrompt& prompt, size_t part, std::vector<PromptImage>& images,
                           const std::function<bool()>& goes_on) {
  const bool is_sound = std::holds_alternative<Sound>(prompt.media[*prompt.parts[part].media]);
  const auto chunks = is_sound ? Tokenize(context_.get(), Alone(prompt, prompt.parts[part]), 0)
                               : Tokenize(context_.get(), WithoutSounds(prompt), part);
  // Those that the chunks have: the sound, or all images.
  std::vector<PromptImage*> expected;
  for (auto& image : images) {
    if (is_sound ? image.part == part : !image.is_sound) expected.push_back(&image);
  }
  size_t next = 0;
  for (size_t i = 0; i < mtmd_input_chunks_size(chunks.get()); i++) {
    const auto* chunk = mtmd_input_chunks_get(chunks.get(), i);
    if (!IsMedia(chunk)) continue;
    if (next == expected.size()) throw std::runtime_error("the encoder gave more than it told");
    auto& image = *expected[next++];
    if (image.part != part) continue;
    if (mtmd_input_chunk_get_n_tokens(chunk) != image.n_cells)
      throw std::runtime_error("the encoder gave another number of tokens than it told");
    if (!goes_on()) return;
    if (mtmd_encode_chunk(context_.get(), chunk) != 0) throw std::runtime_error("the encoder failed");
    const auto* values = mtmd_get_output_embd(context_.get());
    image.embeddings =
        std::make_shared<const std::vector<float>>(values, values + image.n_cells * static_cast<size_t>(n_embedding_));
  }
}

}  // namespace
}  // namespace aana::llama

aana::llama::Projector* aana_load_projector(const aana::llama::LoadOptions& options, const aana::llama::Model& model,
                                            const aana::llama::LoadProgress& progress, ggml_log_callback log) {
  mtmd_log_set(log, nullptr);
  return new aana::llama::MtmdProjector(options, model, progress);
}
