//! The world `plugin` of `wit/world.wit` for Rust guests, without any crate: include it as a module, implement [`Plugin`], and name that
//! type in [`export_plugin!`]. Build for `wasm32-wasi` (`wasm32-wasip1` in newer compilers) as a `cdylib`.
//!
//! Every run begins with the memory that the plugin had after `describe`. A change of a `static` is undone before the next run.
#![allow(dead_code)]

use std::alloc::{alloc, handle_alloc_error, realloc, Layout};
use std::mem::MaybeUninit;

/// The endpoints of a plugin.
pub trait Plugin {
    /// Returns the endpoints. Called once when the plugin is loaded.
    fn describe() -> Vec<Endpoint>;
    /// Runs the endpoint `name`. `input` is a JSON object that matches its schema. Returns JSON. A streaming endpoint [`write`]s and returns `null`.
    fn run(name: &str, input: &str) -> Result<String, Error>;
}

#[derive(Default)]
pub struct Endpoint {
    /// Unique name, such as `transcribe_video`.
    pub name: String,
    /// URL path, such as `/video/transcribe`.
    pub path: String,
    pub summary: String,
    pub description: String,
    /// JSON Schema of the input object. Its keys are the parameters.
    pub input_schema: String,
    /// JSON Schema of the output, or of one streamed value.
    pub output_schema: String,
    pub streaming: bool,
}

/// The class of an error. Each one has one HTTP status.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
#[rustfmt::skip]
pub enum ErrorKind { InvalidInput, BadRequest, Denied, NotFound, Conflict, TooLarge, Unavailable, DeadlineExceeded, Cancelled, Internal }

/// The reason why a call failed. A plugin that cannot go on returns it from `run` with `?`, and the client gets the host's error.
#[derive(Debug)]
pub struct Error {
    pub kind: ErrorKind,
    /// The class name that clients see as `error`, such as `DownloadException`.
    pub name: String,
    /// One sentence for people.
    pub message: String,
    /// Facts for programs: a JSON value.
    pub data: String,
}

// --- what the host offers ---

#[rustfmt::skip]
pub enum Level { Debug, Info, Warn, Error }

/// Writes one line to the host's log; `fields` is a JSON object or empty.
pub fn log(level: Level, message: &str, fields: &str) {
    unsafe { raw::log(level as u32, message.as_ptr(), message.len(), fields.as_ptr(), fields.len()) }
}

/// Returns random bytes of the host, at most 65,536.
pub fn random_bytes(length: u32) -> Vec<u8> {
    unsafe { returned::<Slice>(|at| raw::random_bytes(length, at)).bytes() }
}

pub fn request_id() -> String {
    unsafe { returned::<Slice>(|at| raw::request_id(at)).string() }
}

/// Milliseconds until the host ends this invocation.
pub fn remaining_ms() -> u64 {
    unsafe { raw::remaining_ms() }
}

/// Whether the client has gone.
pub fn is_cancelled() -> bool {
    unsafe { raw::is_cancelled() != 0 }
}

/// The user of the request's API key. None when no API key is required.
pub fn user() -> Option<String> {
    unsafe { returned::<Maybe<Slice>>(|at| raw::user(at)).value().map(|value| value.string()) }
}

/// The priority: higher is sooner, 0 for ordinary requests.
pub fn priority() -> i32 {
    unsafe { raw::priority() }
}

/// The position in a distributed trace, in the form of the `traceparent` header.
pub fn traceparent() -> Option<String> {
    unsafe { returned::<Maybe<Slice>>(|at| raw::traceparent(at)).value().map(|value| value.string()) }
}

/// Reports the finished fraction, from 0 to 1, and the current step.
pub fn report_progress(fraction: f64, text: &str) {
    unsafe { raw::report(fraction, text.as_ptr(), text.len()) }
}

/// Reports like `report_progress`, and the fraction at which the next step ends: deployments that work in it move the progress there.
pub fn report_step(fraction: f64, until: f64, text: &str) {
    unsafe { raw::report_step(fraction, until, text.as_ptr(), text.len()) }
}

/// The source of a video or an image: exactly one of `path`, `url` and `content`.
#[derive(Default)]
pub struct Source<'a> {
    pub path: Option<&'a str>,
    pub url: Option<&'a str>,
    /// The field name of an uploaded file part.
    pub content: Option<&'a str>,
    pub media_id: Option<&'a str>,
}

pub struct VideoInfo {
    /// Seconds; absent when the file does not say.
    pub duration: Option<f64>,
    pub has_audio: bool,
    pub has_video: bool,
}

/// The description of a video by its site. It is text of strangers.
#[derive(Debug)]
pub struct VideoMetadata {
    pub title: Option<String>,
    pub description: Option<String>,
}

#[derive(Clone, Copy)]
#[rustfmt::skip]
pub enum Channels { Mix, Separate }

#[derive(Debug)]
pub struct ImageInfo {
    /// Pixels.
    pub width: u32,
    pub height: u32,
    /// The encoding of the file, such as `png` or `mjpeg` (JPEG).
    pub format: String,
}

/// A media file, held by the host.
pub struct Video(u32);
/// Decoded audio, held by the host.
pub struct Audio(u32);
/// A fetched and probed image, held by the host.
pub struct Image(u32);
/// A running stream of JSON values. Dropping it cancels it.
pub struct Chunks(u32);
/// A running transcription. Dropping it cancels it.
pub struct Transcriptions(u32);
/// A running answer. Dropping it cancels it.
pub struct TextStream(u32);
/// A running helper. Dropping it ends it.
pub struct Task(u32);

impl Source<'_> {
    /// The four options, each as whether it is present and its text.
    unsafe fn open(&self, open: raw::Open) -> Result<u32, Error> {
        let [path, url, content, id] = [self.path, self.url, self.content, self.media_id].map(optional);
        #[rustfmt::skip]
        let result: Outcome<u32> = returned(|at| {
            open(
                path.0, path.1.as_ptr(), path.1.len(), url.0, url.1.as_ptr(), url.1.len(),
                content.0, content.1.as_ptr(), content.1.len(), id.0, id.1.as_ptr(), id.1.len(), at,
            )
        });
        result.take()
    }
}

impl Image {
    /// Fetches (or finds) and probes the image.
    pub fn open(source: &Source) -> Result<Image, Error> {
        unsafe { source.open(raw::image_open) }.map(Image)
    }

    pub fn info(&self) -> ImageInfo {
        let RawImageInfo { width, height, format } = unsafe { returned(|at| raw::image_info(self.0, at)) };
        ImageInfo { width, height, format: unsafe { format.string() } }
    }

    /// Returns the red, green and blue value of each pixel of the image at this size, row by row from the top.
    pub fn pixels(&self, width: u32, height: u32) -> Result<Vec<u8>, Error> {
        unsafe { Ok(returned::<Outcome<Slice>>(|at| raw::image_pixels(self.0, width, height, at)).take()?.bytes()) }
    }
}

