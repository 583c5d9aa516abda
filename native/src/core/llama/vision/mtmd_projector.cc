#include "core/llama/vision/mtmd_projector.h"

#include <ggml-backend.h>
#include <mtmd.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

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

std::string Described(const Image& image) {
  return std::to_string(image.width) + " x " + std::to_string(image.height) + " pixels";
}

// The chunks of the prompt. Only the image of the part `with_pixels` has pixels. Throws std::invalid_argument.
Chunks Tokenize(const mtmd_context* context, const ImagePrompt& prompt, std::optional<size_t> with_pixels) {
  std::vector<mtmd_input_text> texts(prompt.parts.size());
  std::vector<Bitmap> bitmaps;
  std::vector<mtmd_input_part> parts(prompt.parts.size());
  std::vector<const mtmd_input_part*> pointers;
  for (size_t i = 0; i < prompt.parts.size(); i++) {
    const auto& part = prompt.parts[i];
    if (part.image) {
      const auto& image = prompt.images[*part.image];
      bitmaps.emplace_back(
          mtmd_bitmap_init(image.width, image.height, with_pixels == i ? image.pixels->data() : nullptr));
      parts[i] = {nullptr, bitmaps.back().get()};
    } else {
      texts[i] = {part.text.data(), part.text.size(), false, part.has_control_tokens};
      parts[i] = {&texts[i], nullptr};
    }
    pointers.push_back(&parts[i]);
  }
  Chunks chunks(mtmd_input_chunks_init());
  if (mtmd_tokenize_from_parts(context, chunks.get(), pointers.data(), pointers.size(), true) == 0) return chunks;
  std::string sizes;
  for (const auto& image : prompt.images) sizes += (sizes.empty() ? "" : ", ") + Described(image);
  throw std::invalid_argument("the model's image encoder does not take an image (" + sizes + ")");
}

using ContextPtr = std::unique_ptr<mtmd_context, Deleter<mtmd_free>>;

class MtmdProjector : public Projector {
 public:
  MtmdProjector(const LoadOptions& options, const Model& model, const LoadProgress& progress);
  bool NeedsWholeImages() const override { return mtmd_decode_use_non_causal(context_.get(), nullptr); }
  Layout Read(const ImagePrompt& prompt) const override;
  void Encode(const ImagePrompt& prompt, size_t part, std::vector<PromptImage>& images) override;

 private:
  const int32_t n_embedding_;
  ContextPtr context_;
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
    throw LoadError("vision projector " + path + " could not be loaded, or is not made for " + options.model_path);
  if (!mtmd_support_vision(context_.get())) throw LoadError("vision projector " + path + " has no encoder for images");
}

Projector::Layout MtmdProjector::Read(const ImagePrompt& prompt) const {
  const auto chunks = Tokenize(context_.get(), prompt, std::nullopt);
  Layout layout;
  // Which part an image comes from: a part gives one or more chunks of images, and mtmd does not tell where the next
  // part begins. A part alone gives as many chunks as among others.
  std::vector<std::pair<size_t, size_t>> n_tiles;  // of the parts with images
  for (size_t i = 0; i < prompt.parts.size(); i++) {
    if (!prompt.parts[i].image) continue;
    const ImagePrompt alone{{{.image = 0}}, {prompt.images[*prompt.parts[i].image]}};
    const auto own = Tokenize(context_.get(), alone, std::nullopt);
    size_t n = 0;
    for (size_t at = 0; at < mtmd_input_chunks_size(own.get()); at++) {
      if (mtmd_input_chunk_get_type(mtmd_input_chunks_get(own.get(), at)) == MTMD_INPUT_CHUNK_TYPE_IMAGE) n++;
    }
    n_tiles.emplace_back(i, n);
  }
  size_t at_part = 0;
  size_t tile = 0;
  for (size_t i = 0; i < mtmd_input_chunks_size(chunks.get()); i++) {
    const auto* chunk = mtmd_input_chunks_get(chunks.get(), i);
    if (mtmd_input_chunk_get_type(chunk) == MTMD_INPUT_CHUNK_TYPE_TEXT) {
      size_t n = 0;
      const auto* tokens = mtmd_input_chunk_get_tokens_text(chunk, &n);
      layout.tokens.insert(layout.tokens.end(), tokens, tokens + n);
      continue;
    }
    while (at_part < n_tiles.size() && tile >= n_tiles[at_part].second) at_part++, tile = 0;
    if (at_part == n_tiles.size()) throw std::runtime_error("the image encoder gave more images than the prompt has");
    PromptImage image;
    image.part = n_tiles[at_part].first;
    image.first = layout.tokens.size();
    image.n_cells = mtmd_input_chunk_get_n_tokens(chunk);
    image.n_positions = static_cast<size_t>(mtmd_input_chunk_get_n_pos(chunk));
    image.is_causal = !mtmd_decode_use_non_causal(context_.get(), chunk);
    const auto& pixels = prompt.images[*prompt.parts[image.part].image];
    for (size_t cell = 0; cell < image.n_cells; cell++) layout.tokens.push_back(CellNumber(pixels, tile, cell));
    if (mtmd_decode_use_mrope(context_.get())) {
      const auto position = PositionAfter(layout.images, image.first);
      for (size_t cell = 0; cell < image.n_cells; cell++) {
        const auto at = mtmd_image_tokens_get_decoder_pos(mtmd_input_chunk_get_tokens_image(chunk), position, cell);
        image.positions.push_back({static_cast<llama_pos>(at.t), static_cast<llama_pos>(at.y),
                                   static_cast<llama_pos>(at.x), static_cast<llama_pos>(at.z)});
      }
    }
    layout.images.push_back(std::move(image));
    tile++;
  }
  return layout;
}

void MtmdProjector::Encode(const ImagePrompt& prompt, size_t part, std::vector<PromptImage>& images) {
  const auto chunks = Tokenize(context_.get(), prompt, part);
  size_t next = 0;
  for (size_t i = 0; i < mtmd_input_chunks_size(chunks.get()); i++) {
    const auto* chunk = mtmd_input_chunks_get(chunks.get(), i);
    if (mtmd_input_chunk_get_type(chunk) == MTMD_INPUT_CHUNK_TYPE_TEXT) continue;
    if (next == images.size()) throw std::runtime_error("the image encoder gave more images than it told");
    auto& image = images[next++];
    if (image.part != part) continue;
    if (mtmd_input_chunk_get_n_tokens(chunk) != image.n_cells)
      throw std::runtime_error("the image encoder gave another number of tokens than it told");
    if (mtmd_encode_chunk(context_.get(), chunk) != 0) throw std::runtime_error("the image encoder failed");
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
