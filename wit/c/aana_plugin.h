/*
 * The world `plugin` of wit/world.wit for C guests: its types as the canonical ABI lays them out in wasm32 memory, the
 * host's functions, and the names of what a plugin exports. Strings are UTF-8 with a length and no terminating zero.
 *
 * Values from the host are allocated with `cabi_realloc` and belong to the plugin. Every run begins with a
 * fresh memory, so a run needs to free only memory that it allocates again and again.
 */
#ifndef AANA_PLUGIN_H
#define AANA_PLUGIN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct {
  const char* bytes;
  uint32_t length;
} aana_string;
typedef struct {
  const aana_string* items;
  uint32_t length;
} aana_strings;
typedef struct {
  const uint8_t* bytes;
  uint32_t length;
} aana_bytes;

/* Frees a string from the host. An empty string has no allocation, and its pointer is not valid. */
static inline void aana_free(aana_string string) {
  if (string.length > 0) free((void*)string.bytes);
}

/* --- types --- */

typedef enum {
  AANA_INVALID_INPUT,
  AANA_BAD_REQUEST,
  AANA_DENIED,
  AANA_NOT_FOUND,
  AANA_CONFLICT,
  AANA_TOO_LARGE,
  AANA_UNAVAILABLE,
  AANA_DEADLINE_EXCEEDED,
  AANA_CANCELLED,
  AANA_INTERNAL,
} aana_error_kind;

/* `kind` is an aana_error_kind, `data` a JSON value. */
typedef struct {
  uint8_t kind;
  aana_string name, message, data;
} aana_error;

/* Handles of resources of the host. Free each one with its `_drop`. */
typedef uint32_t aana_video, aana_frames, aana_audio, aana_image, aana_chunks, aana_transcriptions,
    aana_detailed_transcriptions, aana_text_stream, aana_completion_stream, aana_exchange, aana_task;

/* Results: `error` is valid when `is_error` is set, otherwise `value`. */
#define AANA_RESULT(type) \
  struct {                \
    bool is_error;        \
    union {               \
      type value;         \
      aana_error error;   \
    };                    \
  }
typedef AANA_RESULT(uint32_t) aana_handle_result;
typedef AANA_RESULT(aana_string) aana_string_result;
typedef AANA_RESULT(aana_strings) aana_strings_result;
typedef AANA_RESULT(aana_bytes) aana_bytes_result;
typedef AANA_RESULT(bool) aana_bool_result;
typedef struct {
  bool is_error;
  aana_error error;
} aana_empty_result;

/* Optional values: `value` is valid when `is_there` is set. */
#define AANA_OPTION(type) \
  struct {                \
    bool is_there;        \
    type value;           \
  }
typedef AANA_OPTION(aana_string) aana_optional_string;
typedef AANA_OPTION(aana_bytes) aana_optional_bytes;
typedef AANA_OPTION(double) aana_optional_double;
typedef AANA_OPTION(uint32_t) aana_optional_u32;
typedef AANA_OPTION(int32_t) aana_optional_s32;
typedef AANA_OPTION(bool) aana_optional_bool;
typedef AANA_OPTION(uint8_t) aana_optional_enum;

/* A token of a text. `logprob` is -9999 for a probability of 0, `bytes` are the token in UTF-8. */
typedef struct {
  aana_string token;
  uint32_t id;
  double logprob;
  aana_bytes bytes;
} aana_token_score;
typedef struct {
  const aana_token_score* items;
  uint32_t length;
} aana_token_scores;

_Static_assert(sizeof(void*) == 4, "build for wasm32");
_Static_assert(sizeof(aana_error) == 28 && sizeof(aana_string_result) == 32 && sizeof(aana_empty_result) == 32,
               "laid out as the canonical ABI says");

/* --- functions of the host --- */

#define AANA_IMPORT(interface, function) \
  __attribute__((import_module("aana:host/" interface "@0.1.0"), import_name(function)))

typedef enum { AANA_DEBUG, AANA_INFO, AANA_WARN, AANA_ERROR } aana_level;
AANA_IMPORT("log", "log")
void aana_log(uint32_t level, const char* message, uint32_t message_length, const char* fields, uint32_t fields_length);

AANA_IMPORT("random", "bytes") void aana_random_bytes(uint32_t length, aana_bytes* result);

AANA_IMPORT("invocation", "request-id") void aana_request_id(aana_string* result);
AANA_IMPORT("invocation", "remaining-ms") uint64_t aana_remaining_ms(void);
AANA_IMPORT("invocation", "is-cancelled") uint32_t aana_is_cancelled(void);
/* The user of the request's API key. Absent when no API key is required. */
AANA_IMPORT("invocation", "user") void aana_user(aana_optional_string* result);
/* Higher is sooner, 0 for ordinary requests. */
AANA_IMPORT("invocation", "priority") int32_t aana_priority(void);
/* The position in a distributed trace, in the form of the traceparent header. */
AANA_IMPORT("invocation", "traceparent") void aana_traceparent(aana_optional_string* result);

/* Calls at the same time: each one is started, and then all are waited for together. After `aana_start_next`, the next
   call of a function that has a result with an error begins only: it fails with the name "CallStarted", and the data of
   the error are the number of the call. `aana_wait` returns the numbers of those that have finished, or none when the
   time is over. After `aana_take_next`, the next call returns what the call with this number returns, which must be of
   the same function; its arguments are not used. */
typedef struct {
  const uint32_t* items;
  uint32_t length;
} aana_numbers;
typedef AANA_RESULT(aana_numbers) aana_numbers_result;
AANA_IMPORT("concurrency", "start-next") void aana_start_next(void);
AANA_IMPORT("concurrency", "wait")
void aana_wait(const uint32_t* calls, uint32_t length, uint32_t has_milliseconds, uint32_t milliseconds,
               aana_numbers_result* result);
AANA_IMPORT("concurrency", "take-next") void aana_take_next(uint32_t call);
AANA_IMPORT("concurrency", "cancel") void aana_cancel(uint32_t call);

