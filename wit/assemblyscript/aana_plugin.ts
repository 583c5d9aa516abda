/**
 * The host's functions for Extism plugins in AssemblyScript, over @extism/as-pdk. A function that fails returns null
 * (or false, or the handle 0). `hostError` then has the reason as JSON, and `fail(hostError())` passes it on to the
 * client.
 */
import { Host, LogLevel, Memory } from '@extism/as-pdk';
import { error_set, length, output_set } from '@extism/as-pdk/lib/env';

/** The handle of a video, an audio, an image, a stream or a helper of the host. 0 stands for none. */
export type Handle = u64;

// --- The endpoint's input and answer ---

/** The input as JSON. */
export function input(): string {
  return take(input_offset());
}

/** Answers with JSON. Without it the answer is `null`. */
export function answer(json: string): i32 {
  const block = put(json);
  output_set(block, length(block));
  return 0;
}

/** Ends the run with an error: `{"kind":"conflict","name":"…","message":"…","data":{…}}`, or a text. */
export function fail(error: string): i32 {
  error_set(put(error));
  return 1;
}

/** The error of the last call, as JSON. Empty when the call succeeded. */
export function hostError(): string {
  return take(host_error());
}

// --- The invocation ---

export function requestId(): string {
  return take(request_id());
}

/** Milliseconds until the host ends this invocation. */
export function remainingMs(): u64 {
  return remaining_ms();
}

/** The user of the request's API key. Empty when no API key is required. */
export function user(): string {
  return take(user_());
}

/** The priority: higher is sooner, 0 for ordinary requests. */
export function priority(): i32 {
  return i32(priority_());
}

/**
 * The position in a distributed trace, in the form of the `traceparent` header. Empty when the request is in no trace.
 */
export function traceparent(): string {
  return take(traceparent_());
}

/** Whether the client has gone. */
export function isCancelled(): bool {
  return is_cancelled() != 0;
}

/** Returns random bytes, at most 65,536. */
export function randomBytes(count: u32): Uint8Array {
  return takeBytes(random(count));
}

/** Writes a line to the host's log. */
export function log(level: LogLevel, line: string): void {
  const block = put(line);
  Host.logMemory(level, new Memory(block, length(block)));
}

/** Reports the finished percentage, from 0 to 100, and the current step. */
export function reportProgress(percent: u32, text: string): void {
  progress(percent, put(text));
}

/** Frees a resource of the host before the end of the invocation. */
export function close(handle: Handle): void {
  release(handle);
}

// --- The streamed answer ---

/** Sends one JSON value to the client. It may return before the client has received the value. */
export function write(json: string): bool {
  return output_write(put(json)) != 0;
}

/** Sends all remaining values of a deployment's stream. */
export function forward(stream: Handle): bool {
  return output_forward(stream) != 0;
}

/** Begins an answer that is bytes: `{"media_type":"application/pdf"}`, with `"status"` and an object `"headers"`. */
export function beginBytes(head: string): bool {
  return output_begin(put(head)) != 0;
}

/** Sends bytes of the answer. */
export function sendBytes(bytes: Uint8Array): bool {
  return output_send(putBytes(bytes)) != 0;
}

// --- Uploaded files ---

/** Returns the file's `{"name","media_type","size"}` for a field of the request's form; the size is in bytes. */
export function uploadInfo(field: string): string | null {
  return textOrNull(upload_info(put(field)));
}

/** Returns the bytes from `offset` on: `length` of them, and at most 262,144. Only the end of the file gives fewer. */
export function readUpload(field: string, offset: u64, length: u32): Uint8Array | null {
  const block = upload_read(put(field), offset, length);
  return block == 0 ? null : takeBytes(block);
}

/** Returns the same bytes as text, `{"text","length"}`: the next piece begins `length` bytes after `offset`. */
export function readUploadText(field: string, offset: u64, length: u32): string | null {
  return textOrNull(upload_read_text(put(field), offset, length));
}

// --- Media (capability "media") ---

/** Fetches and probes a video or an audio: `{"url":"…"}`, `{"path":"…"}` or `{"content":"…"}`. */
export function openMedia(source: string): Handle {
  return media_open(put(source));
}