impl Video {
    /// Fetches (or finds) and probes the media.
    pub fn open(source: &Source) -> Result<Video, Error> {
        unsafe { source.open(raw::video_open) }.map(Video)
    }

    pub fn info(&self) -> VideoInfo {
        let info: RawVideoInfo = unsafe { returned(|at| raw::video_info(self.0, at)) };
        VideoInfo { duration: (info.has_duration != 0).then(|| info.duration), has_audio: info.has_audio != 0, has_video: info.has_video != 0 }
    }

    /// Title and description from the page of the video. Empty for a file, and where the page has none.
    pub fn metadata(&self) -> VideoMetadata {
        let [title, description] = unsafe { returned::<[Maybe<Slice>; 2]>(|at| raw::video_metadata(self.0, at)).map(|each| each.value().map(|text| text.string())) };
        VideoMetadata { title, description }
    }

    /// Decodes the audio track. Media without an audio track give audio of 0 seconds.
    pub fn extract_audio(&self, channels: Channels) -> Result<Audio, Error> {
        unsafe { returned::<Outcome<u32>>(|at| raw::extract_audio(self.0, channels as u32, at)).take() }.map(Audio)
    }
}

impl Audio {
    /// Seconds of the longest channel.
    pub fn duration(&self) -> f64 {
        unsafe { raw::audio_duration(self.0) }
    }
}

impl Chunks {
    /// Returns the values since the last call, at least one. Empty when the stream has ended.
    pub fn next(&self) -> Result<Vec<String>, Error> {
        unsafe { Ok(returned::<Outcome<Slice>>(|at| raw::chunks_next(self.0, at)).take()?.strings()) }
    }

    /// The JSON that the method returned after its last value. Empty until the stream has ended, and for a method that returns none.
    pub fn returned(&self) -> Result<String, Error> {
        unsafe { Ok(returned::<Outcome<Slice>>(|at| raw::chunks_returned(self.0, at)).take()?.string()) }
    }
}

macro_rules! drops {
    ($($resource:ty: $function:path),* $(,)?) => {
        $(impl Drop for $resource {
            fn drop(&mut self) {
                unsafe { $function(self.0) }
            }
        })*
    };
}
drops! {
    Video: raw::video_drop, Audio: raw::audio_drop, Image: raw::image_drop, Chunks: raw::chunks_drop,
    Transcriptions: raw::transcriptions_drop, TextStream: raw::text_stream_drop, Task: raw::task_drop,
}

/// Calls a method of a deployment. `args` is a JSON object with its parameters. `{"$audio": n}` in it stands for `audio[n]`.
pub fn call(deployment: &str, method: &str, args: &str, audio: &[&Audio]) -> Result<String, Error> {
    let handles: Vec<u32> = audio.iter().map(|each| each.0).collect();
    unsafe {
        let result: Outcome<Slice> = returned(|at| {
            raw::call(deployment.as_ptr(), deployment.len(), method.as_ptr(), method.len(), args.as_ptr(), args.len(), handles.as_ptr(), handles.len(), at)
        });
        Ok(result.take()?.string())
    }
}

/// Calls a streaming method of a deployment.
pub fn open(deployment: &str, method: &str, args: &str, audio: &[&Audio]) -> Result<Chunks, Error> {
    let handles: Vec<u32> = audio.iter().map(|each| each.0).collect();
    let result: Outcome<u32> = unsafe {
        returned(|at| {
            raw::open(deployment.as_ptr(), deployment.len(), method.as_ptr(), method.len(), args.as_ptr(), args.len(), handles.as_ptr(), handles.len(), at)
        })
    };
    unsafe { result.take() }.map(Chunks)
}

// --- speech recognition, in records ---

/// Seconds from the start of the media.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct TimeInterval {
    pub start: f64,
    pub end: f64,
}

#[derive(Debug)]
pub struct Word {
    /// With its leading space.
    pub word: String,
    /// Name of the channel or speaker, when they are distinguished.
    pub speaker: Option<String>,
    pub time_interval: TimeInterval,
    /// Confidence of the time interval, 0 to 1.
    pub alignment_confidence: f64,
}

#[derive(Debug)]
pub struct Segment {
    /// With its leading space.
    pub text: String,
    pub time_interval: TimeInterval,
    /// 0 to 1.
    pub confidence: Option<f64>,
    /// Probability that the segment has no speech, 0 to 1.
    pub no_speech_confidence: Option<f64>,
    /// Empty unless word timestamps were requested.
    pub words: Vec<Word>,
    pub speaker: Option<String>,
    /// Language code, when each part of the speech has its own.
    pub language: Option<String>,
}

#[derive(Debug)]
pub struct Transcription {
    pub text: String,
    /// Language code, or `silence`.
    pub language: String,
    /// 0 to 1.
    pub language_confidence: f64,
    pub segments: Vec<Segment>,
}

/// What becomes of the speech: its own words, or their translation into English.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
#[rustfmt::skip]
pub enum SpeechTask { Transcribe, Translate }

/// Absent members have the deployment's defaults.
#[derive(Default)]
pub struct AsrParams<'a> {
    pub language: Option<&'a str>,
    pub beam_size: Option<u32>,
    pub best_of: Option<u32>,
    /// Empty counts as absent.
    pub temperatures: &'a [f64],
    pub without_timestamps: Option<bool>,
    pub word_timestamps: Option<bool>,
    pub vad_filter: Option<bool>,
    pub channels: Option<Channels>,
    pub task: Option<SpeechTask>,
    /// Text before each part of the speech. Names and terms are written as they stand there.
    pub initial_prompt: Option<&'a str>,
    /// A text whose tokens have a lower mean log-probability is unlikely. -100 to 0.
    pub log_prob_threshold: Option<f64>,
    /// An unlikely text is left out where the probability that nobody speaks is higher. 0 to 1.
    pub no_speech_threshold: Option<f64>,
    /// The score of a beam is divided by its length to this power, 0 to 10.
    pub length_penalty: Option<f64>,
    /// The latest start of the first segment of a part, in seconds, 0 to 30.
    pub max_initial_timestamp: Option<f64>,
    /// Whether to find the language of each part of the speech. Excludes `language`.
    pub multilingual: Option<bool>,
}

/// Transcribes audio. Without speech it gives the language `silence` and no segments.
pub fn transcribe(deployment: &str, audio: &Audio, params: &AsrParams) -> Result<Transcription, Error> {
    let request = RawAsrRequest::new(deployment, audio, params);
    unsafe { Ok(returned::<Outcome<RawTranscription>>(|at| raw::transcribe(&request, at)).take()?.value()) }
}