/* The finished fraction, from 0 to 1, and the current step. */
AANA_IMPORT("progress", "report") void aana_report_progress(double fraction, const char* text, uint32_t text_length);
/* The same, and the fraction at which the next step ends: deployments that work in it move the progress there. */
AANA_IMPORT("progress", "report-step")
void aana_report_step(double fraction, double until, const char* text, uint32_t text_length);

/* A file of the request. Its name and its media type are what the client says. */
typedef struct {
  aana_optional_string name, media_type;
  double size;
} aana_file_info;
/* A piece of a file as text, and the number of bytes that it was. */
typedef struct {
  aana_string text;
  uint32_t length;
} aana_text_piece;
typedef AANA_RESULT(aana_file_info) aana_file_info_result;
typedef AANA_RESULT(aana_text_piece) aana_text_piece_result;
_Static_assert(sizeof(aana_file_info_result) == 40 && sizeof(aana_text_piece_result) == 32,
               "laid out as the canonical ABI says");
/* The file in a field of the form. */
AANA_IMPORT("uploads", "info")
void aana_upload_info(const char* field, uint32_t field_length, aana_file_info_result* result);
/* The bytes from `offset` on in base64: `length` of them, and at most 262,144. Only the end of the file gives fewer. */
AANA_IMPORT("uploads", "read")
void aana_upload_read(const char* field, uint32_t field_length, double offset, uint32_t length,
                      aana_string_result* result);
AANA_IMPORT("uploads", "read-text")
void aana_upload_read_text(const char* field, uint32_t field_length, double offset, uint32_t length,
                           aana_text_piece_result* result);

typedef enum { AANA_MIX, AANA_SEPARATE } aana_channels;
typedef struct {
  bool has_duration;
  double duration;
  bool has_audio, has_video;
} aana_video_info;
_Static_assert(sizeof(aana_video_info) == 24, "laid out as the canonical ABI says");

/* From the page of the video. It is text of strangers. */
typedef struct {
  aana_optional_string title, description;
} aana_video_metadata;
_Static_assert(sizeof(aana_video_metadata) == 24, "laid out as the canonical ABI says");

/* Path, url, content and media id are options, each as whether it is present and its string. */
AANA_IMPORT("media", "[static]video.open")
void aana_video_open(uint32_t has_path, const char* path, uint32_t path_length, uint32_t has_url, const char* url,
                     uint32_t url_length, uint32_t has_content, const char* content, uint32_t content_length,
                     uint32_t has_media_id, const char* media_id, uint32_t media_id_length, aana_handle_result* result);
AANA_IMPORT("media", "[method]video.info") void aana_video_get_info(aana_video self, aana_video_info* result);
AANA_IMPORT("media", "[method]video.metadata")
void aana_video_get_metadata(aana_video self, aana_video_metadata* result);
AANA_IMPORT("media", "[method]video.extract-audio")
void aana_video_extract_audio(aana_video self, uint32_t channels, aana_handle_result* result);
/* All facts about the file as a JSON object: duration, has_audio, has_video, width, height, frame_rate, tracks,
   chapters, title and description. */
AANA_IMPORT("media", "[method]video.facts") void aana_video_facts(aana_video self, aana_string_result* result);
/* `options` is a JSON object with exactly one of every, count, times, scenes and keyframes, and with max_width and
   max_height. */
AANA_IMPORT("media", "[method]video.frames")
void aana_video_frames(aana_video self, const char* options, uint32_t options_length, aana_handle_result* result);
/* The embedded subtitles of a track, from 0 on, in SubRip. Without a track, those of the first one. */
AANA_IMPORT("media", "[method]video.subtitles")
void aana_video_subtitles(aana_video self, uint32_t has_track, uint32_t track, aana_string_result* result);
AANA_IMPORT("media", "[resource-drop]video") void aana_video_drop(aana_video self);
/* Decodes the next frame. The value is its time in seconds; it is absent at the end. */
typedef AANA_RESULT(aana_optional_double) aana_optional_double_result;
AANA_IMPORT("media", "[method]frames.next")
void aana_frames_next(aana_frames self, aana_optional_double_result* result);
/* The frame that was decoded last. */
AANA_IMPORT("media", "[method]frames.image") void aana_frames_image(aana_frames self, aana_handle_result* result);
AANA_IMPORT("media", "[resource-drop]frames") void aana_frames_drop(aana_frames self);
AANA_IMPORT("media", "[method]audio.duration") double aana_audio_duration(aana_audio self);
AANA_IMPORT("media", "[resource-drop]audio") void aana_audio_drop(aana_audio self);

typedef struct {
  uint32_t width, height;
  aana_string format;
} aana_image_info;
AANA_IMPORT("media", "[static]image.open")
void aana_image_open(uint32_t has_path, const char* path, uint32_t path_length, uint32_t has_url, const char* url,
                     uint32_t url_length, uint32_t has_content, const char* content, uint32_t content_length,
                     uint32_t has_media_id, const char* media_id, uint32_t media_id_length, aana_handle_result* result);
/* The file of an image that the plugin has, such as a PNG. In base64 it may be larger. */
AANA_IMPORT("media", "[static]image.decode")
void aana_image_decode(const uint8_t* file, uint32_t length, aana_handle_result* result);
AANA_IMPORT("media", "[static]image.decode-base64")
void aana_image_decode_base64(const char* file, uint32_t length, aana_handle_result* result);
AANA_IMPORT("media", "[method]image.info") void aana_image_get_info(aana_image self, aana_image_info* result);
/* The red, green and blue value of each pixel of the image at this size, row by row from the top. */
AANA_IMPORT("media", "[method]image.pixels")
void aana_image_pixels(aana_image self, uint32_t width, uint32_t height, aana_bytes_result* result);
/* The same in base64. */
AANA_IMPORT("media", "[method]image.pixels-base64")
void aana_image_pixels_base64(aana_image self, uint32_t width, uint32_t height, aana_string_result* result);
/* The file of the image in another form, in base64. `options` is a JSON object with format (jpeg or png), quality,
   max_width and max_height. */
