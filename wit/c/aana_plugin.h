/*
 * The world `plugin` of wit/world.wit for C guests: its types as the canonical ABI lays them out in wasm32 memory, the host's functions, and
 * the names of what a plugin exports. Strings are UTF-8 with a length and no terminating zero.
 *
 * Values from the host are allocated with `cabi_realloc` and belong to the plugin. Every run begins with the memory that the plugin had
 * after `describe`, so a run needs to free only memory that it allocates again and again.
 */
#ifndef AANA_PLUGIN_H
#define AANA_PLUGIN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct { const char *bytes; uint32_t length; } aana_string;
typedef struct { const aana_string *items; uint32_t length; } aana_strings;
typedef struct { const uint8_t *bytes; uint32_t length; } aana_bytes;

/* Frees a string from the host. An empty string has no allocation, and its pointer is not valid. */
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

/* Handles of resources of the host. Free each one with its `_drop`. */
typedef uint32_t aana_video, aana_audio, aana_image, aana_chunks, aana_transcriptions, aana_text_stream, aana_task;

/* Results: `error` is valid when `is_error` is set, otherwise `value`. */
#define AANA_RESULT(type) struct { bool is_error; union { type value; aana_error error; }; }
typedef AANA_RESULT(uint32_t) aana_handle_result;
typedef AANA_RESULT(aana_string) aana_string_result;
typedef AANA_RESULT(aana_strings) aana_strings_result;
typedef AANA_RESULT(aana_bytes) aana_bytes_result;
typedef AANA_RESULT(bool) aana_bool_result;
typedef struct { bool is_error; aana_error error; } aana_empty_result;

/* Optional values: `value` is valid when `is_there` is set. */
#define AANA_OPTION(type) struct { bool is_there; type value; }
typedef AANA_OPTION(aana_string) aana_optional_string;
typedef AANA_OPTION(aana_bytes) aana_optional_bytes;
typedef AANA_OPTION(double) aana_optional_double;
typedef AANA_OPTION(uint32_t) aana_optional_u32;
typedef AANA_OPTION(int32_t) aana_optional_s32;
typedef AANA_OPTION(bool) aana_optional_bool;
typedef AANA_OPTION(uint8_t) aana_optional_enum;

_Static_assert(sizeof(void *) == 4, "build for wasm32");
_Static_assert(sizeof(aana_error) == 28 && sizeof(aana_string_result) == 32 && sizeof(aana_empty_result) == 32, "laid out as the canonical ABI says");

/* --- functions of the host --- */

#define AANA_IMPORT(interface, function) __attribute__((import_module("aana:host/" interface "@0.1.0"), import_name(function)))

typedef enum { AANA_DEBUG, AANA_INFO, AANA_WARN, AANA_ERROR } aana_level;
AANA_IMPORT("log", "log") void aana_log(uint32_t level, const char *message, uint32_t message_length, const char *fields, uint32_t fields_length);

AANA_IMPORT("random", "bytes") void aana_random_bytes(uint32_t length, aana_bytes *result);

AANA_IMPORT("invocation", "request-id") void aana_request_id(aana_string *result);
AANA_IMPORT("invocation", "remaining-ms") uint64_t aana_remaining_ms(void);
AANA_IMPORT("invocation", "is-cancelled") uint32_t aana_is_cancelled(void);
/* The user of the request's API key. Absent when no API key is required. */
AANA_IMPORT("invocation", "user") void aana_user(aana_optional_string *result);
/* Higher is sooner, 0 for ordinary requests. */
AANA_IMPORT("invocation", "priority") int32_t aana_priority(void);
/* The position in a distributed trace, in the form of the traceparent header. */
AANA_IMPORT("invocation", "traceparent") void aana_traceparent(aana_optional_string *result);

/* The finished fraction, from 0 to 1, and the current step. */
AANA_IMPORT("progress", "report") void aana_report_progress(double fraction, const char *text, uint32_t text_length);
/* The same, and the fraction at which the next step ends: deployments that work in it move the progress there. */
AANA_IMPORT("progress", "report-step") void aana_report_step(double fraction, double until, const char *text, uint32_t text_length);