/// Transcribes audio and streams segments as they become final.
pub fn transcribe_stream(deployment: &str, audio: &Audio, params: &AsrParams) -> Result<Transcriptions, Error> {
    let request = RawAsrRequest::new(deployment, audio, params);
    unsafe { returned::<Outcome<u32>>(|at| raw::transcribe_stream(&request, at)).take() }.map(Transcriptions)
}

impl Transcriptions {
    /// Returns the final parts since the last call, at least one. Empty when the stream has ended.
    pub fn next(&self) -> Result<Vec<Transcription>, Error> {
        unsafe {
            let some = returned::<Outcome<Slice>>(|at| raw::transcriptions_next(self.0, at)).take()?;
            Ok(some.list::<RawTranscription>().into_iter().map(|each| each.value()).collect())
        }
    }
}

// --- text generation, in records ---

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
#[rustfmt::skip]
pub enum Role { System, User, Assistant }

#[derive(Debug)]
pub struct Message {
    pub role: Role,
    pub content: String,
}

/// Absent members and an empty `stop` have the deployment's defaults.
#[derive(Default)]
pub struct SamplingParams<'a> {
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub top_k: Option<i32>,
    pub min_p: Option<f64>,
    pub max_tokens: Option<u32>,
    pub repetition_penalty: Option<f64>,
    /// A whole number.
    pub seed: Option<f64>,
    pub stop: &'a [&'a str],
}

#[derive(Default)]
pub struct ChatOptions<'a> {
    pub sampling_params: SamplingParams<'a>,
    /// The beginning of the answer, which is part of it.
    pub assistant_prefix: Option<&'a str>,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct TokenCount {
    pub tokens: u32,
    /// The size of the model's context, including the answer.
    pub max_tokens: u32,
}

/// Answers a dialog of at least one message.
pub fn chat(deployment: &str, dialog: &[Message], options: &ChatOptions) -> Result<Message, Error> {
    with_chat_request(deployment, dialog, options, |request| unsafe {
        let RawMessage { role, content } = returned::<Outcome<RawMessage>>(|at| raw::chat(request, at)).take()?;
        Ok(Message { role, content: content.string() })
    })
}

/// Answers a dialog, piece by piece.
pub fn chat_stream(deployment: &str, dialog: &[Message], options: &ChatOptions) -> Result<TextStream, Error> {
    with_chat_request(deployment, dialog, options, |request| unsafe { returned::<Outcome<u32>>(|at| raw::chat_stream(request, at)).take() }).map(TextStream)
}

/// Counts the tokens of a dialog in the model's template.
pub fn count_dialog_tokens(deployment: &str, dialog: &[Message]) -> Result<TokenCount, Error> {
    let dialog = raw_dialog(dialog);
    unsafe { returned::<Outcome<TokenCount>>(|at| raw::count_dialog_tokens(deployment.as_ptr(), deployment.len(), dialog.as_ptr(), dialog.len(), at)).take() }
}

/// Counts the tokens of a text.
pub fn count_tokens(deployment: &str, text: &str) -> Result<TokenCount, Error> {
    unsafe { returned::<Outcome<TokenCount>>(|at| raw::count_tokens(deployment.as_ptr(), deployment.len(), text.as_ptr(), text.len(), at)).take() }
}

impl TextStream {
    /// Returns the pieces of text since the last call, at least one. Empty when the answer has ended.
    pub fn next(&self) -> Result<Vec<String>, Error> {
        unsafe { Ok(returned::<Outcome<Slice>>(|at| raw::text_stream_next(self.0, at)).take()?.strings()) }
    }

    /// Sends all remaining pieces to the client, each as a value `{"text": …}`.
    pub fn forward(&self) -> Result<(), Error> {
        unsafe { returned::<Outcome<u8>>(|at| raw::text_stream_forward(self.0, at)).take() }.map(|_| ())
    }
}

// --- what the plugin keeps between invocations ---

/// Returns the value of a key.
pub fn storage_get(key: &str) -> Result<Option<Vec<u8>>, Error> {
    unsafe { Ok(returned::<Outcome<Maybe<Slice>>>(|at| raw::storage_get(key.as_ptr(), key.len(), at)).take()?.value().map(|value| value.bytes())) }
}

/// Sets the value of a key, completely or not at all.
pub fn storage_set(key: &str, value: &[u8]) -> Result<(), Error> {
    unsafe { returned::<Outcome<u8>>(|at| raw::storage_set(key.as_ptr(), key.len(), value.as_ptr(), value.len(), at)).take() }.map(|_| ())
}

/// Removes a key. Returns whether it existed.
pub fn storage_delete(key: &str) -> Result<bool, Error> {
    unsafe { returned::<Outcome<u8>>(|at| raw::storage_delete(key.as_ptr(), key.len(), at)).take() }.map(|was_there| was_there != 0)
}