AANA_IMPORT("media", "[method]image.encode")
void aana_image_encode(aana_image self, const char* options, uint32_t options_length, aana_string_result* result);
AANA_IMPORT("media", "[resource-drop]image") void aana_image_drop(aana_image self);

AANA_IMPORT("deployments", "call")
void aana_call(const char* deployment, uint32_t deployment_length, const char* method, uint32_t method_length,
               const char* args, uint32_t args_length, const aana_audio* audio, uint32_t audio_length,
               aana_string_result* result);
AANA_IMPORT("deployments", "open")
void aana_open(const char* deployment, uint32_t deployment_length, const char* method, uint32_t method_length,
               const char* args, uint32_t args_length, const aana_audio* audio, uint32_t audio_length,
               aana_handle_result* result);
/* `{"$image": n}` in the arguments stands for `images[n]`. */
AANA_IMPORT("deployments", "call-with-images")
void aana_call_with_images(const char* deployment, uint32_t deployment_length, const char* method,
                           uint32_t method_length, const char* args, uint32_t args_length, const aana_audio* audio,
                           uint32_t audio_length, const aana_image* images, uint32_t images_length,
                           aana_string_result* result);
AANA_IMPORT("deployments", "open-with-images")
void aana_open_with_images(const char* deployment, uint32_t deployment_length, const char* method,
                           uint32_t method_length, const char* args, uint32_t args_length, const aana_audio* audio,
                           uint32_t audio_length, const aana_image* images, uint32_t images_length,
                           aana_handle_result* result);
AANA_IMPORT("deployments", "[method]chunks.next") void aana_chunks_next(aana_chunks self, aana_strings_result* result);
/* The JSON that the method returned after its last value; empty until the stream has ended, and for a method that
 * returns none. */
AANA_IMPORT("deployments", "[method]chunks.returned")
void aana_chunks_returned(aana_chunks self, aana_string_result* result);
AANA_IMPORT("deployments", "[resource-drop]chunks") void aana_chunks_drop(aana_chunks self);

typedef struct {
  double start, end;
} aana_time_interval;
typedef struct {
  aana_string word;
  aana_optional_string speaker;
  aana_time_interval time_interval;
  double alignment_confidence;
} aana_word;
typedef struct {
  aana_string text;
  aana_time_interval time_interval;
  aana_optional_double confidence, no_speech_confidence;
  struct {
    const aana_word* items;
    uint32_t length;
  } words;
  aana_optional_string speaker, language;
} aana_segment;
typedef struct {
  aana_string text;
  struct {
    aana_string language;
    double language_confidence;
  } info;
  struct {
    const aana_segment* items;
    uint32_t length;
  } segments;
} aana_transcription;
typedef struct {
  const aana_transcription* items;
  uint32_t length;
} aana_transcription_list;
typedef AANA_RESULT(aana_transcription) aana_transcription_result;
typedef AANA_RESULT(aana_transcription_list) aana_transcriptions_result;
enum aana_asr_task { AANA_TRANSCRIBE, AANA_TRANSLATE };
/* Absent members have the deployment's defaults. `channels` is an aana_channels, `task` an aana_asr_task. */
typedef struct {
  aana_optional_string language;
  aana_optional_u32 beam_size, best_of;
  struct {
    const double* items;
    uint32_t length;
  } temperatures;
  aana_optional_bool without_timestamps, word_timestamps, vad_filter;
  aana_optional_enum channels, task;
  aana_optional_string initial_prompt;
  aana_optional_double log_prob_threshold, no_speech_threshold, length_penalty, max_initial_timestamp;
  aana_optional_bool multilingual;
} aana_asr_params;
/* The parameters of both functions, in memory because they are too many to be passed as arguments. */
typedef struct {
  aana_string deployment;
  aana_audio audio;
  aana_asr_params params;
} aana_asr_request;
_Static_assert(sizeof(aana_word) == 48 && sizeof(aana_segment) == 88 && sizeof(aana_transcription) == 32 &&
                   sizeof(aana_asr_request) == 152,
               "laid out as the canonical ABI says");

AANA_IMPORT("asr", "transcribe")
void aana_transcribe(const aana_asr_request* request, aana_transcription_result* result);
AANA_IMPORT("asr", "transcribe-stream")
void aana_transcribe_stream(const aana_asr_request* request, aana_handle_result* result);
AANA_IMPORT("asr", "[method]transcriptions.next")
void aana_transcriptions_next(aana_transcriptions self, aana_transcriptions_result* result);
AANA_IMPORT("asr", "[resource-drop]transcriptions") void aana_transcriptions_drop(aana_transcriptions self);

/* All parameters. `more` is a JSON object with further ones. */
typedef struct {
  aana_asr_params params;
  aana_optional_string prefix, hotwords;
  aana_optional_bool condition_on_previous_text;
  aana_optional_double prompt_reset_on_temperature, patience, compression_ratio_threshold, repetition_penalty;
  aana_optional_u32 no_repeat_ngram_size;
  aana_optional_bool suppress_blank;
  AANA_OPTION(struct {
    const int32_t* items;
    uint32_t length;
  })
  suppress_tokens;
  aana_optional_u32 max_new_tokens;
  aana_optional_double chunk_length;
  struct {
    const double* items;
    uint32_t length;
  } clip_timestamps;
  aana_optional_double hallucination_silence_threshold, language_detection_threshold;
  aana_optional_u32 language_detection_segments;
  aana_optional_bool all_language_probs, logprobs;
  aana_optional_string more;
} aana_transcribe_options;
typedef struct {
  aana_string deployment;
  aana_audio audio;
  aana_transcribe_options options;
} aana_transcribe_request;
typedef struct {
  aana_string language;
  double probability;
} aana_language_probability;
typedef struct {
  aana_segment segment;
  aana_token_scores tokens;
} aana_detailed_segment;
typedef struct {
  aana_string text;
  struct {
    aana_string language;
    double language_confidence;
  } info;
  struct {
    const aana_language_probability* items;
    uint32_t length;
  } all_language_probs;
  struct {
    const aana_detailed_segment* items;
    uint32_t length;
  } segments;
} aana_detailed_transcription;
typedef struct {
  const aana_detailed_transcription* items;
  uint32_t length;
} aana_detailed_transcription_list;
typedef AANA_RESULT(aana_detailed_transcription) aana_detailed_transcription_result;
typedef AANA_RESULT(aana_detailed_transcription_list) aana_detailed_transcriptions_result;
_Static_assert(sizeof(aana_token_score) == 32 && sizeof(aana_detailed_segment) == 96 &&
                   sizeof(aana_detailed_transcription) == 40 && sizeof(aana_transcribe_options) == 344,
               "laid out as the canonical ABI says");

