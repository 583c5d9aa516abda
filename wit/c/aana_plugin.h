/*
 * The world `plugin` of wit/world.wit for C guests: its types as the canonical ABI lays them out in wasm32 memory, the host's functions, and
 * the names of what a plugin exports. Strings are UTF-8 with a length and no terminating zero.
 *
 * Whatever the host returns is allocated with `cabi_realloc` and then belongs to the plugin. Every run begins with the memory that the
 * plugin had after `describe`, so that only what a run makes over and over again needs to be freed.
 */
#ifndef AANA_PLUGIN_H
#define AANA_PLUGIN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct { const char *bytes; uint32_t length; } aana_string;
typedef struct { const aana_string *items; uint32_t length; } aana_strings;
typedef struct { const uint8_t *bytes; uint32_t length; } aana_bytes;

/* Frees what the host returned. Nothing is allocated for an empty string, and its pointer points nowhere. */
static inline void aana_free(aana_string string) {
  if (string.length > 0) free((void *)string.bytes);
}

/* --- types --- */

typedef enum {
  AANA_INVALID_INPUT, AANA_BAD_REQUEST, AANA_DENIED, AANA_NOT_FOUND, AANA_CONFLICT,
  AANA_TOO_LARGE, AANA_UNAVAILABLE, AANA_DEADLINE_EXCEEDED, AANA_CANCELLED, AANA_INTERNAL,
} aana_error_kind;

/* `kind` is an aana_error_kind, `data` a JSON value. */
typedef struct { uint8_t kind; aana_string name, message, data; } aana_error;

/* Handles of what the host holds; each is freed with its `_drop`. */
typedef uint32_t aana_video, aana_audio, aana_chunks;

/* Every result: the error counts when `is_error` is set, the value otherwise. */
#define AANA_RESULT(type) struct { bool is_error; union { type value; aana_error error; }; }
typedef AANA_RESULT(uint32_t) aana_handle_result;
typedef AANA_RESULT(aana_string) aana_string_result;
typedef AANA_RESULT(aana_strings) aana_strings_result;
typedef struct { bool is_error; aana_error error; } aana_empty_result;

_Static_assert(sizeof(void *) == 4, "build for wasm32");
_Static_assert(sizeof(aana_error) == 28 && sizeof(aana_string_result) == 32 && sizeof(aana_empty_result) == 32, "laid out as the canonical ABI says");

/* --- what the host offers --- */

#define AANA_IMPORT(interface, function) __attribute__((import_module("aana:host/" interface "@0.1.0"), import_name(function)))

typedef enum { AANA_DEBUG, AANA_INFO, AANA_WARN, AANA_ERROR } aana_level;
AANA_IMPORT("log", "log") void aana_log(uint32_t level, const char *message, uint32_t message_length, const char *fields, uint32_t fields_length);

AANA_IMPORT("random", "bytes") void aana_random_bytes(uint32_t length, aana_bytes *result);

AANA_IMPORT("invocation", "request-id") void aana_request_id(aana_string *result);
AANA_IMPORT("invocation", "remaining-ms") uint64_t aana_remaining_ms(void);
AANA_IMPORT("invocation", "is-cancelled") uint32_t aana_is_cancelled(void);

typedef enum { AANA_MIX, AANA_SEPARATE } aana_channels;
typedef struct { bool has_duration; double duration; bool has_audio, has_video; } aana_video_info;
_Static_assert(sizeof(aana_video_info) == 24, "laid out as the canonical ABI says");

/* Each of path, url, content and media id is an option: whether it is there, and then the string. */
AANA_IMPORT("media", "[static]video.open") void aana_video_open(
  uint32_t has_path, const char *path, uint32_t path_length, uint32_t has_url, const char *url, uint32_t url_length,
  uint32_t has_content, const char *content, uint32_t content_length, uint32_t has_media_id, const char *media_id, uint32_t media_id_length,
  aana_handle_result *result);
AANA_IMPORT("media", "[method]video.info") void aana_video_get_info(aana_video self, aana_video_info *result);
AANA_IMPORT("media", "[method]video.extract-audio") void aana_video_extract_audio(aana_video self, uint32_t channels, aana_handle_result *result);
AANA_IMPORT("media", "[resource-drop]video") void aana_video_drop(aana_video self);
AANA_IMPORT("media", "[method]audio.duration") double aana_audio_duration(aana_audio self);
AANA_IMPORT("media", "[resource-drop]audio") void aana_audio_drop(aana_audio self);

AANA_IMPORT("deployments", "call") void aana_call(
  const char *deployment, uint32_t deployment_length, const char *method, uint32_t method_length, const char *args, uint32_t args_length,
  const aana_audio *audio, uint32_t audio_length, aana_string_result *result);
AANA_IMPORT("deployments", "open") void aana_open(
  const char *deployment, uint32_t deployment_length, const char *method, uint32_t method_length, const char *args, uint32_t args_length,
  const aana_audio *audio, uint32_t audio_length, aana_handle_result *result);
AANA_IMPORT("deployments", "[method]chunks.next") void aana_chunks_next(aana_chunks self, aana_strings_result *result);
AANA_IMPORT("deployments", "[resource-drop]chunks") void aana_chunks_drop(aana_chunks self);

AANA_IMPORT("output", "write") void aana_write(const char *chunk, uint32_t length, aana_empty_result *result);
AANA_IMPORT("output", "forward") void aana_forward(aana_chunks source, aana_empty_result *result);

/* --- what a plugin offers --- */

#define AANA_EXPORT(function) __attribute__((export_name(function)))
#define AANA_ENDPOINT "aana:host/endpoint@0.1.0#"

typedef struct { aana_string name, path, summary, description, input_schema, output_schema; bool streaming; } aana_info;
typedef struct { const aana_info *items; uint32_t length; } aana_infos;
_Static_assert(sizeof(aana_info) == 52, "laid out as the canonical ABI says");

/* Define these three. Names and input belong to the plugin; what is returned must outlive the function. */
AANA_EXPORT("cabi_realloc") void *aana_realloc(void *old, uint32_t old_size, uint32_t align, uint32_t size);
AANA_EXPORT(AANA_ENDPOINT "describe") const aana_infos *aana_describe(void);
AANA_EXPORT(AANA_ENDPOINT "run") const aana_string_result *aana_run(const char *name, uint32_t name_length, const char *input, uint32_t input_length);

#endif