/// Returns the keys that begin with `prefix` and come after `after`, in the order of their bytes.
pub fn storage_list(prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<String>, Error> {
    let (has_after, after) = optional(after);
    unsafe { Ok(returned::<Outcome<Slice>>(|at| raw::storage_list(prefix.as_ptr(), prefix.len(), has_after, after.as_ptr(), after.len(), limit, at)).take()?.strings()) }
}

// --- what the application keeps of its media ---

#[derive(Debug)]
pub struct VideoRecord {
    pub media_id: String,
    pub path: Option<String>,
    pub url: Option<String>,
    pub title: Option<String>,
    pub description: Option<String>,
}

#[derive(Debug)]
pub struct CaptionRecord {
    pub id: u64,
    /// The id of its media. It is deleted together with the media.
    pub media_id: Option<String>,
    /// The model that created it.
    pub model: String,
    pub frame_id: u32,
    pub caption: String,
    /// Seconds from the start of the media.
    pub timestamp: f64,
    pub caption_type: String,
}

#[derive(Debug)]
pub struct TranscriptInfo {
    pub id: u64,
    /// The id of its media. It is deleted together with the media.
    pub media_id: Option<String>,
    /// The model that created it.
    pub model: String,
    pub language: String,
    /// 0 to 1.
    pub language_confidence: f64,
    pub transcript_type: String,
}

#[derive(Debug)]
pub struct TranscriptRecord {
    pub info: TranscriptInfo,
    pub transcript: String,
    /// A JSON array.
    pub segments: String,
}

/// Returns whether media of any kind have this id.
pub fn media_exists(media_id: &str) -> Result<bool, Error> {
    unsafe { returned::<Outcome<u8>>(|at| raw::media_exists(media_id.as_ptr(), media_id.len(), at)).take() }.map(|is_there| is_there != 0)
}

pub fn read_video(media_id: &str) -> Result<VideoRecord, Error> {
    unsafe { Ok(returned::<Outcome<RawVideoRecord>>(|at| raw::read_video(media_id.as_ptr(), media_id.len(), at)).take()?.value()) }
}

/// Returns the videos after `after`, in the order of their ids. Each list has at most 200 entries.
pub fn list_videos(after: Option<&str>, limit: u32) -> Result<Vec<VideoRecord>, Error> {
    let (has_after, after) = optional(after);
    unsafe {
        let page = returned::<Outcome<Slice>>(|at| raw::list_videos(has_after, after.as_ptr(), after.len(), limit, at)).take()?;
        Ok(page.list::<RawVideoRecord>().into_iter().map(|each| each.value()).collect())
    }
}

pub fn read_caption(id: u64) -> Result<CaptionRecord, Error> {
    unsafe { Ok(returned::<Outcome<RawCaptionRecord>>(|at| raw::read_caption(id as f64, at)).take()?.value()) }
}

/// Returns the captions of one media in the order of their times, after the caption with this timestamp and id.
pub fn list_captions(media_id: &str, after: Option<(f64, u64)>, limit: u32) -> Result<Vec<CaptionRecord>, Error> {
    let (has_after, (timestamp, id)) = (after.is_some() as u32, after.unwrap_or_default());
    unsafe {
        let page = returned::<Outcome<Slice>>(|at| raw::list_captions(media_id.as_ptr(), media_id.len(), has_after, timestamp, id as f64, limit, at)).take()?;
        Ok(page.list::<RawCaptionRecord>().into_iter().map(|each| each.value()).collect())
    }
}

pub fn read_transcript(id: u64) -> Result<TranscriptRecord, Error> {
    unsafe {
        let RawTranscriptRecord { info, transcript, segments } = returned::<Outcome<RawTranscriptRecord>>(|at| raw::read_transcript(id as f64, at)).take()?;
        Ok(TranscriptRecord { info: info.value(), transcript: transcript.string(), segments: segments.string() })
    }
}

/// Returns the transcripts of one media with ids above `after`, the oldest first, without their texts.
pub fn list_transcripts(media_id: &str, after: Option<u64>, limit: u32) -> Result<Vec<TranscriptInfo>, Error> {
    let (has_after, after) = (after.is_some() as u32, after.unwrap_or(0));
    unsafe {
        let page = returned::<Outcome<Slice>>(|at| raw::list_transcripts(media_id.as_ptr(), media_id.len(), has_after, after as f64, limit, at)).take()?;
        Ok(page.list::<RawTranscriptInfo>().into_iter().map(|each| each.value()).collect())
    }
}

/// Without `media_id` the host creates one.
#[derive(Default)]
pub struct NewVideo<'a> {
    pub media_id: Option<&'a str>,
    pub path: Option<&'a str>,
    pub url: Option<&'a str>,
    pub title: Option<&'a str>,
    pub description: Option<&'a str>,
}

#[derive(Default)]
pub struct NewCaption<'a> {
    /// The id of existing media, or none.
    pub media_id: Option<&'a str>,
    pub model: &'a str,
    pub frame_id: u32,
    pub caption: &'a str,
    /// Seconds from the start of the media.
    pub timestamp: f64,
    /// Default: `caption`.
    pub caption_type: Option<&'a str>,
}

#[derive(Default)]
pub struct NewTranscript<'a> {
    /// The id of existing media, or none.
    pub media_id: Option<&'a str>,
    pub model: &'a str,
    pub transcript: &'a str,
    /// A JSON array.
    pub segments: &'a str,
    pub language: &'a str,
    /// 0 to 1.
    pub language_confidence: f64,
    /// Default: `transcript`.
    pub transcript_type: Option<&'a str>,
}

/// Creates media of another kind than a video.
pub fn create_media(media_id: &str, media_type: &str) -> Result<(), Error> {
    unsafe { returned::<Outcome<u8>>(|at| raw::create_media(media_id.as_ptr(), media_id.len(), media_type.as_ptr(), media_type.len(), at)).take() }.map(|_| ())
}

/// Saves it. Returns its id.
pub fn save_video(video: &NewVideo) -> Result<String, Error> {
    let [id, path, url, title, text] = [video.media_id, video.path, video.url, video.title, video.description].map(optional);
    #[rustfmt::skip]
    let result: Outcome<Slice> = unsafe {
        returned(|at| {
            raw::save_video(
                id.0, id.1.as_ptr(), id.1.len(), path.0, path.1.as_ptr(), path.1.len(), url.0, url.1.as_ptr(), url.1.len(),
                title.0, title.1.as_ptr(), title.1.len(), text.0, text.1.as_ptr(), text.1.len(), at,
            )
        })
    };
    unsafe { Ok(result.take()?.string()) }
}

/// Saves at most 1,000 captions, all or none. Returns their ids in this order.
pub fn save_captions(captions: &[NewCaption]) -> Result<Vec<u64>, Error> {
    let captions: Vec<RawNewCaption> = captions.iter().map(RawNewCaption::new).collect();
    unsafe { Ok(returned::<Outcome<Slice>>(|at| raw::save_captions(captions.as_ptr(), captions.len(), at)).take()?.list::<f64>().into_iter().map(|id| id as u64).collect()) }
}

/// Saves it. Returns its id.
pub fn save_transcript(transcript: &NewTranscript) -> Result<u64, Error> {
    let [id, kind] = [transcript.media_id, transcript.transcript_type].map(optional);
    let NewTranscript { model, transcript: text, segments, language, language_confidence, .. } = transcript;
    #[rustfmt::skip]
    let result: Outcome<f64> = unsafe {
        returned(|at| {
            raw::save_transcript(
                id.0, id.1.as_ptr(), id.1.len(), model.as_ptr(), model.len(), text.as_ptr(), text.len(), segments.as_ptr(), segments.len(),
                language.as_ptr(), language.len(), *language_confidence, kind.0, kind.1.as_ptr(), kind.1.len(), at,
            )
        })
    };
    unsafe { result.take() }.map(|id| id as u64)
}

/// Deletes media of any kind with their captions and transcripts.
pub fn delete_media(media_id: &str) -> Result<(), Error> {
    unsafe { returned::<Outcome<u8>>(|at| raw::delete_media(media_id.as_ptr(), media_id.len(), at)).take() }.map(|_| ())
}

pub fn delete_caption(id: u64) -> Result<(), Error> {
    unsafe { returned::<Outcome<u8>>(|at| raw::delete_caption(id as f64, at)).take() }.map(|_| ())
}

pub fn delete_transcript(id: u64) -> Result<(), Error> {
    unsafe { returned::<Outcome<u8>>(|at| raw::delete_transcript(id as f64, at)).take() }.map(|_| ())
}

/// An option: whether it is present, and its text.
fn optional(text: Option<&str>) -> (u32, &str) {
    (text.is_some() as u32, text.unwrap_or(""))
}

// --- requests to hosts that the manifest names and the operator grants ---

#[derive(Clone, Copy)]
#[rustfmt::skip]
pub enum Method { Get, Post }