AANA_IMPORT("asr", "transcribe-with")
void aana_transcribe_with(const aana_transcribe_request* request, aana_detailed_transcription_result* result);
AANA_IMPORT("asr", "transcribe-stream-with")
void aana_transcribe_stream_with(const aana_transcribe_request* request, aana_handle_result* result);
AANA_IMPORT("asr", "[method]detailed-transcriptions.next")
void aana_detailed_transcriptions_next(aana_detailed_transcriptions self, aana_detailed_transcriptions_result* result);
AANA_IMPORT("asr", "[resource-drop]detailed-transcriptions")
void aana_detailed_transcriptions_drop(aana_detailed_transcriptions self);

/* The texts of images. A place is in pixels from the left and from the top, an angle in degrees. */
typedef struct {
  uint32_t x, y;
} aana_point;
typedef struct {
  aana_point top_left, top_right, bottom_right, bottom_left;
} aana_text_box;
typedef struct {
  aana_string text;
  double confidence;
  aana_text_box box;
  double angle;
} aana_line;
typedef struct {
  const aana_line* lines;
  uint32_t length;
} aana_page;
typedef struct {
  const aana_page* items;
  uint32_t length;
} aana_pages;
typedef AANA_RESULT(aana_pages) aana_pages_result;
_Static_assert(sizeof(aana_line) == 56 && sizeof(aana_page) == 8, "laid out as the canonical ABI says");
/* A page for each image, in their order. */
AANA_IMPORT("ocr", "recognize")
void aana_recognize(const char* deployment, uint32_t deployment_length, const aana_image* images,
                    uint32_t images_length, aana_pages_result* result);

typedef enum { AANA_SYSTEM, AANA_USER, AANA_ASSISTANT } aana_role;
/* `role` is an aana_role. */
typedef struct {
  uint8_t role;
  aana_string content;
} aana_message;
typedef struct {
  const aana_message* items;
  uint32_t length;
} aana_dialog;
/* Absent members have the deployment's defaults. An empty `stop` counts as absent. */
typedef struct {
  aana_optional_double temperature, top_p;
  aana_optional_s32 top_k;
  aana_optional_double min_p;
  aana_optional_u32 max_tokens;
  aana_optional_double repetition_penalty, seed;
  aana_strings stop;
} aana_sampling_params;
typedef struct {
  aana_sampling_params sampling_params;
  aana_optional_string assistant_prefix;
} aana_chat_options;
/* The parameters of both functions, in memory because they are too many to be passed as arguments. */
typedef struct {
  aana_string deployment;
  aana_dialog dialog;
  aana_chat_options options;
} aana_chat_request;
typedef struct {
  uint32_t tokens, max_tokens;
} aana_token_count;
typedef AANA_RESULT(aana_message) aana_message_result;
typedef AANA_RESULT(aana_token_count) aana_token_count_result;
_Static_assert(sizeof(aana_message) == 12 && sizeof(aana_sampling_params) == 104 && sizeof(aana_chat_request) == 136,
               "laid out as the canonical ABI says");

AANA_IMPORT("llm", "chat") void aana_chat(const aana_chat_request* request, aana_message_result* result);
AANA_IMPORT("llm", "chat-stream") void aana_chat_stream(const aana_chat_request* request, aana_handle_result* result);
AANA_IMPORT("llm", "count-dialog-tokens")
void aana_count_dialog_tokens(const char* deployment, uint32_t deployment_length, const aana_message* dialog,
                              uint32_t dialog_length, aana_token_count_result* result);
AANA_IMPORT("llm", "count-tokens")
void aana_count_tokens(const char* deployment, uint32_t deployment_length, const char* text, uint32_t text_length,
                       aana_token_count_result* result);
AANA_IMPORT("llm", "[method]text-stream.next")
void aana_text_stream_next(aana_text_stream self, aana_strings_result* result);
AANA_IMPORT("llm", "[method]text-stream.forward")
void aana_text_stream_forward(aana_text_stream self, aana_empty_result* result);
AANA_IMPORT("llm", "[resource-drop]text-stream") void aana_text_stream_drop(aana_text_stream self);