export function openImage(source: string): Handle {
  return media_open_image(put(source));
}

/** Decodes the audio. `separate` keeps the channels apart. */
export function extractAudio(video: Handle, separate: bool = false): Handle {
  return media_extract_audio(video, separate ? 1 : 0);
}

/**
 * Returns a video's `{"duration","has_audio","has_video"}` with the `"title"` and `"description"` of the page that it
 * was downloaded from, an audio's `{"duration"}`, an image's `{"width","height","format"}`; durations in seconds.
 */
export function mediaInfo(handle: Handle): string | null {
  return textOrNull(media_info(handle));
}

/** Returns all facts about a video: `{"duration","width","height","frame_rate","tracks","chapters",…}`. */
export function videoFacts(video: Handle): string | null {
  return textOrNull(media_facts(video));
}

/** Returns the embedded subtitles of a track, from 0 on, in SubRip; those of the first one by default. */
export function subtitles(video: Handle, track: i64 = -1): string | null {
  return textOrNull(media_subtitles(video, track));
}

/** Returns the file of an image in a form: `{"format":"jpeg","quality":85}` or `{"format":"png","max_width":640}`. */
export function encodeImage(image: Handle, options: string): Uint8Array | null {
  const block = image_encode(image, put(options));
  return block == 0 ? null : takeBytes(block);
}

/**
 * Chooses frames of a video: `{"every": 1}` (seconds), `{"count": 8}`, `{"times": [0, 2.5]}`, `{"scenes": 0.3}` or
 * `{"keyframes": true}`, with `"max_width"` and `"max_height"`.
 */
export function openFrames(video: Handle, options: string): Handle {
  return media_frames(video, put(options));
}

/** Decodes the next frame. Returns its time in seconds as JSON, `null` in JSON at the end. */
export function nextFrame(frames: Handle): string | null {
  return textOrNull(frames_next(frames));
}

/** Returns the frame that was decoded last as an image. */
export function frameImage(frames: Handle): Handle {
  return frames_image(frames);
}

/** Returns the red, green and blue value of each pixel of an image at this size, row by row from the top. */
export function imagePixels(image: Handle, width: u32, height: u32): Uint8Array | null {
  const block = image_pixels(image, width, height);
  return block == 0 ? null : takeBytes(block);
}

// --- Deployments (capability "deployments") ---

/**
 * Calls a method. `args` is a JSON object, in which `{"$audio": n}` stands for `audio[n]`, and `{"$image": n}` for
 * `images[n]`. Returns JSON.
 */
export function call(
  deployment: string, method: string, args: string, audio: Handle[] = [], images: Handle[] = [],
): string | null {
  return textOrNull(deployments_call(put(deployment), put(method), put(args), handles(audio, images)));
}

/** Calls a streaming method. Closing the stream cancels it. */
export function open(
  deployment: string, method: string, args: string, audio: Handle[] = [], images: Handle[] = [],
): Handle {
  return deployments_open(put(deployment), put(method), put(args), handles(audio, images));
}

/** Returns the values since the last call, at least one, as a JSON array. `[]` when the stream has ended. */
export function next(stream: Handle): string | null {
  return textOrNull(deployments_next(stream));
}

// --- Settings ---

/** Returns the value of a setting of plugin.json, as JSON. Null also when it has none; `hostError` is then empty. */
export function setting(name: string): string | null {
  return textOrNull(settings_get(put(name)));
}

// --- Storage (capability "storage") ---

/** Returns the value of a key. Null also when the key is missing; `hostError` is then empty. */
export function getValue(key: string): Uint8Array | null {
  const block = storage_get(put(key));
  return block == 0 ? null : takeBytes(block);
}

export function setValue(key: string, value: Uint8Array): bool {
  return storage_set(put(key), putBytes(value)) != 0;
}

/** Removes a key. Returns whether it existed. */
export function deleteValue(key: string): bool {
  return storage_delete(put(key)) != 0;
}

/** Returns the keys that begin with `prefix` and come after `after`, in the order of their bytes, as a JSON array. */
export function listKeys(prefix: string, after: string = '', limit: u32 = 1000): string | null {
  return textOrNull(storage_list(put(prefix), after.length == 0 ? 0 : put(after), limit));
}