#[derive(Debug)]
pub struct Response {
    pub status: u16,
    /// The URL of the answer, after redirects.
    pub url: String,
    /// Names in lower case. A name can occur several times.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// Sends a request and waits for the complete answer, with any status.
pub fn fetch(method: Method, url: &str, headers: &[(&str, &str)], body: Option<&[u8]>) -> Result<Response, Error> {
    let headers: Vec<[Slice; 2]> = headers.iter().map(|(name, value)| [Slice::lent(name), Slice::lent(value)]).collect();
    let (has_body, body) = (body.is_some() as u32, body.unwrap_or(&[]));
    unsafe {
        let RawResponse { status, url, headers, body } = returned::<Outcome<RawResponse>>(|at| {
            raw::fetch(method as u32, url.as_ptr(), url.len(), headers.as_ptr(), headers.len(), has_body, body.as_ptr(), body.len(), at)
        })
        .take()?;
        let headers = headers.list::<[Slice; 2]>().into_iter().map(|[name, value]| (name.string(), value.string())).collect();
        Ok(Response { status, url: url.string(), headers, body: body.bytes() })
    }
}

// --- helpers in other threads ---

impl Task {
    /// Starts [`Plugin::run`] with the name `helper:<name>`.
    pub fn start(name: &str, input: &str) -> Result<Task, Error> {
        unsafe { returned::<Outcome<u32>>(|at| raw::task_start(name.as_ptr(), name.len(), input.as_ptr(), input.len(), at)).take() }.map(Task)
    }