typedef enum { AANA_BY_SYSTEM, AANA_BY_USER, AANA_BY_ASSISTANT, AANA_BY_TOOL } aana_author;
typedef enum { AANA_PART_TEXT, AANA_PART_IMAGE } aana_part_kind;
/* `kind` is an aana_part_kind, `image` the place of an image in the list of the request. */
typedef struct {
  uint8_t kind;
  union {
    aana_string text;
    uint32_t image;
  };
} aana_content_part;
/* `arguments` is the JSON text of an object. */
typedef struct {
  aana_string id, name, arguments;
} aana_tool_call;
typedef struct {
  const aana_tool_call* items;
  uint32_t length;
} aana_tool_calls;
/* `author` is an aana_author. */
typedef struct {
  uint8_t author;
  struct {
    const aana_content_part* items;
    uint32_t length;
  } content;
  aana_optional_string name, reasoning;
  aana_tool_calls tool_calls;
  aana_optional_string tool_call_id;
} aana_turn;
/* `parameters` is a JSON Schema. */
typedef struct {
  aana_string name;
  aana_optional_string description, parameters;
  aana_optional_bool strict;
} aana_tool;
typedef enum { AANA_TOOLS_AUTO, AANA_TOOLS_NONE, AANA_TOOLS_REQUIRED, AANA_TOOLS_NAMED } aana_tool_choice_kind;
typedef struct {
  uint8_t kind;
  aana_string named;
} aana_tool_choice;
typedef enum {
  AANA_FORM_TEXT,
  AANA_FORM_JSON_OBJECT,
  AANA_FORM_JSON_SCHEMA,
  AANA_FORM_REGEX,
  AANA_FORM_CHOICE,
  AANA_FORM_GRAMMAR
} aana_form_kind;
/* `text` is the schema, the expression or the grammar. */
typedef struct {
  uint8_t kind;
  union {
    aana_string text;
    aana_strings choice;
  };
} aana_answer_form;
typedef enum { AANA_OVERFLOW_ERROR, AANA_OVERFLOW_SHIFT, AANA_OVERFLOW_TRUNCATE_MIDDLE } aana_overflow;
typedef enum { AANA_REASONING_AUTO, AANA_REASONING_NONE, AANA_REASONING_DEEPSEEK } aana_reasoning_format;
typedef struct {
  uint32_t token;
  double bias;
} aana_logit_bias;
/* `more` is a JSON object with further parameters. */
typedef struct {
  aana_sampling_params params;
  aana_optional_double typical_p, presence_penalty, frequency_penalty;
  aana_optional_u32 min_tokens;
  aana_optional_bool ignore_eos;
  struct {
    const uint32_t* items;
    uint32_t length;
  } stop_token_ids;
  struct {
    const aana_logit_bias* items;
    uint32_t length;
  } logit_bias;
  aana_strings bad_words;
  aana_optional_u32 n, logprobs, prompt_logprobs;
  aana_optional_bool reproducible;
  aana_optional_string more;
} aana_sampling;
/* `overflow` is an aana_overflow, `reasoning_format` an aana_reasoning_format. Members that are absent or empty have
 * the deployment's defaults. */
typedef struct {
  aana_string deployment;
  struct {
    const aana_turn* items;
    uint32_t length;
  } turns;
  aana_sampling sampling;
  struct {
    const aana_tool* items;
    uint32_t length;
  } tools;
  AANA_OPTION(aana_tool_choice) tool_choice;
  aana_optional_bool parallel_tool_calls;
  AANA_OPTION(aana_answer_form) form;
  aana_optional_bool close_json;
  aana_optional_string assistant_prefix, adapter;
  aana_optional_enum overflow, reasoning_format;
  aana_optional_string template_arguments, more;
} aana_completion_arguments;

typedef enum {
  AANA_FINISH_STOP,
  AANA_FINISH_LENGTH,
  AANA_FINISH_TOOL_CALLS,
  AANA_FINISH_CONTENT_FILTER
} aana_finish_reason;
typedef struct {
  uint32_t prompt_tokens, cached_tokens, completion_tokens;
  aana_optional_u32 reasoning_tokens;
} aana_usage;
typedef AANA_OPTION(aana_usage) aana_optional_usage;
typedef struct {
  double queue_ms, prompt_ms, completion_ms;
} aana_timings;
typedef struct {
  uint32_t tokens;
  aana_optional_u32 messages;
} aana_dropped;
/* `prompt_scores` is JSON. */
typedef struct {
  aana_optional_usage usage;
  AANA_OPTION(aana_timings) timings;
  AANA_OPTION(aana_dropped) dropped;
  aana_optional_string prompt_scores;
} aana_outcome;
/* `finish_reason` is an aana_finish_reason. */
typedef struct {
  aana_optional_enum finish_reason;
  aana_optional_string stop_reason;
  aana_optional_usage usage;
} aana_ending;
typedef struct {
  aana_token_score token;
  aana_token_scores likeliest;
} aana_answer_token;
typedef struct {
  const aana_answer_token* items;
  uint32_t length;
} aana_answer_tokens;
typedef struct {
  aana_string content;
  aana_optional_string reasoning;
  aana_tool_calls tool_calls;
  aana_answer_tokens logprobs;
  aana_ending ending;
} aana_choice;
typedef struct {
  struct {
    const aana_choice* items;
    uint32_t length;
  } choices;
  aana_outcome outcome;
} aana_completion;
typedef struct {
  uint32_t index;
  aana_optional_string id, name;
  aana_string arguments;
} aana_tool_call_piece;
typedef struct {
  uint32_t choice;
  aana_string text, reasoning;
  struct {
    const aana_tool_call_piece* items;
    uint32_t length;
  } tool_calls;
  aana_answer_tokens logprobs;
  aana_optional_string prompt_scores;
} aana_piece;
typedef struct {
  const aana_piece* items;
  uint32_t length;
} aana_pieces;
typedef struct {
  struct {
    const aana_ending* items;
    uint32_t length;
  } endings;
  aana_outcome outcome;
} aana_completion_end;
typedef AANA_RESULT(aana_completion) aana_completion_result;
typedef AANA_RESULT(aana_pieces) aana_pieces_result;
typedef AANA_RESULT(aana_completion_end) aana_completion_end_result;
/* The parameters of both functions, in memory because they are too many to be passed as arguments. */
typedef struct {
  aana_completion_arguments request;
  struct {
    const aana_image* items;
    uint32_t length;
  } images;
} aana_completion_request;
_Static_assert(sizeof(aana_turn) == 56 && sizeof(aana_tool) == 36 && sizeof(aana_sampling) == 232 &&
                   sizeof(aana_choice) == 76,
               "laid out as the canonical ABI says");
_Static_assert(sizeof(aana_completion) == 96 && sizeof(aana_piece) == 48 && sizeof(aana_completion_end) == 96,
               "laid out as the canonical ABI says");