typedef enum { AANA_MIX, AANA_SEPARATE } aana_channels;
typedef struct { bool has_duration; double duration; bool has_audio, has_video; } aana_video_info;
_Static_assert(sizeof(aana_video_info) == 24, "laid out as the canonical ABI says");

/* From the page of the video. It is text of strangers. */
typedef struct { aana_optional_string title, description; } aana_video_metadata;
_Static_assert(sizeof(aana_video_metadata) == 24, "laid out as the canonical ABI says");

/* Path, url, content and media id are options, each as whether it is present and its string. */
AANA_IMPORT("media", "[static]video.open") void aana_video_open(
  uint32_t has_path, const char *path, uint32_t path_length, uint32_t has_url, const char *url, uint32_t url_length,
  uint32_t has_content, const char *content, uint32_t content_length, uint32_t has_media_id, const char *media_id, uint32_t media_id_length,
  aana_handle_result *result);
AANA_IMPORT("media", "[method]video.info") void aana_video_get_info(aana_video self, aana_video_info *result);
AANA_IMPORT("media", "[method]video.metadata") void aana_video_get_metadata(aana_video self, aana_video_metadata *result);
AANA_IMPORT("media", "[method]video.extract-audio") void aana_video_extract_audio(aana_video self, uint32_t channels, aana_handle_result *result);
AANA_IMPORT("media", "[resource-drop]video") void aana_video_drop(aana_video self);
AANA_IMPORT("media", "[method]audio.duration") double aana_audio_duration(aana_audio self);
AANA_IMPORT("media", "[resource-drop]audio") void aana_audio_drop(aana_audio self);

typedef struct { uint32_t width, height; aana_string format; } aana_image_info;
AANA_IMPORT("media", "[static]image.open") void aana_image_open(
  uint32_t has_path, const char *path, uint32_t path_length, uint32_t has_url, const char *url, uint32_t url_length,
  uint32_t has_content, const char *content, uint32_t content_length, uint32_t has_media_id, const char *media_id, uint32_t media_id_length,
  aana_handle_result *result);
AANA_IMPORT("media", "[method]image.info") void aana_image_get_info(aana_image self, aana_image_info *result);
/* The red, green and blue value of each pixel of the image at this size, row by row from the top. */
AANA_IMPORT("media", "[method]image.pixels") void aana_image_pixels(aana_image self, uint32_t width, uint32_t height, aana_bytes_result *result);
AANA_IMPORT("media", "[resource-drop]image") void aana_image_drop(aana_image self);

AANA_IMPORT("deployments", "call") void aana_call(
  const char *deployment, uint32_t deployment_length, const char *method, uint32_t method_length, const char *args, uint32_t args_length,
  const aana_audio *audio, uint32_t audio_length, aana_string_result *result);
AANA_IMPORT("deployments", "open") void aana_open(
  const char *deployment, uint32_t deployment_length, const char *method, uint32_t method_length, const char *args, uint32_t args_length,
  const aana_audio *audio, uint32_t audio_length, aana_handle_result *result);
AANA_IMPORT("deployments", "[method]chunks.next") void aana_chunks_next(aana_chunks self, aana_strings_result *result);
/* The JSON that the method returned after its last value; empty until the stream has ended, and for a method that returns none. */
AANA_IMPORT("deployments", "[method]chunks.returned") void aana_chunks_returned(aana_chunks self, aana_string_result *result);
AANA_IMPORT("deployments", "[resource-drop]chunks") void aana_chunks_drop(aana_chunks self);

