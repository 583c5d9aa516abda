#include "core/llama/vision/projector.h"

#ifndef AANA_IMAGES_LINKED
#include <dlfcn.h>
#endif
#include <gguf.h>

#include <string_view>

#include "core/deleter.h"
#include "core/engine_log.h"
#include "core/llama/gguf/gguf_check.h"
#include "core/llama/model/load_error.h"
#include "core/llama/vision/mtmd_projector.h"

namespace aana::llama {
namespace {

constexpr const char* kWhat = "projector";

// mtmd ends the process for some files of other kinds.
void RequireProjector(const std::string& path) {
  CheckGguf(path, kWhat);
  const std::unique_ptr<gguf_context, Deleter<gguf_free>> header(
      gguf_init_from_file(path.c_str(), {.no_alloc = true, .ctx = nullptr}));
  const auto text = [&](const char* key) -> std::string_view {
    const auto id = header ? gguf_find_key(header.get(), key) : -1;
    return id >= 0 && gguf_get_kv_type(header.get(), id) == GGUF_TYPE_STRING ? gguf_get_val_str(header.get(), id) : "";
  };
  const auto has = [&](const char* key) {
    const auto id = header ? gguf_find_key(header.get(), key) : -1;
    return id >= 0 && gguf_get_kv_type(header.get(), id) == GGUF_TYPE_BOOL && gguf_get_val_bool(header.get(), id);
  };
  const bool has_encoder = has("clip.has_vision_encoder") || has("clip.has_audio_encoder");
  if (text("general.architecture") == "clip" && has_encoder) return;
  throw LoadError(std::string(kWhat) + " " + path +
                  " is not an encoder of images or audio for language models (the architecture clip with "
                  "clip.has_vision_encoder or clip.has_audio_encoder)");
}

using LoadFunction = decltype(&aana_load_projector);

// The library is built when a deployment needs it, and lies beside the addon.
LoadFunction FindLoad() {
#ifdef AANA_IMAGES_LINKED
  return aana_load_projector;
#else
  // Never closed, because its threads may outlive the projector.
  void* library = dlopen("aana_images.so", RTLD_NOW | RTLD_LOCAL);
  const auto load = library ? reinterpret_cast<LoadFunction>(dlsym(library, "aana_load_projector")) : nullptr;
  if (!load)
    throw LoadError(std::string("the library for images cannot be loaded (") + dlerror() +
                    "); run `npx aana-host build-native`");
  return load;
#endif
}

}  // namespace

std::unique_ptr<Projector> LoadProjector(const LoadOptions& options, const Model& model, const LoadProgress& progress) {
  RequireProjector(options.projector_path);
  return std::unique_ptr<Projector>(FindLoad()(options, model, progress, OnLibraryLog));
}

}  // namespace aana::llama