AANA_IMPORT("llm", "complete")
void aana_complete(const aana_completion_request* request, aana_completion_result* result);
AANA_IMPORT("llm", "complete-stream")
void aana_complete_stream(const aana_completion_request* request, aana_handle_result* result);
AANA_IMPORT("llm", "[method]completion-stream.next")
void aana_completion_stream_next(aana_completion_stream self, aana_pieces_result* result);
/* Fails before the stream has ended. */
AANA_IMPORT("llm", "[method]completion-stream.end")
void aana_completion_stream_end(aana_completion_stream self, aana_completion_end_result* result);
AANA_IMPORT("llm", "[method]completion-stream.forward")
void aana_completion_stream_forward(aana_completion_stream self, aana_empty_result* result);
AANA_IMPORT("llm", "[resource-drop]completion-stream") void aana_completion_stream_drop(aana_completion_stream self);

/* Performs a method of SubtleCrypto, such as "digest". `args` is a JSON object, `data` base64. */
AANA_IMPORT("crypto", "perform")
void aana_crypto(const char* method, uint32_t method_length, const char* args, uint32_t args_length, const char* data,
                 uint32_t data_length, aana_string_result* result);

typedef AANA_RESULT(aana_optional_string) aana_optional_string_result;
/* The value of a setting of plugin.json, as JSON. */
AANA_IMPORT("settings", "get")
void aana_setting(const char* name, uint32_t name_length, aana_optional_string_result* result);

typedef AANA_RESULT(aana_optional_bytes) aana_optional_bytes_result;
typedef AANA_RESULT(double) aana_double_result;
/* A key with the bytes of its value. `text` is the value, if it was asked for and is UTF-8. */
typedef struct {
  aana_string key;
  uint32_t size;
  aana_optional_double expires_in_ms;
  aana_optional_string text;
} aana_entry;
typedef struct {
  const aana_entry* items;
  uint32_t length;
} aana_entries;
typedef AANA_RESULT(aana_entries) aana_entries_result;
_Static_assert(sizeof(aana_entry) == 48, "laid out as the canonical ABI says");
AANA_IMPORT("storage", "get")
void aana_storage_get(const char* key, uint32_t key_length, aana_optional_bytes_result* result);
AANA_IMPORT("storage", "set")
void aana_storage_set(const char* key, uint32_t key_length, const uint8_t* value, uint32_t value_length,
                      aana_empty_result* result);
AANA_IMPORT("storage", "delete")
void aana_storage_delete(const char* key, uint32_t key_length, aana_bool_result* result);
/* At most `limit` keys that begin with `prefix` and, if `has_after` is set, come after `after`. */
AANA_IMPORT("storage", "list")
void aana_storage_list(const char* prefix, uint32_t prefix_length, uint32_t has_after, const char* after,
                       uint32_t after_length, uint32_t limit, aana_strings_result* result);

AANA_IMPORT("storage", "get-text")
void aana_storage_get_text(const char* key, uint32_t key_length, aana_optional_string_result* result);
/* Where `has_expires` is set, the value expires after `expires_in_ms` milliseconds. */
AANA_IMPORT("storage", "set-text")
void aana_storage_set_text(const char* key, uint32_t key_length, const char* value, uint32_t value_length,
                           uint32_t has_expires, double expires_in_ms, aana_empty_result* result);
AANA_IMPORT("storage", "set-expiring")
void aana_storage_set_expiring(const char* key, uint32_t key_length, const uint8_t* value, uint32_t value_length,
                               double expires_in_ms, aana_empty_result* result);
/* The result is the new number. */
AANA_IMPORT("storage", "increment")
void aana_storage_increment(const char* key, uint32_t key_length, double by, uint32_t has_expires, double expires_in_ms,
                            aana_double_result* result);
/* Without `has_expected` the key must be missing, and without `has_value` it is removed. */
AANA_IMPORT("storage", "compare-and-set")
void aana_storage_compare_and_set(const char* key, uint32_t key_length, uint32_t has_expected, const uint8_t* expected,
                                  uint32_t expected_length, uint32_t has_value, const uint8_t* value,
                                  uint32_t value_length, uint32_t has_expires, double expires_in_ms,
                                  aana_bool_result* result);
/* The same with values in base64. */
AANA_IMPORT("storage", "get-base64")
void aana_storage_get_base64(const char* key, uint32_t key_length, aana_optional_string_result* result);
AANA_IMPORT("storage", "set-base64")
void aana_storage_set_base64(const char* key, uint32_t key_length, const char* value, uint32_t value_length,
                             uint32_t has_expires, double expires_in_ms, aana_empty_result* result);
AANA_IMPORT("storage", "compare-and-set-base64")
void aana_storage_compare_and_set_base64(const char* key, uint32_t key_length, uint32_t has_expected,
                                         const char* expected, uint32_t expected_length, uint32_t has_value,
                                         const char* value, uint32_t value_length, uint32_t has_expires,
                                         double expires_in_ms, aana_bool_result* result);
AANA_IMPORT("storage", "list-entries")
void aana_storage_list_entries(const char* prefix, uint32_t prefix_length, uint32_t has_after, const char* after,
                               uint32_t after_length, uint32_t limit, uint32_t with_text, aana_entries_result* result);

/* A collection of texts with vectors. `bytes` are a whole number. */
typedef struct {
  aana_string name, model;
  uint32_t dimensions, chunks;
  double bytes;
} aana_collection;
typedef struct {
  const aana_collection* items;
  uint32_t length;
} aana_collections;
/* A text of a collection. `metadata` is a JSON object. */
typedef struct {
  aana_string id;
  aana_optional_string document;
  aana_string text, metadata;
} aana_chunk;
typedef struct {
  const aana_chunk* items;
  uint32_t length;
} aana_chunk_list;
typedef struct {
  aana_chunk chunk;
  double score;
} aana_found_chunk;
typedef struct {
  const aana_found_chunk* items;
  uint32_t length;
} aana_found_chunks;
typedef AANA_RESULT(aana_collections) aana_collections_result;
typedef AANA_RESULT(aana_chunk_list) aana_chunk_list_result;
typedef AANA_RESULT(aana_found_chunks) aana_found_chunks_result;
typedef AANA_RESULT(uint32_t) aana_count_result;
_Static_assert(sizeof(aana_collection) == 32 && sizeof(aana_chunk) == 36 && sizeof(aana_found_chunk) == 48,
               "laid out as the canonical ABI says");