typedef struct { double start, end; } aana_time_interval;
typedef struct { aana_string word; aana_optional_string speaker; aana_time_interval time_interval; double alignment_confidence; } aana_word;
typedef struct {
  aana_string text;
  aana_time_interval time_interval;
  aana_optional_double confidence, no_speech_confidence;
  struct { const aana_word *items; uint32_t length; } words;
  aana_optional_string speaker, language;
} aana_segment;
typedef struct {
  aana_string text;
  struct { aana_string language; double language_confidence; } info;
  struct { const aana_segment *items; uint32_t length; } segments;
} aana_transcription;
typedef struct { const aana_transcription *items; uint32_t length; } aana_transcription_list;
typedef AANA_RESULT(aana_transcription) aana_transcription_result;
typedef AANA_RESULT(aana_transcription_list) aana_transcriptions_result;
enum aana_asr_task { AANA_TRANSCRIBE, AANA_TRANSLATE };
/* Absent members have the deployment's defaults. `channels` is an aana_channels, `task` an aana_asr_task. */
typedef struct {
  aana_optional_string language;
  aana_optional_u32 beam_size, best_of;
  struct { const double *items; uint32_t length; } temperatures;
  aana_optional_bool without_timestamps, word_timestamps, vad_filter;
  aana_optional_enum channels, task;
  aana_optional_string initial_prompt;
  aana_optional_double log_prob_threshold, no_speech_threshold, length_penalty, max_initial_timestamp;
  aana_optional_bool multilingual;
} aana_asr_params;
/* The parameters of both functions, in memory because they are too many to be passed as arguments. */
typedef struct { aana_string deployment; aana_audio audio; aana_asr_params params; } aana_asr_request;
_Static_assert(sizeof(aana_word) == 48 && sizeof(aana_segment) == 88 && sizeof(aana_transcription) == 32 && sizeof(aana_asr_request) == 152, "laid out as the canonical ABI says");

AANA_IMPORT("asr", "transcribe") void aana_transcribe(const aana_asr_request *request, aana_transcription_result *result);
AANA_IMPORT("asr", "transcribe-stream") void aana_transcribe_stream(const aana_asr_request *request, aana_handle_result *result);
AANA_IMPORT("asr", "[method]transcriptions.next") void aana_transcriptions_next(aana_transcriptions self, aana_transcriptions_result *result);
AANA_IMPORT("asr", "[resource-drop]transcriptions") void aana_transcriptions_drop(aana_transcriptions self);

typedef enum { AANA_SYSTEM, AANA_USER, AANA_ASSISTANT } aana_role;
/* `role` is an aana_role. */
typedef struct { uint8_t role; aana_string content; } aana_message;
typedef struct { const aana_message *items; uint32_t length; } aana_dialog;
/* Absent members have the deployment's defaults. An empty `stop` counts as absent. */
typedef struct {
  aana_optional_double temperature, top_p;
  aana_optional_s32 top_k;
  aana_optional_double min_p;
  aana_optional_u32 max_tokens;
  aana_optional_double repetition_penalty, seed;
  aana_strings stop;
} aana_sampling_params;
typedef struct { aana_sampling_params sampling_params; aana_optional_string assistant_prefix; } aana_chat_options;
/* The parameters of both functions, in memory because they are too many to be passed as arguments. */
typedef struct { aana_string deployment; aana_dialog dialog; aana_chat_options options; } aana_chat_request;
typedef struct { uint32_t tokens, max_tokens; } aana_token_count;
typedef AANA_RESULT(aana_message) aana_message_result;
typedef AANA_RESULT(aana_token_count) aana_token_count_result;
_Static_assert(sizeof(aana_message) == 12 && sizeof(aana_sampling_params) == 104 && sizeof(aana_chat_request) == 136, "laid out as the canonical ABI says");

AANA_IMPORT("llm", "chat") void aana_chat(const aana_chat_request *request, aana_message_result *result);
AANA_IMPORT("llm", "chat-stream") void aana_chat_stream(const aana_chat_request *request, aana_handle_result *result);
AANA_IMPORT("llm", "count-dialog-tokens") void aana_count_dialog_tokens(
  const char *deployment, uint32_t deployment_length, const aana_message *dialog, uint32_t dialog_length, aana_token_count_result *result);
AANA_IMPORT("llm", "count-tokens") void aana_count_tokens(
  const char *deployment, uint32_t deployment_length, const char *text, uint32_t text_length, aana_token_count_result *result);
AANA_IMPORT("llm", "[method]text-stream.next") void aana_text_stream_next(aana_text_stream self, aana_strings_result *result);
AANA_IMPORT("llm", "[method]text-stream.forward") void aana_text_stream_forward(aana_text_stream self, aana_empty_result *result);
AANA_IMPORT("llm", "[resource-drop]text-stream") void aana_text_stream_drop(aana_text_stream self);