/** Sets the value of a key, which expires after `expiresInMs` milliseconds. */
export function setExpiringValue(key: string, value: Uint8Array, expiresInMs: u64): bool {
  return storage_set_expiring(put(key), putBytes(value), expiresInMs) != 0;
}

/**
 * Adds to a stored number, and returns the sum as JSON. A missing key counts as 0, and expires after `expiresInMs`
 * milliseconds unless these are 0.
 */
export function increment(key: string, by: i64 = 1, expiresInMs: u64 = 0): string | null {
  return textOrNull(storage_increment(put(key), by, expiresInMs));
}

/**
 * Sets the value of a key if it is `expected` (null: if it is missing), or removes it (null). Returns whether it was
 * `expected`. The new value expires after `expiresInMs` milliseconds unless these are 0.
 */
export function compareAndSet(
  key: string,
  expected: Uint8Array | null,
  value: Uint8Array | null,
  expiresInMs: u64 = 0,
): bool {
  const from: u64 = expected === null ? 0 : putBytes(expected);
  const to: u64 = value === null ? 0 : putBytes(value);
  return storage_compare_and_set(put(key), from, to, expiresInMs) != 0;
}

/** Returns the `key`, `size` and `expires_in_ms` of the values whose keys `listKeys` returns, as a JSON array. */
export function listEntries(prefix: string, after: string = '', limit: u32 = 1000): string | null {
  return textOrNull(storage_entries(put(prefix), after.length == 0 ? 0 : put(after), limit));
}

// --- Stored media of the application (capability "repositories") ---

/** Returns whether media of any kind have this id. */
export function mediaExists(mediaId: string): bool {
  return repository_media_exists(put(mediaId)) != 0;
}

/** Returns a video's `{"media_id","path","url","title","description"}`. */
export function readVideo(mediaId: string): string | null {
  return textOrNull(repository_video(put(mediaId)));
}

/** Returns the videos after `after`, in the order of their ids, as a JSON array. Each list has at most 200 entries. */
export function listVideos(after: string = '', limit: u32 = 200): string | null {
  return textOrNull(repository_videos(after.length == 0 ? 0 : put(after), limit));
}

/** Returns a caption's `{"id","media_id","model","frame_id","caption","timestamp","caption_type"}`. */
export function readCaption(id: u64): string | null {
  return textOrNull(repository_caption(id));
}

/**
 * Returns the captions of one media in the order of their times, as a JSON array: those after the caption
 * `{"timestamp","id"}`.
 */
export function listCaptions(mediaId: string, after: string = '', limit: u32 = 200): string | null {
  return textOrNull(repository_captions(put(mediaId), after.length == 0 ? 0 : put(after), limit));
}

/**
 * Returns a transcript's
 * `{"id","media_id","model","language","language_confidence","transcript_type","transcript","segments"}`.
 */
export function readTranscript(id: u64): string | null {
  return textOrNull(repository_transcript(id));
}

/**
 * Returns the transcripts of one media with ids above `after`, the oldest first, without their texts, as a JSON array.
 */
export function listTranscripts(mediaId: string, after: u64 = 0, limit: u32 = 200): string | null {
  return textOrNull(repository_transcripts(put(mediaId), after, limit));
}

// --- Changes of stored media (capability "repositories-write") ---

/** Creates media of another kind than a video. */
export function createMedia(mediaId: string, mediaType: string): bool {
  return repository_create_media(put(mediaId), put(mediaType)) != 0;
}

/** Saves a video in the form of `readVideo`. Returns its id, which the host creates when it is absent. */
export function saveVideo(video: string): string | null {
  return textOrNull(repository_save_video(put(video)));
}

/**
 * Saves a JSON array of captions in the form of `readCaption`, without `id`, all or none. Returns their ids as a JSON
 * array.
 */
export function saveCaptions(captions: string): string | null {
  return textOrNull(repository_save_captions(put(captions)));
}

/** Saves a transcript in the form of `readTranscript`, without `id`. Returns its id, or 0. */
export function saveTranscript(transcript: string): u64 {
  return repository_save_transcript(put(transcript));
}