AANA_IMPORT("vectors", "ensure")
void aana_vectors_ensure(const char* name, uint32_t name_length, const char* model, uint32_t model_length,
                         uint32_t dimensions, aana_empty_result* result);
AANA_IMPORT("vectors", "list-collections")
void aana_vectors_list_collections(uint32_t has_after, const char* after, uint32_t after_length, uint32_t limit,
                                   aana_collections_result* result);
AANA_IMPORT("vectors", "delete-collection")
void aana_vectors_delete_collection(const char* name, uint32_t name_length, aana_bool_result* result);
/* `vectors` are those of all chunks, as 32-bit floating-point numbers, little endian, in base64. */
AANA_IMPORT("vectors", "upsert")
void aana_vectors_upsert(const char* name, uint32_t name_length, const char* model, uint32_t model_length,
                         const aana_chunk* chunks, uint32_t chunks_length, const char* vectors, uint32_t vectors_length,
                         aana_empty_result* result);
/* With AANA_BY_IDS, `which` is a list of `length` strings; with AANA_BY_DOCUMENT the `length` bytes of a name. */
enum { AANA_BY_IDS, AANA_BY_DOCUMENT };
AANA_IMPORT("vectors", "delete-chunks")
void aana_vectors_delete_chunks(const char* name, uint32_t name_length, uint32_t by, const void* which, uint32_t length,
                                aana_count_result* result);
AANA_IMPORT("vectors", "list-chunks")
void aana_vectors_list_chunks(const char* name, uint32_t name_length, uint32_t has_document, const char* document,
                              uint32_t document_length, uint32_t has_after, const char* after, uint32_t after_length,
                              uint32_t limit, aana_chunk_list_result* result);
/* The vector (base64), its model, the text and the filter (JSON) are options. */
AANA_IMPORT("vectors", "search")
void aana_vectors_search(const char* name, uint32_t name_length, uint32_t has_vector, const char* vector,
                         uint32_t vector_length, uint32_t has_model, const char* model, uint32_t model_length,
                         uint32_t has_text, const char* text, uint32_t text_length, uint32_t has_filter,
                         const char* filter, uint32_t filter_length, uint32_t limit, aana_found_chunks_result* result);

/* The number of a stored row: a whole number from 1 on. */
typedef double aana_row_id;
typedef struct {
  aana_string media_id;
  aana_optional_string path, url, title, description;
} aana_video_record;
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
typedef struct {
  aana_transcript_info info;
  aana_string transcript, segments;
} aana_transcript_record;
typedef struct {
  const aana_video_record* items;
  uint32_t length;
} aana_video_records;
typedef struct {
  const aana_caption_record* items;
  uint32_t length;
} aana_caption_records;
typedef struct {
  const aana_transcript_info* items;
  uint32_t length;
} aana_transcript_infos;
typedef AANA_RESULT(aana_video_record) aana_video_record_result;
typedef AANA_RESULT(aana_caption_record) aana_caption_record_result;
typedef AANA_RESULT(aana_transcript_record) aana_transcript_record_result;
typedef AANA_RESULT(aana_video_records) aana_video_records_result;
typedef AANA_RESULT(aana_caption_records) aana_caption_records_result;
typedef AANA_RESULT(aana_transcript_infos) aana_transcript_infos_result;
_Static_assert(sizeof(aana_video_record) == 56 && sizeof(aana_caption_record) == 56 &&
                   sizeof(aana_transcript_info) == 56 && sizeof(aana_transcript_record) == 72,
               "laid out as the canonical ABI says");

AANA_IMPORT("repositories", "media-exists")
void aana_media_exists(const char* media_id, uint32_t media_id_length, aana_bool_result* result);
AANA_IMPORT("repositories", "read-video")
void aana_read_video(const char* media_id, uint32_t media_id_length, aana_video_record_result* result);
AANA_IMPORT("repositories", "list-videos")
void aana_list_videos(uint32_t has_after, const char* after, uint32_t after_length, uint32_t limit,
                      aana_video_records_result* result);
AANA_IMPORT("repositories", "read-caption") void aana_read_caption(aana_row_id id, aana_caption_record_result* result);
/* If `has_after` is set: the captions after the one with this timestamp and id. */
AANA_IMPORT("repositories", "list-captions")
void aana_list_captions(const char* media_id, uint32_t media_id_length, uint32_t has_after, double after_timestamp,
                        aana_row_id after_id, uint32_t limit, aana_caption_records_result* result);
AANA_IMPORT("repositories", "read-transcript")
void aana_read_transcript(aana_row_id id, aana_transcript_record_result* result);
AANA_IMPORT("repositories", "list-transcripts")
void aana_list_transcripts(const char* media_id, uint32_t media_id_length, uint32_t has_after, aana_row_id after,
                           uint32_t limit, aana_transcript_infos_result* result);

typedef struct {
  aana_optional_string media_id;
  aana_string model;
  uint32_t frame_id;
  aana_string caption;
  double timestamp;
  aana_optional_string caption_type;
} aana_new_caption;
typedef AANA_RESULT(aana_row_id) aana_id_result;
typedef struct {
  const aana_row_id* items;
  uint32_t length;
} aana_ids;
typedef AANA_RESULT(aana_ids) aana_ids_result;
_Static_assert(sizeof(aana_new_caption) == 56, "laid out as the canonical ABI says");

AANA_IMPORT("repositories-write", "create-media")
void aana_create_media(const char* media_id, uint32_t media_id_length, const char* media_type,
                       uint32_t media_type_length, aana_empty_result* result);