    /// Returns the helper's result, or fails with the helper's error.
    pub fn wait(&self) -> Result<String, Error> {
        unsafe { Ok(returned::<Outcome<Slice>>(|at| raw::task_wait(self.0, at)).take()?.string()) }
    }
}

// --- the streamed answer ---

/// Sends one JSON value to the client. It may return before the client has received the value.
pub fn write(chunk: &str) -> Result<(), Error> {
    unsafe { returned::<Outcome<u8>>(|at| raw::write(chunk.as_ptr(), chunk.len(), at)).take() }.map(|_| ())
}

/// Sends all remaining values of a stream.
pub fn forward(source: &Chunks) -> Result<(), Error> {
    unsafe { returned::<Outcome<u8>>(|at| raw::forward(source.0, at)).take() }.map(|_| ())
}

// --- values in memory, laid out as the canonical ABI says ---

/// A string or a list. A value from the host is allocated with `cabi_realloc` and belongs to the plugin.
#[derive(Clone, Copy)]
#[repr(C)]
struct Slice {
    start: *mut u8,
    length: usize,
}

impl Slice {
    /// It leaks, because the plugin's memory is thrown away after a run.
    fn of(text: String) -> Slice {
        let bytes = text.into_bytes().leak();
        Slice { start: bytes.as_mut_ptr(), length: bytes.len() }
    }
    /// Borrows from the caller during a call.
    fn lent(text: &str) -> Slice {
        Slice { start: text.as_ptr() as *mut u8, length: text.len() }
    }
    unsafe fn list<T>(self) -> Vec<T> {
        if self.length == 0 {
            return Vec::new(); // nothing was allocated
        }
        Vec::from_raw_parts(self.start as *mut T, self.length, self.length)
    }
    unsafe fn bytes(self) -> Vec<u8> {
        self.list()
    }
    unsafe fn string(self) -> String {
        String::from_utf8_unchecked(self.bytes())
    }
    unsafe fn strings(self) -> Vec<String> {
        self.list::<Slice>().into_iter().map(|each| each.string()).collect()
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RawError {
    kind: ErrorKind,
    name: Slice,
    message: Slice,
    data: Slice,
}

#[repr(C)]
union Payload<T: Copy> {
    value: T,
    error: RawError,
}

/// A result. `T` is `u8` for a result without a value.
#[repr(C)]
struct Outcome<T: Copy> {
    is_error: u8,
    payload: Payload<T>,
}

impl<T: Copy> Outcome<T> {
    unsafe fn take(self) -> Result<T, Error> {
        if self.is_error == 0 {
            return Ok(self.payload.value);
        }
        let RawError { kind, name, message, data } = self.payload.error;
        Err(Error { kind, name: name.string(), message: message.string(), data: data.string() })
    }
}

/// A value that may be absent.
#[derive(Clone, Copy)]
#[repr(C)]
struct Maybe<T: Copy> {
    is_there: u8,
    value: MaybeUninit<T>,
}

impl<T: Copy> Maybe<T> {
    fn of(value: Option<T>) -> Maybe<T> {
        Maybe { is_there: value.is_some() as u8, value: value.map_or(MaybeUninit::uninit(), MaybeUninit::new) }
    }
    unsafe fn value(self) -> Option<T> {
        (self.is_there != 0).then(|| self.value.assume_init())
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RawWord {
    word: Slice,
    speaker: Maybe<Slice>,
    time_interval: TimeInterval,
    alignment_confidence: f64,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RawSegment {
    text: Slice,
    time_interval: TimeInterval,
    confidence: Maybe<f64>,
    no_speech_confidence: Maybe<f64>,
    words: Slice,
    speaker: Maybe<Slice>,
    language: Maybe<Slice>,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RawTranscription {
    text: Slice,
    info: RawTranscriptionInfo,
    segments: Slice,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RawTranscriptionInfo {
    language: Slice,
    language_confidence: f64,
}

impl RawWord {
    unsafe fn value(self) -> Word {
        let RawWord { word, speaker, time_interval, alignment_confidence } = self;
        Word { word: word.string(), speaker: speaker.value().map(|name| name.string()), time_interval, alignment_confidence }
    }
}

impl RawSegment {
    unsafe fn value(self) -> Segment {
        Segment {
            text: self.text.string(),
            time_interval: self.time_interval,
            confidence: self.confidence.value(),
            no_speech_confidence: self.no_speech_confidence.value(),
            words: self.words.list::<RawWord>().into_iter().map(|each| each.value()).collect(),
            speaker: self.speaker.value().map(|name| name.string()),
            language: self.language.value().map(|code| code.string()),
        }
    }
}

impl RawTranscription {
    unsafe fn value(self) -> Transcription {
        Transcription {
            text: self.text.string(),
            language: self.info.language.string(),
            language_confidence: self.info.language_confidence,
            segments: self.segments.list::<RawSegment>().into_iter().map(|each| each.value()).collect(),
        }
    }
}

/// The parameters of both functions, in memory because they are too many to be passed as arguments.
#[repr(C)]
struct RawAsrRequest {
    deployment: Slice,
    audio: u32,
    params: RawAsrParams,
}

#[repr(C)]
struct RawAsrParams {
    language: Maybe<Slice>,
    beam_size: Maybe<u32>,
    best_of: Maybe<u32>,
    temperatures: Slice,
    without_timestamps: Maybe<bool>,
    word_timestamps: Maybe<bool>,
    vad_filter: Maybe<bool>,
    channels: Maybe<u8>,
    task: Maybe<u8>,
    initial_prompt: Maybe<Slice>,
    log_prob_threshold: Maybe<f64>,
    no_speech_threshold: Maybe<f64>,
    length_penalty: Maybe<f64>,
    max_initial_timestamp: Maybe<f64>,
    multilingual: Maybe<bool>,
}

impl RawAsrRequest {
    /// Must not outlive the values that it is made of.
    fn new(deployment: &str, audio: &Audio, params: &AsrParams) -> RawAsrRequest {
        let params = RawAsrParams {
            language: Maybe::of(params.language.map(Slice::lent)),
            beam_size: Maybe::of(params.beam_size),
            best_of: Maybe::of(params.best_of),
            temperatures: Slice { start: params.temperatures.as_ptr() as *mut u8, length: params.temperatures.len() },
            without_timestamps: Maybe::of(params.without_timestamps),
            word_timestamps: Maybe::of(params.word_timestamps),
            vad_filter: Maybe::of(params.vad_filter),
            channels: Maybe::of(params.channels.map(|each| each as u8)),
            task: Maybe::of(params.task.map(|each| each as u8)),
            initial_prompt: Maybe::of(params.initial_prompt.map(Slice::lent)),
            log_prob_threshold: Maybe::of(params.log_prob_threshold),
            no_speech_threshold: Maybe::of(params.no_speech_threshold),
            length_penalty: Maybe::of(params.length_penalty),
            max_initial_timestamp: Maybe::of(params.max_initial_timestamp),
            multilingual: Maybe::of(params.multilingual),
        };
        RawAsrRequest { deployment: Slice::lent(deployment), audio: audio.0, params }
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RawMessage {
    role: Role,
    content: Slice,
}

/// The parameters of both functions, in memory because they are too many to be passed as arguments.
#[repr(C)]
struct RawChatRequest {
    deployment: Slice,
    dialog: Slice,
    temperature: Maybe<f64>,
    top_p: Maybe<f64>,
    top_k: Maybe<i32>,
    min_p: Maybe<f64>,
    max_tokens: Maybe<u32>,
    repetition_penalty: Maybe<f64>,
    seed: Maybe<f64>,
    stop: Slice,
    assistant_prefix: Maybe<Slice>,
}

fn raw_dialog(dialog: &[Message]) -> Vec<RawMessage> {
    dialog.iter().map(|each| RawMessage { role: each.role, content: Slice::lent(&each.content) }).collect()
}

fn with_chat_request<T>(deployment: &str, dialog: &[Message], options: &ChatOptions, call: impl FnOnce(&RawChatRequest) -> T) -> T {
    let dialog = raw_dialog(dialog);
    let params = &options.sampling_params;
    let stop: Vec<Slice> = params.stop.iter().map(|each| Slice::lent(each)).collect();
    call(&RawChatRequest {
        deployment: Slice::lent(deployment),
        dialog: Slice { start: dialog.as_ptr() as *mut u8, length: dialog.len() },
        temperature: Maybe::of(params.temperature),
        top_p: Maybe::of(params.top_p),
        top_k: Maybe::of(params.top_k),
        min_p: Maybe::of(params.min_p),
        max_tokens: Maybe::of(params.max_tokens),
        repetition_penalty: Maybe::of(params.repetition_penalty),
        seed: Maybe::of(params.seed),
        stop: Slice { start: stop.as_ptr() as *mut u8, length: stop.len() },
        assistant_prefix: Maybe::of(options.assistant_prefix.map(Slice::lent)),
    })
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RawVideoRecord {
    media_id: Slice,
    texts: [Maybe<Slice>; 4],
}

impl RawVideoRecord {
    unsafe fn value(self) -> VideoRecord {
        let [path, url, title, description] = self.texts.map(|each| each.value().map(|text| text.string()));
        VideoRecord { media_id: self.media_id.string(), path, url, title, description }
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RawCaptionRecord {
    id: f64,
    media_id: Maybe<Slice>,
    model: Slice,
    frame_id: u32,
    caption: Slice,
    timestamp: f64,
    caption_type: Slice,
}

impl RawCaptionRecord {
    unsafe fn value(self) -> CaptionRecord {
        let RawCaptionRecord { id, media_id, model, frame_id, caption, timestamp, caption_type } = self;
        let media_id = media_id.value().map(|each| each.string());
        CaptionRecord { id: id as u64, media_id, model: model.string(), frame_id, caption: caption.string(), timestamp, caption_type: caption_type.string() }
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RawTranscriptInfo {
    id: f64,
    media_id: Maybe<Slice>,
    model: Slice,
    language: Slice,
    language_confidence: f64,
    transcript_type: Slice,
}

impl RawTranscriptInfo {
    unsafe fn value(self) -> TranscriptInfo {
        let RawTranscriptInfo { id, media_id, model, language, language_confidence, transcript_type } = self;
        let media_id = media_id.value().map(|each| each.string());
        TranscriptInfo { id: id as u64, media_id, model: model.string(), language: language.string(), language_confidence, transcript_type: transcript_type.string() }
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RawTranscriptRecord {
    info: RawTranscriptInfo,
    transcript: Slice,
    segments: Slice,
}

#[repr(C)]
struct RawNewCaption {
    media_id: Maybe<Slice>,
    model: Slice,
    frame_id: u32,
    caption: Slice,
    timestamp: f64,
    caption_type: Maybe<Slice>,
}

impl RawNewCaption {
    /// Must not outlive the values that it is made of.
    fn new(caption: &NewCaption) -> RawNewCaption {
        RawNewCaption {
            media_id: Maybe::of(caption.media_id.map(Slice::lent)),
            model: Slice::lent(caption.model),
            frame_id: caption.frame_id,
            caption: Slice::lent(caption.caption),
            timestamp: caption.timestamp,
            caption_type: Maybe::of(caption.caption_type.map(Slice::lent)),
        }
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RawResponse {
    status: u16,
    url: Slice,
    headers: Slice,
    body: Slice,
}

#[repr(C)]
struct RawImageInfo {
    width: u32,
    height: u32,
    format: Slice,
}

#[repr(C)]
struct RawVideoInfo {
    has_duration: u8,
    duration: f64,
    has_audio: u8,
    has_video: u8,
}

/// Returns the value that a function of the host writes to a given address.
unsafe fn returned<T>(call: impl FnOnce(*mut T)) -> T {
    let mut place = MaybeUninit::uninit();
    call(place.as_mut_ptr());
    place.assume_init()
}

/// The host's functions, with their parameters as the canonical ABI flattens them.
#[rustfmt::skip]
mod raw {
    use super::{Maybe, Outcome, RawAsrRequest, RawCaptionRecord, RawChatRequest, RawImageInfo, RawMessage, RawNewCaption, RawResponse};
    use super::{RawTranscriptRecord, RawTranscription, RawVideoInfo, RawVideoRecord, Slice, TokenCount};

    /// The function that opens media. Each of the four options is whether it is present and its text.
    pub(super) type Open = unsafe extern "C" fn(u32, *const u8, usize, u32, *const u8, usize, u32, *const u8, usize, u32, *const u8, usize, *mut Outcome<u32>);

    #[link(wasm_import_module = "aana:host/log@0.1.0")]
    extern "C" {
        pub(super) fn log(level: u32, message: *const u8, message_length: usize, fields: *const u8, fields_length: usize);
    }
    #[link(wasm_import_module = "aana:host/random@0.1.0")]
    extern "C" {
        #[link_name = "bytes"] pub(super) fn random_bytes(length: u32, at: *mut Slice);
    }
    #[link(wasm_import_module = "aana:host/invocation@0.1.0")]
    extern "C" {
        #[link_name = "request-id"] pub(super) fn request_id(at: *mut Slice);
        #[link_name = "remaining-ms"] pub(super) fn remaining_ms() -> u64;
        #[link_name = "is-cancelled"] pub(super) fn is_cancelled() -> u32;
        #[link_name = "user"] pub(super) fn user(at: *mut Maybe<Slice>);
        pub(super) fn priority() -> i32;
        #[link_name = "traceparent"] pub(super) fn traceparent(at: *mut Maybe<Slice>);
    }
    #[link(wasm_import_module = "aana:host/media@0.1.0")]
    extern "C" {
        #[link_name = "[static]video.open"] pub(super) fn video_open(
            has_path: u32, path: *const u8, path_length: usize, has_url: u32, url: *const u8, url_length: usize,
            has_content: u32, content: *const u8, content_length: usize, has_id: u32, id: *const u8, id_length: usize, at: *mut Outcome<u32>,
        );
        #[link_name = "[method]video.info"] pub(super) fn video_info(video: u32, at: *mut RawVideoInfo);
        #[link_name = "[method]video.metadata"] pub(super) fn video_metadata(video: u32, at: *mut [Maybe<Slice>; 2]);
        #[link_name = "[method]video.extract-audio"] pub(super) fn extract_audio(video: u32, channels: u32, at: *mut Outcome<u32>);
        #[link_name = "[resource-drop]video"] pub(super) fn video_drop(video: u32);
        #[link_name = "[static]image.open"] pub(super) fn image_open(
            has_path: u32, path: *const u8, path_length: usize, has_url: u32, url: *const u8, url_length: usize,
            has_content: u32, content: *const u8, content_length: usize, has_id: u32, id: *const u8, id_length: usize, at: *mut Outcome<u32>,
        );
        #[link_name = "[method]image.info"] pub(super) fn image_info(image: u32, at: *mut RawImageInfo);
        #[link_name = "[method]image.pixels"] pub(super) fn image_pixels(image: u32, width: u32, height: u32, at: *mut Outcome<Slice>);
        #[link_name = "[resource-drop]image"] pub(super) fn image_drop(image: u32);
        #[link_name = "[method]audio.duration"] pub(super) fn audio_duration(audio: u32) -> f64;
        #[link_name = "[resource-drop]audio"] pub(super) fn audio_drop(audio: u32);
    }
    #[link(wasm_import_module = "aana:host/deployments@0.1.0")]
    extern "C" {
        pub(super) fn call(
            deployment: *const u8, deployment_length: usize, method: *const u8, method_length: usize, args: *const u8, args_length: usize,
            audio: *const u32, audio_length: usize, at: *mut Outcome<Slice>,
        );
        pub(super) fn open(
            deployment: *const u8, deployment_length: usize, method: *const u8, method_length: usize, args: *const u8, args_length: usize,
            audio: *const u32, audio_length: usize, at: *mut Outcome<u32>,
        );
        #[link_name = "[method]chunks.next"] pub(super) fn chunks_next(chunks: u32, at: *mut Outcome<Slice>);
        #[link_name = "[method]chunks.returned"] pub(super) fn chunks_returned(chunks: u32, at: *mut Outcome<Slice>);
        #[link_name = "[resource-drop]chunks"] pub(super) fn chunks_drop(chunks: u32);
    }
    #[link(wasm_import_module = "aana:host/progress@0.1.0")]
    extern "C" {
        pub(super) fn report(fraction: f64, text: *const u8, text_length: usize);
        #[link_name = "report-step"] pub(super) fn report_step(fraction: f64, until: f64, text: *const u8, text_length: usize);
    }
    #[link(wasm_import_module = "aana:host/asr@0.1.0")]
    extern "C" {
        pub(super) fn transcribe(request: &RawAsrRequest, at: *mut Outcome<RawTranscription>);
        #[link_name = "transcribe-stream"] pub(super) fn transcribe_stream(request: &RawAsrRequest, at: *mut Outcome<u32>);
        #[link_name = "[method]transcriptions.next"] pub(super) fn transcriptions_next(stream: u32, at: *mut Outcome<Slice>);
        #[link_name = "[resource-drop]transcriptions"] pub(super) fn transcriptions_drop(stream: u32);
    }
    #[link(wasm_import_module = "aana:host/llm@0.1.0")]
    extern "C" {
        pub(super) fn chat(request: &RawChatRequest, at: *mut Outcome<RawMessage>);
        #[link_name = "chat-stream"] pub(super) fn chat_stream(request: &RawChatRequest, at: *mut Outcome<u32>);
        #[link_name = "count-dialog-tokens"] pub(super) fn count_dialog_tokens(
            deployment: *const u8, deployment_length: usize, dialog: *const RawMessage, dialog_length: usize, at: *mut Outcome<TokenCount>,
        );
        #[link_name = "count-tokens"] pub(super) fn count_tokens(
            deployment: *const u8, deployment_length: usize, text: *const u8, text_length: usize, at: *mut Outcome<TokenCount>,
        );
        #[link_name = "[method]text-stream.next"] pub(super) fn text_stream_next(stream: u32, at: *mut Outcome<Slice>);
        #[link_name = "[method]text-stream.forward"] pub(super) fn text_stream_forward(stream: u32, at: *mut Outcome<u8>);
        #[link_name = "[resource-drop]text-stream"] pub(super) fn text_stream_drop(stream: u32);
    }
    #[link(wasm_import_module = "aana:host/storage@0.1.0")]
    extern "C" {
        #[link_name = "get"] pub(super) fn storage_get(key: *const u8, key_length: usize, at: *mut Outcome<Maybe<Slice>>);
        #[link_name = "set"] pub(super) fn storage_set(key: *const u8, key_length: usize, value: *const u8, value_length: usize, at: *mut Outcome<u8>);
        #[link_name = "delete"] pub(super) fn storage_delete(key: *const u8, key_length: usize, at: *mut Outcome<u8>);
        #[link_name = "list"] pub(super) fn storage_list(
            prefix: *const u8, prefix_length: usize, has_after: u32, after: *const u8, after_length: usize, limit: u32, at: *mut Outcome<Slice>,
        );
    }
    #[link(wasm_import_module = "aana:host/repositories@0.1.0")]
    extern "C" {
        #[link_name = "media-exists"] pub(super) fn media_exists(id: *const u8, id_length: usize, at: *mut Outcome<u8>);
        #[link_name = "read-video"] pub(super) fn read_video(id: *const u8, id_length: usize, at: *mut Outcome<RawVideoRecord>);
        #[link_name = "list-videos"] pub(super) fn list_videos(has_after: u32, after: *const u8, after_length: usize, limit: u32, at: *mut Outcome<Slice>);
        #[link_name = "read-caption"] pub(super) fn read_caption(id: f64, at: *mut Outcome<RawCaptionRecord>);
        #[link_name = "list-captions"] pub(super) fn list_captions(
            media: *const u8, media_length: usize, has_after: u32, after_timestamp: f64, after_id: f64, limit: u32, at: *mut Outcome<Slice>,
        );
        #[link_name = "read-transcript"] pub(super) fn read_transcript(id: f64, at: *mut Outcome<RawTranscriptRecord>);
        #[link_name = "list-transcripts"] pub(super) fn list_transcripts(media: *const u8, media_length: usize, has_after: u32, after: f64, limit: u32, at: *mut Outcome<Slice>);
    }
    #[link(wasm_import_module = "aana:host/repositories-write@0.1.0")]
    extern "C" {
        #[link_name = "create-media"] pub(super) fn create_media(id: *const u8, id_length: usize, kind: *const u8, kind_length: usize, at: *mut Outcome<u8>);
        #[link_name = "save-video"] pub(super) fn save_video(
            has_id: u32, id: *const u8, id_length: usize, has_path: u32, path: *const u8, path_length: usize, has_url: u32, url: *const u8, url_length: usize,
            has_title: u32, title: *const u8, title_length: usize, has_text: u32, text: *const u8, text_length: usize, at: *mut Outcome<Slice>,
        );
        #[link_name = "save-captions"] pub(super) fn save_captions(captions: *const RawNewCaption, length: usize, at: *mut Outcome<Slice>);
        #[link_name = "save-transcript"] pub(super) fn save_transcript(
            has_id: u32, id: *const u8, id_length: usize, model: *const u8, model_length: usize, text: *const u8, text_length: usize,
            segments: *const u8, segments_length: usize, language: *const u8, language_length: usize, confidence: f64,
            has_kind: u32, kind: *const u8, kind_length: usize, at: *mut Outcome<f64>,
        );
        #[link_name = "delete-media"] pub(super) fn delete_media(id: *const u8, id_length: usize, at: *mut Outcome<u8>);
        #[link_name = "delete-caption"] pub(super) fn delete_caption(id: f64, at: *mut Outcome<u8>);
        #[link_name = "delete-transcript"] pub(super) fn delete_transcript(id: f64, at: *mut Outcome<u8>);
    }
    #[link(wasm_import_module = "aana:host/http@0.1.0")]
    extern "C" {
        pub(super) fn fetch(
            method: u32, url: *const u8, url_length: usize, headers: *const [Slice; 2], headers_length: usize,
            has_body: u32, body: *const u8, body_length: usize, at: *mut Outcome<RawResponse>,
        );
    }
    #[link(wasm_import_module = "aana:host/remote@0.1.0")]
    extern "C" {
        #[link_name = "[static]task.start"] pub(super) fn task_start(name: *const u8, name_length: usize, input: *const u8, input_length: usize, at: *mut Outcome<u32>);
        #[link_name = "[method]task.wait"] pub(super) fn task_wait(task: u32, at: *mut Outcome<Slice>);
        #[link_name = "[resource-drop]task"] pub(super) fn task_drop(task: u32);
    }
    #[link(wasm_import_module = "aana:host/output@0.1.0")]
    extern "C" {
        pub(super) fn write(chunk: *const u8, chunk_length: usize, at: *mut Outcome<u8>);
        pub(super) fn forward(chunks: u32, at: *mut Outcome<u8>);
    }
}

// --- what the plugin offers, called by the host ---

/// Exports the functions of a type that implements [`Plugin`].
#[macro_export]
macro_rules! export_plugin {
    ($plugin:ty) => {
        #[export_name = "aana:host/endpoint@0.1.0#describe"]
        extern "C" fn exported_describe() -> *const u8 {
            $crate::aana_plugin::describe::<$plugin>()
        }
        #[export_name = "aana:host/endpoint@0.1.0#run"]
        unsafe extern "C" fn exported_run(name: *mut u8, name_length: usize, input: *mut u8, input_length: usize) -> *const u8 {
            $crate::aana_plugin::run::<$plugin>(name, name_length, input, input_length)
        }
    };
}

#[repr(C)]
struct RawEndpoint {
    texts: [Slice; 6],
    streaming: bool,
}

fn kept<T>(value: T) -> *const u8 {
    Box::into_raw(Box::new(value)) as *const u8
}

pub fn describe<P: Plugin>() -> *const u8 {
    let all: Vec<RawEndpoint> = P::describe()
        .into_iter()
        .map(|each| RawEndpoint {
            texts: [each.name, each.path, each.summary, each.description, each.input_schema, each.output_schema].map(Slice::of),
            streaming: each.streaming,
        })
        .collect();
    let all = all.leak();
    kept(Slice { start: all.as_mut_ptr() as *mut u8, length: all.len() })
}

/// # Safety
/// The host passes two strings that it allocated with `cabi_realloc`.
pub unsafe fn run<P: Plugin>(name: *mut u8, name_length: usize, input: *mut u8, input_length: usize) -> *const u8 {
    let name = Slice { start: name, length: name_length }.string();
    let input = Slice { start: input, length: input_length }.string();
    kept(match P::run(&name, &input) {
        Ok(json) => Outcome { is_error: 0, payload: Payload { value: Slice::of(json) } },
        Err(Error { kind, name, message, data }) => {
            let error = RawError { kind, name: Slice::of(name), message: Slice::of(message), data: Slice::of(data) };
            Outcome { is_error: 1, payload: Payload { error } }
        }
    })
}

/// Allocates memory for values from the host.
#[export_name = "cabi_realloc"]
unsafe extern "C" fn allocate(old: *mut u8, old_size: usize, align: usize, size: usize) -> *mut u8 {
    if size == 0 {
        return align as *mut u8; // as Rust's own empty vectors have it
    }
    let layout = Layout::from_size_align_unchecked(size, align);
    let memory = if old_size == 0 { alloc(layout) } else { realloc(old, Layout::from_size_align_unchecked(old_size, align), size) };
    if memory.is_null() {
        handle_alloc_error(layout);
    }
    memory
}