/** Deletes media of any kind with their captions and transcripts. */
export function deleteMedia(mediaId: string): bool {
  return repository_delete_media(put(mediaId)) != 0;
}

export function deleteCaption(id: u64): bool {
  return repository_delete_caption(id) != 0;
}

export function deleteTranscript(id: u64): bool {
  return repository_delete_transcript(id) != 0;
}

// --- Requests (capability "http") ---

/**
 * Sends `{"method":"get","url":"…","headers":[["name","value"]]}`. Returns `{"status","url","headers"}`. `responseBody`
 * has the rest.
 */
export function fetch(request: string, body: Uint8Array | null = null): string | null {
  return textOrNull(http_fetch(put(request), body === null ? 0 : putBytes(body)));
}

/** The body of the last answer. */
export function responseBody(): Uint8Array {
  return takeBytes(http_body());
}

// --- Helpers (capability "remote") ---

/** Starts the exported function `helper_<name>` in another instance. Its input is JSON. */
export function startHelper(name: string, json: string): Handle {
  return remote_start(put(name), put(json));
}

/** Returns the helper's result as JSON. */
export function waitForHelper(helper: Handle): string | null {
  return textOrNull(remote_wait(helper));
}

// --- Blocks ---

function bytesOf(text: string): Uint8Array {
  return Uint8Array.wrap(String.UTF8.encode(text));
}

function putBytes(bytes: Uint8Array): u64 {
  return block_of(bytes.dataStart, bytes.length);
}

function put(text: string): u64 {
  return putBytes(bytesOf(text));
}

function takeBytes(block: u64): Uint8Array {
  const bytes = new Uint8Array(<i32>length(block));
  copy_block(block, bytes.dataStart);
  return bytes;
}

function take(block: u64): string {
  return block == 0 ? '' : String.UTF8.decode(takeBytes(block).buffer);
}

function textOrNull(block: u64): string | null {
  return block == 0 ? null : take(block);
}

function handles(audio: Handle[], images: Handle[]): u64 {
  if (audio.length + images.length == 0) return 0;
  return put('{"audio":[' + audio.join(',') + '],"images":[' + images.join(',') + ']}');
}