typedef AANA_RESULT(aana_optional_bytes) aana_optional_bytes_result;
AANA_IMPORT("storage", "get") void aana_storage_get(const char *key, uint32_t key_length, aana_optional_bytes_result *result);
AANA_IMPORT("storage", "set") void aana_storage_set(const char *key, uint32_t key_length, const uint8_t *value, uint32_t value_length, aana_empty_result *result);
AANA_IMPORT("storage", "delete") void aana_storage_delete(const char *key, uint32_t key_length, aana_bool_result *result);
/* At most `limit` keys that begin with `prefix` and, if `has_after` is set, come after `after`. */
AANA_IMPORT("storage", "list") void aana_storage_list(
  const char *prefix, uint32_t prefix_length, uint32_t has_after, const char *after, uint32_t after_length, uint32_t limit, aana_strings_result *result);

/* The number of a stored row: a whole number from 1 on. */
typedef double aana_row_id;
typedef struct { aana_string media_id; aana_optional_string path, url, title, description; } aana_video_record;
typedef struct {
  aana_row_id id;
  aana_optional_string media_id;
  aana_string model;
  uint32_t frame_id;
  aana_string caption;
  double timestamp;
  aana_string caption_type;
} aana_caption_record;
typedef struct {
  aana_row_id id;
  aana_optional_string media_id;
  aana_string model, language;
  double language_confidence;
  aana_string transcript_type;
} aana_transcript_info;
/* `segments` is a JSON array. */
typedef struct { aana_transcript_info info; aana_string transcript, segments; } aana_transcript_record;
typedef struct { const aana_video_record *items; uint32_t length; } aana_video_records;
typedef struct { const aana_caption_record *items; uint32_t length; } aana_caption_records;
typedef struct { const aana_transcript_info *items; uint32_t length; } aana_transcript_infos;
typedef AANA_RESULT(aana_video_record) aana_video_record_result;
typedef AANA_RESULT(aana_caption_record) aana_caption_record_result;
typedef AANA_RESULT(aana_transcript_record) aana_transcript_record_result;
typedef AANA_RESULT(aana_video_records) aana_video_records_result;
typedef AANA_RESULT(aana_caption_records) aana_caption_records_result;
typedef AANA_RESULT(aana_transcript_infos) aana_transcript_infos_result;
_Static_assert(sizeof(aana_video_record) == 56 && sizeof(aana_caption_record) == 56 && sizeof(aana_transcript_info) == 56 && sizeof(aana_transcript_record) == 72, "laid out as the canonical ABI says");

AANA_IMPORT("repositories", "media-exists") void aana_media_exists(const char *media_id, uint32_t media_id_length, aana_bool_result *result);
AANA_IMPORT("repositories", "read-video") void aana_read_video(const char *media_id, uint32_t media_id_length, aana_video_record_result *result);
AANA_IMPORT("repositories", "list-videos") void aana_list_videos(uint32_t has_after, const char *after, uint32_t after_length, uint32_t limit, aana_video_records_result *result);
AANA_IMPORT("repositories", "read-caption") void aana_read_caption(aana_row_id id, aana_caption_record_result *result);
/* If `has_after` is set: the captions after the one with this timestamp and id. */
AANA_IMPORT("repositories", "list-captions") void aana_list_captions(
  const char *media_id, uint32_t media_id_length, uint32_t has_after, double after_timestamp, aana_row_id after_id, uint32_t limit, aana_caption_records_result *result);
AANA_IMPORT("repositories", "read-transcript") void aana_read_transcript(aana_row_id id, aana_transcript_record_result *result);
AANA_IMPORT("repositories", "list-transcripts") void aana_list_transcripts(
  const char *media_id, uint32_t media_id_length, uint32_t has_after, aana_row_id after, uint32_t limit, aana_transcript_infos_result *result);

typedef struct {
  aana_optional_string media_id;
  aana_string model;
  uint32_t frame_id;
  aana_string caption;
  double timestamp;
  aana_optional_string caption_type;
} aana_new_caption;
typedef AANA_RESULT(aana_row_id) aana_id_result;
typedef struct { const aana_row_id *items; uint32_t length; } aana_ids;
typedef AANA_RESULT(aana_ids) aana_ids_result;
_Static_assert(sizeof(aana_new_caption) == 56, "laid out as the canonical ABI says");

