#pragma once

#include <ggml.h>

#include "core/llama/vision/projector.h"

// Loads an encoder of images and sounds with llama.cpp's library for that, mtmd, whose log lines go to `log`. The
// caller frees it. Throws LoadError.
extern "C" __attribute__((visibility("default"))) aana::llama::Projector* aana_load_projector(
    const aana::llama::LoadOptions& options, const aana::llama::Model& model, const aana::llama::LoadProgress& progress,
    ggml_log_callback log);