/* The five values are options, each as whether it is present and its string. */
AANA_IMPORT("repositories-write", "save-video")
void aana_save_video(uint32_t has_media_id, const char* media_id, uint32_t media_id_length, uint32_t has_path,
                     const char* path, uint32_t path_length, uint32_t has_url, const char* url, uint32_t url_length,
                     uint32_t has_title, const char* title, uint32_t title_length, uint32_t has_description,
                     const char* description, uint32_t description_length, aana_string_result* result);
AANA_IMPORT("repositories-write", "save-captions")
void aana_save_captions(const aana_new_caption* captions, uint32_t length, aana_ids_result* result);
/* The media id and the type are options. */
AANA_IMPORT("repositories-write", "save-transcript")
void aana_save_transcript(uint32_t has_media_id, const char* media_id, uint32_t media_id_length, const char* model,
                          uint32_t model_length, const char* transcript, uint32_t transcript_length,
                          const char* segments, uint32_t segments_length, const char* language,
                          uint32_t language_length, double language_confidence, uint32_t has_transcript_type,
                          const char* transcript_type, uint32_t transcript_type_length, aana_id_result* result);
AANA_IMPORT("repositories-write", "delete-media")
void aana_delete_media(const char* media_id, uint32_t media_id_length, aana_empty_result* result);
AANA_IMPORT("repositories-write", "delete-caption") void aana_delete_caption(aana_row_id id, aana_empty_result* result);
AANA_IMPORT("repositories-write", "delete-transcript")
void aana_delete_transcript(aana_row_id id, aana_empty_result* result);

typedef enum { AANA_GET, AANA_POST } aana_method;
typedef struct {
  aana_string name, value;
} aana_header;
typedef struct {
  uint16_t status;
  aana_string url;
  struct {
    const aana_header* items;
    uint32_t length;
  } headers;
  aana_bytes body;
} aana_response;
typedef AANA_RESULT(aana_response) aana_response_result;
_Static_assert(sizeof(aana_response) == 28, "laid out as the canonical ABI says");
/* `body` is valid when `has_body` is set. */
AANA_IMPORT("http", "fetch")
void aana_fetch(uint32_t method, const char* url, uint32_t url_length, const aana_header* headers,
                uint32_t headers_length, uint32_t has_body, const uint8_t* body, uint32_t body_length,
                aana_response_result* result);

/* A body is the text, or the bytes in base64. */
typedef enum { AANA_BODY_TEXT, AANA_BODY_BYTES } aana_body_kind;
/* `body_kind` and `body` are valid when `has_body` is set. */
AANA_IMPORT("http", "[static]exchange.send")
void aana_exchange_send(const char* method, uint32_t method_length, const char* url, uint32_t url_length,
                        const aana_header* headers, uint32_t headers_length, uint32_t follow_redirects,
                        uint32_t has_body, uint32_t body_kind, const char* body, uint32_t body_length,
                        aana_handle_result* result);
typedef struct {
  uint16_t status;
  aana_string status_text, url;
  bool redirected;
  struct {
    const aana_header* items;
    uint32_t length;
  } headers;
} aana_response_head;
_Static_assert(sizeof(aana_response_head) == 32, "laid out as the canonical ABI says");
AANA_IMPORT("http", "[method]exchange.head") void aana_exchange_head(aana_exchange self, aana_response_head* result);
/* The next bytes of the answer, in base64, and the same read as UTF-8. Empty at the end. */
AANA_IMPORT("http", "[method]exchange.read")
void aana_exchange_read(aana_exchange self, uint32_t least, aana_string_result* result);
AANA_IMPORT("http", "[method]exchange.read-text")
void aana_exchange_read_text(aana_exchange self, uint32_t least, aana_string_result* result);
AANA_IMPORT("http", "[resource-drop]exchange") void aana_exchange_drop(aana_exchange self);

/* Starts `aana_run` with the name `helper:<name>` in another instance. */
AANA_IMPORT("remote", "[static]task.start")
void aana_task_start(const char* name, uint32_t name_length, const char* input, uint32_t input_length,
                     aana_handle_result* result);
AANA_IMPORT("remote", "[method]task.wait") void aana_task_wait(aana_task self, aana_string_result* result);
AANA_IMPORT("remote", "[resource-drop]task") void aana_task_drop(aana_task self);

AANA_IMPORT("output", "write") void aana_write(const char* chunk, uint32_t length, aana_empty_result* result);
AANA_IMPORT("output", "forward") void aana_forward(aana_chunks source, aana_empty_result* result);

/* An answer that is bytes: its head once, and then the bytes in base64. */
AANA_IMPORT("output", "begin")
void aana_begin(const char* media_type, uint32_t media_type_length, uint32_t status, const aana_header* headers,
                uint32_t headers_length, aana_empty_result* result);
AANA_IMPORT("output", "send") void aana_send(const char* base64, uint32_t length, aana_empty_result* result);

/* --- functions of a plugin --- */

#define AANA_EXPORT(function) __attribute__((export_name(function)))
#define AANA_ENDPOINT "aana:host/endpoint@0.1.0#"

typedef struct {
  aana_string name, path, summary, description, input_schema, output_schema;
  bool streaming;
} aana_info;
typedef struct {
  const aana_info* items;
  uint32_t length;
} aana_infos;
_Static_assert(sizeof(aana_info) == 52, "laid out as the canonical ABI says");

/* Define these three functions. Names and input belong to the plugin. Returned values must outlive the function. */
AANA_EXPORT("cabi_realloc") void* aana_realloc(void* old, uint32_t old_size, uint32_t align, uint32_t size);
AANA_EXPORT(AANA_ENDPOINT "describe") const aana_infos* aana_describe(void);
AANA_EXPORT(AANA_ENDPOINT "run")
const aana_string_result* aana_run(const char* name, uint32_t name_length, const char* input, uint32_t input_length);

#endif