AANA_IMPORT("repositories-write", "create-media") void aana_create_media(
  const char *media_id, uint32_t media_id_length, const char *media_type, uint32_t media_type_length, aana_empty_result *result);
/* The five values are options, each as whether it is present and its string. */
AANA_IMPORT("repositories-write", "save-video") void aana_save_video(
  uint32_t has_media_id, const char *media_id, uint32_t media_id_length, uint32_t has_path, const char *path, uint32_t path_length,
  uint32_t has_url, const char *url, uint32_t url_length, uint32_t has_title, const char *title, uint32_t title_length,
  uint32_t has_description, const char *description, uint32_t description_length, aana_string_result *result);
AANA_IMPORT("repositories-write", "save-captions") void aana_save_captions(const aana_new_caption *captions, uint32_t length, aana_ids_result *result);
/* The media id and the type are options. */
AANA_IMPORT("repositories-write", "save-transcript") void aana_save_transcript(
  uint32_t has_media_id, const char *media_id, uint32_t media_id_length, const char *model, uint32_t model_length, const char *transcript, uint32_t transcript_length,
  const char *segments, uint32_t segments_length, const char *language, uint32_t language_length, double language_confidence,
  uint32_t has_transcript_type, const char *transcript_type, uint32_t transcript_type_length, aana_id_result *result);
AANA_IMPORT("repositories-write", "delete-media") void aana_delete_media(const char *media_id, uint32_t media_id_length, aana_empty_result *result);
AANA_IMPORT("repositories-write", "delete-caption") void aana_delete_caption(aana_row_id id, aana_empty_result *result);
AANA_IMPORT("repositories-write", "delete-transcript") void aana_delete_transcript(aana_row_id id, aana_empty_result *result);

typedef enum { AANA_GET, AANA_POST } aana_method;
typedef struct { aana_string name, value; } aana_header;
typedef struct {
  uint16_t status;
  aana_string url;
  struct { const aana_header *items; uint32_t length; } headers;
  aana_bytes body;
} aana_response;
typedef AANA_RESULT(aana_response) aana_response_result;
_Static_assert(sizeof(aana_response) == 28, "laid out as the canonical ABI says");
/* `body` is valid when `has_body` is set. */
AANA_IMPORT("http", "fetch") void aana_fetch(
  uint32_t method, const char *url, uint32_t url_length, const aana_header *headers, uint32_t headers_length,
  uint32_t has_body, const uint8_t *body, uint32_t body_length, aana_response_result *result);

/* Starts `aana_run` with the name `helper:<name>` in another thread. */
AANA_IMPORT("remote", "[static]task.start") void aana_task_start(const char *name, uint32_t name_length, const char *input, uint32_t input_length, aana_handle_result *result);
AANA_IMPORT("remote", "[method]task.wait") void aana_task_wait(aana_task self, aana_string_result *result);
AANA_IMPORT("remote", "[resource-drop]task") void aana_task_drop(aana_task self);

AANA_IMPORT("output", "write") void aana_write(const char *chunk, uint32_t length, aana_empty_result *result);
AANA_IMPORT("output", "forward") void aana_forward(aana_chunks source, aana_empty_result *result);

/* --- functions of a plugin --- */

#define AANA_EXPORT(function) __attribute__((export_name(function)))
#define AANA_ENDPOINT "aana:host/endpoint@0.1.0#"

typedef struct { aana_string name, path, summary, description, input_schema, output_schema; bool streaming; } aana_info;
typedef struct { const aana_info *items; uint32_t length; } aana_infos;
_Static_assert(sizeof(aana_info) == 52, "laid out as the canonical ABI says");

/* Define these three functions. Names and input belong to the plugin. Returned values must outlive the function. */
AANA_EXPORT("cabi_realloc") void *aana_realloc(void *old, uint32_t old_size, uint32_t align, uint32_t size);
AANA_EXPORT(AANA_ENDPOINT "describe") const aana_infos *aana_describe(void);
AANA_EXPORT(AANA_ENDPOINT "run") const aana_string_result *aana_run(const char *name, uint32_t name_length, const char *input, uint32_t input_length);

#endif