@external('extism:host/env', 'input_offset')
declare function input_offset(): u64;
@external('extism:host/user', 'block_of')
declare function block_of(pointer: u64, length: u64): u64;
@external('extism:host/user', 'copy_block')
declare function copy_block(block: u64, pointer: u64): void;
@external('extism:host/user', 'host_error')
declare function host_error(): u64;
@external('extism:host/user', 'request_id')
declare function request_id(): u64;
@external('extism:host/user', 'remaining_ms')
declare function remaining_ms(): u64;
@external('extism:host/user', 'user')
declare function user_(): u64;
@external('extism:host/user', 'priority')
declare function priority_(): i64;
@external('extism:host/user', 'traceparent')
declare function traceparent_(): u64;
@external('extism:host/user', 'is_cancelled')
declare function is_cancelled(): u64;
@external('extism:host/user', 'random')
declare function random(count: u64): u64;
@external('extism:host/user', 'progress')
declare function progress(percent: u64, text: u64): void;
@external('extism:host/user', 'release')
declare function release(handle: u64): void;
@external('extism:host/user', 'output_write')
declare function output_write(json: u64): u64;
@external('extism:host/user', 'output_forward')
declare function output_forward(stream: u64): u64;
@external('extism:host/user', 'output_begin')
declare function output_begin(head: u64): u64;
@external('extism:host/user', 'output_send')
declare function output_send(bytes: u64): u64;
@external('extism:host/user', 'upload_info')
declare function upload_info(field: u64): u64;
@external('extism:host/user', 'upload_read')
declare function upload_read(field: u64, offset: u64, length: u64): u64;
@external('extism:host/user', 'upload_read_text')
declare function upload_read_text(field: u64, offset: u64, length: u64): u64;
@external('extism:host/user', 'media_open')
declare function media_open(source: u64): u64;
@external('extism:host/user', 'media_open_image')
declare function media_open_image(source: u64): u64;
@external('extism:host/user', 'media_extract_audio')
declare function media_extract_audio(video: u64, separate: u64): u64;
@external('extism:host/user', 'media_info')
declare function media_info(handle: u64): u64;
@external('extism:host/user', 'media_facts')
declare function media_facts(video: u64): u64;
@external('extism:host/user', 'media_frames')
declare function media_frames(video: u64, options: u64): u64;
@external('extism:host/user', 'media_subtitles')
declare function media_subtitles(video: u64, track: i64): u64;
@external('extism:host/user', 'image_encode')
declare function image_encode(image: u64, options: u64): u64;
@external('extism:host/user', 'frames_next')
declare function frames_next(frames: u64): u64;
@external('extism:host/user', 'frames_image')
declare function frames_image(frames: u64): u64;
@external('extism:host/user', 'image_pixels')
declare function image_pixels(image: u64, width: u64, height: u64): u64;
@external('extism:host/user', 'deployments_call')
declare function deployments_call(deployment: u64, method: u64, args: u64, audio: u64): u64;
@external('extism:host/user', 'deployments_open')
declare function deployments_open(deployment: u64, method: u64, args: u64, audio: u64): u64;
@external('extism:host/user', 'deployments_next')
declare function deployments_next(stream: u64): u64;
@external('extism:host/user', 'settings_get')
declare function settings_get(name: u64): u64;
@external('extism:host/user', 'storage_get')
declare function storage_get(key: u64): u64;
@external('extism:host/user', 'storage_set')
declare function storage_set(key: u64, value: u64): u64;
@external('extism:host/user', 'storage_delete')
declare function storage_delete(key: u64): u64;
@external('extism:host/user', 'storage_list')
declare function storage_list(prefix: u64, after: u64, limit: u64): u64;
@external('extism:host/user', 'storage_set_expiring')
declare function storage_set_expiring(key: u64, value: u64, expiresInMs: u64): u64;
@external('extism:host/user', 'storage_increment')
declare function storage_increment(key: u64, by: i64, expiresInMs: u64): u64;
@external('extism:host/user', 'storage_compare_and_set')
declare function storage_compare_and_set(key: u64, expected: u64, value: u64, expiresInMs: u64): u64;
@external('extism:host/user', 'storage_entries')
declare function storage_entries(prefix: u64, after: u64, limit: u64): u64;
@external('extism:host/user', 'repository_media_exists')
declare function repository_media_exists(media: u64): u64;
@external('extism:host/user', 'repository_video')
declare function repository_video(media: u64): u64;
@external('extism:host/user', 'repository_videos')
declare function repository_videos(after: u64, limit: u64): u64;
@external('extism:host/user', 'repository_caption')
declare function repository_caption(id: u64): u64;
@external('extism:host/user', 'repository_captions')
declare function repository_captions(media: u64, after: u64, limit: u64): u64;
@external('extism:host/user', 'repository_transcript')
declare function repository_transcript(id: u64): u64;
@external('extism:host/user', 'repository_transcripts')
declare function repository_transcripts(media: u64, after: u64, limit: u64): u64;
@external('extism:host/user', 'repository_create_media')
declare function repository_create_media(media: u64, kind: u64): u64;
@external('extism:host/user', 'repository_save_video')
declare function repository_save_video(video: u64): u64;
@external('extism:host/user', 'repository_save_captions')
declare function repository_save_captions(captions: u64): u64;
@external('extism:host/user', 'repository_save_transcript')
declare function repository_save_transcript(transcript: u64): u64;
@external('extism:host/user', 'repository_delete_media')
declare function repository_delete_media(media: u64): u64;
@external('extism:host/user', 'repository_delete_caption')
declare function repository_delete_caption(id: u64): u64;
@external('extism:host/user', 'repository_delete_transcript')
declare function repository_delete_transcript(id: u64): u64;
@external('extism:host/user', 'http_fetch')
declare function http_fetch(request: u64, body: u64): u64;
@external('extism:host/user', 'http_body')
declare function http_body(): u64;
@external('extism:host/user', 'remote_start')
declare function remote_start(name: u64, input: u64): u64;
@external('extism:host/user', 'remote_wait')
declare function remote_wait(helper: u64): u64;
