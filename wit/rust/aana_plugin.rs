//! The world `plugin` of `wit/world.wit` for Rust guests, without any crate: include it as a module, implement [`Plugin`], and name that
//! type in [`export_plugin!`]. Build for `wasm32-wasi` (`wasm32-wasip1` in newer compilers) as a `cdylib`.
//!
//! Every run begins with a fresh memory: a change of a `static` is gone in the next run.
#![allow(dead_code)]

use std::alloc::{alloc, handle_alloc_error, realloc, Layout};
use std::mem::MaybeUninit;

/// The endpoints of a plugin.
pub trait Plugin {
    /// Returns the endpoints. Called once when the plugin is loaded, in a memory of its own.
    fn describe() -> Vec<Endpoint>;
    /// Runs the endpoint `name`. `input` is a JSON object that matches its schema. Returns JSON. A streaming endpoint
    /// [`write`]s and returns `null`.
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

/// The reason why a call failed. A plugin that cannot go on returns it from `run` with `?`, and the client gets the
/// host's error.
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

/// Makes a call begin only, and returns its number, so that it runs at the same time as others. A call that does not
/// begin
/// returns its result, or why. `call` is one call of a function of this module that returns a `Result`.
pub fn start<T>(call: impl FnOnce() -> Result<T, Error>) -> Result<Started<T>, Error> {
    unsafe { raw::start_next() };
    match call() {
        Ok(value) => Ok(Started::Ended(value)),
        Err(error) if error.name == "CallStarted" => Ok(Started::Running(error.data.parse().unwrap_or(0))),
        Err(error) => Err(error),
    }
}

/// What `start` returns.
pub enum Started<T> {
    Running(u32),
    Ended(T),
}

/// Returns what a call that was started returns. `call` is a call of the same function; its arguments are not used.
pub fn take<T>(number: u32, call: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    unsafe { raw::take_next(number) };
    call()
}

/// Waits until one of these calls has finished, or until the milliseconds are over. Returns the numbers of those that
/// have finished.
pub fn wait(calls: &[u32], milliseconds: Option<u32>) -> Result<Vec<u32>, Error> {
    let has = milliseconds.is_some() as u32;
    unsafe { Ok(returned::<Outcome<Slice>>(|at| raw::wait(calls.as_ptr(), calls.len(), has, milliseconds.unwrap_or(0), at)).take()?.list()) }
}

/// Gives up a call that was started.
pub fn cancel(number: u32) {
    unsafe { raw::cancel(number) }
}

/// Reports the finished fraction, from 0 to 1, and the current step.
pub fn report_progress(fraction: f64, text: &str) {
    unsafe { raw::report(fraction, text.as_ptr(), text.len()) }
}

/// Reports like `report_progress`, and the fraction at which the next step ends: deployments that work in it move the
/// progress there.
pub fn report_step(fraction: f64, until: f64, text: &str) {
    unsafe { raw::report_step(fraction, until, text.as_ptr(), text.len()) }
}

/// A file of the request. Its name and its media type are what the client says.
#[derive(Debug)]
pub struct FileInfo {
    pub name: Option<String>,
    pub media_type: Option<String>,
    /// Bytes.
    pub size: u64,
}

/// Returns the facts about the file in a field of the request's form.
pub fn upload_info(field: &str) -> Result<FileInfo, Error> {
    unsafe {
        let (name, media_type, size) = returned::<Outcome<RawFileInfo>>(|at| raw::upload_info(field.as_ptr(), field.len(), at)).take()?.parts();
        Ok(FileInfo { name, media_type, size })
    }
}

/// Returns the bytes from `offset` on in base64: `length` of them, and at most 262,144. Only the end of the file gives
/// fewer.
pub fn upload_read(field: &str, offset: u64, length: u32) -> Result<String, Error> {
    unsafe { Ok(returned::<Outcome<Slice>>(|at| raw::upload_read(field.as_ptr(), field.len(), offset as f64, length, at)).take()?.string()) }
}

/// Returns the same bytes as text, without a character that the end of the piece cuts, and the number of bytes that it
/// was.
pub fn upload_read_text(field: &str, offset: u64, length: u32) -> Result<(String, u32), Error> {
    unsafe {
        let RawTextPiece { text, length } =
            returned::<Outcome<RawTextPiece>>(|at| raw::upload_read_text(field.as_ptr(), field.len(), offset as f64, length, at)).take()?;
        Ok((text.string(), length))
    }
}

/// Begins an answer that is bytes. Then `send_bytes` sends them, and `run` returns `null`.
pub fn begin_bytes(media_type: &str, status: u16, headers: &[(&str, &str)]) -> Result<(), Error> {
    let headers: Vec<[Slice; 2]> = headers.iter().map(|&(name, value)| [Slice::lent(name), Slice::lent(value)]).collect();
    let call = |at: *mut Outcome<u8>| unsafe {
        raw::begin(media_type.as_ptr(), media_type.len(), u32::from(status), headers.as_ptr(), headers.len(), at)
    };
    unsafe { returned::<Outcome<u8>>(call).take() }.map(|_| ())
}

/// Sends bytes of the answer, in base64.
pub fn send_bytes(base64: &str) -> Result<(), Error> {
    unsafe { returned::<Outcome<u8>>(|at| raw::send(base64.as_ptr(), base64.len(), at)).take() }.map(|_| ())
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
/// The chosen frames of a video. Dropping it ends the decoder.
pub struct Frames(u32);
/// Decoded audio, held by the host.
pub struct Audio(u32);
/// A fetched and probed image, held by the host.
pub struct Image(u32);
/// A running stream of JSON values. Dropping it cancels it.
pub struct Chunks(u32);
/// A running transcription. Dropping it cancels it.
pub struct Transcriptions(u32);
/// A running transcription with all that is known of it. Dropping it cancels it.
pub struct DetailedTranscriptions(u32);
/// A running answer. Dropping it cancels it.
pub struct TextStream(u32);
/// Running answers. Dropping it cancels them.
pub struct CompletionStream(u32);
/// A request and its answer. Dropping it ends it.
pub struct Exchange(u32);
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

    /// Probes the file of an image that the plugin has, such as a PNG.
    pub fn decode(file: &[u8]) -> Result<Image, Error> {
        unsafe { returned::<Outcome<u32>>(|at| raw::image_decode(file.as_ptr(), file.len(), at)).take() }.map(Image)
    }

    /// Does the same for a file in base64, which may be larger.
    pub fn decode_base64(file: &str) -> Result<Image, Error> {
        let call = |at: *mut Outcome<u32>| unsafe { raw::image_decode_base64(file.as_ptr(), file.len(), at) };
        unsafe { returned(call).take() }.map(Image)
    }

    pub fn info(&self) -> ImageInfo {
        let RawImageInfo { width, height, format } = unsafe { returned(|at| raw::image_info(self.0, at)) };
        ImageInfo { width, height, format: unsafe { format.string() } }
    }

    /// Returns the red, green and blue value of each pixel of the image at this size, row by row from the top.
    pub fn pixels(&self, width: u32, height: u32) -> Result<Vec<u8>, Error> {
        unsafe { Ok(returned::<Outcome<Slice>>(|at| raw::image_pixels(self.0, width, height, at)).take()?.bytes()) }
    }

    /// Returns the same in base64.
    pub fn pixels_base64(&self, width: u32, height: u32) -> Result<String, Error> {
        let call = |at: *mut Outcome<Slice>| unsafe { raw::image_pixels_base64(self.0, width, height, at) };
        unsafe { Ok(returned(call).take()?.string()) }
    }

    /// Returns the file of the image in another form, in base64. `options` is a JSON object with `format` (`jpeg` or
    /// `png`), `quality`, `max_width` and `max_height`.
    pub fn encode(&self, options: &str) -> Result<String, Error> {
        unsafe { Ok(returned::<Outcome<Slice>>(|at| raw::image_encode(self.0, options.as_ptr(), options.len(), at)).take()?.string()) }
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

    /// All facts about the file as a JSON object: `duration`, `has_audio`, `has_video`, `width`, `height`,
    /// `frame_rate`, `tracks`, `chapters`, `title` and `description`.
    pub fn facts(&self) -> Result<String, Error> {
        unsafe { Ok(returned::<Outcome<Slice>>(|at| raw::video_facts(self.0, at)).take()?.string()) }
    }

    /// Chooses frames. `options` is a JSON object with exactly one of `every`, `count`, `times`, `scenes` and
    /// `keyframes`, and with `max_width` and `max_height`.
    pub fn frames(&self, options: &str) -> Result<Frames, Error> {
        unsafe { returned::<Outcome<u32>>(|at| raw::video_frames(self.0, options.as_ptr(), options.len(), at)).take() }.map(Frames)
    }

    /// Returns the embedded subtitles of a track in SubRip. `track` counts from 0 on; none stands for the first one.
    pub fn subtitles(&self, track: Option<u32>) -> Result<String, Error> {
        let (has_track, number) = (u32::from(track.is_some()), track.unwrap_or(0));
        unsafe { Ok(returned::<Outcome<Slice>>(|at| raw::video_subtitles(self.0, has_track, number, at)).take()?.string()) }
    }
}

impl Frames {
    /// Decodes the next frame. Returns its time in seconds from the start of the file; none at the end.
    pub fn next(&self) -> Result<Option<f64>, Error> {
        unsafe { Ok(returned::<Outcome<Maybe<f64>>>(|at| raw::frames_next(self.0, at)).take()?.value()) }
    }

    /// Returns the frame that `next` decoded last.
    pub fn image(&self) -> Result<Image, Error> {
        unsafe { returned::<Outcome<u32>>(|at| raw::frames_image(self.0, at)).take() }.map(Image)
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

    /// The JSON that the method returned after its last value. Empty until the stream has ended, and for a method that
    /// returns none.
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
    Video: raw::video_drop, Frames: raw::frames_drop, Audio: raw::audio_drop, Image: raw::image_drop, Chunks: raw::chunks_drop,
    Transcriptions: raw::transcriptions_drop, DetailedTranscriptions: raw::detailed_transcriptions_drop, TextStream: raw::text_stream_drop,
    CompletionStream: raw::completion_stream_drop, Exchange: raw::exchange_drop, Task: raw::task_drop,
}

/// Calls a method of a deployment. `args` is a JSON object with its parameters. `{"$audio": n}` in it stands for
/// `audio[n]`.
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

/// Calls a method of a deployment. `{"$image": n}` in `args` stands for `images[n]`.
pub fn call_with_images(deployment: &str, method: &str, args: &str, audio: &[&Audio], images: &[&Image]) -> Result<String, Error> {
    let audio: Vec<u32> = audio.iter().map(|each| each.0).collect();
    let images: Vec<u32> = images.iter().map(|each| each.0).collect();
    unsafe {
        let result: Outcome<Slice> = returned(|at| {
            raw::call_with_images(
                deployment.as_ptr(), deployment.len(), method.as_ptr(), method.len(), args.as_ptr(), args.len(),
                audio.as_ptr(), audio.len(), images.as_ptr(), images.len(), at,
            )
        });
        Ok(result.take()?.string())
    }
}

/// Calls a streaming method of a deployment. `{"$image": n}` in `args` stands for `images[n]`.
pub fn open_with_images(deployment: &str, method: &str, args: &str, audio: &[&Audio], images: &[&Image]) -> Result<Chunks, Error> {
    let audio: Vec<u32> = audio.iter().map(|each| each.0).collect();
    let images: Vec<u32> = images.iter().map(|each| each.0).collect();
    let result: Outcome<u32> = unsafe {
        returned(|at| {
            raw::open_with_images(
                deployment.as_ptr(), deployment.len(), method.as_ptr(), method.len(), args.as_ptr(), args.len(),
                audio.as_ptr(), audio.len(), images.as_ptr(), images.len(), at,
            )
        })
    };
    unsafe { result.take() }.map(Chunks)
}

/// A token of a text and how likely the model found it.
#[derive(Clone, Debug)]
pub struct TokenScore {
    pub token: String,
    pub id: u32,
    /// Natural logarithm of the probability; -9999 stands for a probability of 0.
    pub logprob: f64,
    /// The bytes of the token in UTF-8.
    pub bytes: Vec<u8>,
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

/// All parameters. Absent members and an empty list of clips have the deployment's defaults. `wit/world.wit` explains
/// them.
#[derive(Default)]
pub struct TranscribeOptions<'a> {
    pub params: AsrParams<'a>,
    pub prefix: Option<&'a str>,
    pub hotwords: Option<&'a str>,
    pub condition_on_previous_text: Option<bool>,
    pub prompt_reset_on_temperature: Option<f64>,
    pub patience: Option<f64>,
    pub compression_ratio_threshold: Option<f64>,
    pub repetition_penalty: Option<f64>,
    pub no_repeat_ngram_size: Option<u32>,
    pub suppress_blank: Option<bool>,
    pub suppress_tokens: Option<&'a [i32]>,
    pub max_new_tokens: Option<u32>,
    pub chunk_length: Option<f64>,
    pub clip_timestamps: &'a [f64],
    pub hallucination_silence_threshold: Option<f64>,
    pub language_detection_threshold: Option<f64>,
    pub language_detection_segments: Option<u32>,
    pub all_language_probs: Option<bool>,
    pub logprobs: Option<bool>,
    /// A JSON object with further parameters.
    pub more: Option<&'a str>,
}

#[derive(Debug)]
pub struct LanguageProbability {
    pub language: String,
    pub probability: f64,
}

#[derive(Debug)]
pub struct DetailedSegment {
    pub segment: Segment,
    /// Empty unless `logprobs` was requested.
    pub tokens: Vec<TokenScore>,
}

#[derive(Debug)]
pub struct DetailedTranscription {
    pub text: String,
    /// Language code, or `silence`.
    pub language: String,
    pub language_confidence: f64,
    /// The likeliest first. Empty unless they were requested.
    pub all_language_probs: Vec<LanguageProbability>,
    pub segments: Vec<DetailedSegment>,
}

/// Transcribes as `transcribe` does, with all parameters.
pub fn transcribe_with(deployment: &str, audio: &Audio, options: &TranscribeOptions) -> Result<DetailedTranscription, Error> {
    let request = RawTranscribeRequest::new(deployment, audio, options);
    unsafe { Ok(returned::<Outcome<RawDetailedTranscription>>(|at| raw::transcribe_with(&request, at)).take()?.value()) }
}

/// Transcribes as `transcribe_stream` does, with all parameters.
pub fn transcribe_stream_with(deployment: &str, audio: &Audio, options: &TranscribeOptions) -> Result<DetailedTranscriptions, Error> {
    let request = RawTranscribeRequest::new(deployment, audio, options);
    unsafe { returned::<Outcome<u32>>(|at| raw::transcribe_stream_with(&request, at)).take() }.map(DetailedTranscriptions)
}

impl DetailedTranscriptions {
    /// Returns the final parts since the last call, at least one. Empty when the stream has ended.
    pub fn next(&self) -> Result<Vec<DetailedTranscription>, Error> {
        unsafe {
            let some = returned::<Outcome<Slice>>(|at| raw::detailed_transcriptions_next(self.0, at)).take()?;
            Ok(some.list::<RawDetailedTranscription>().into_iter().map(|each| each.value()).collect())
        }
    }
}

// --- texts in images, in records ---

/// A place in an image, in pixels from the left and from the top.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Point {
    pub x: u32,
    pub y: u32,
}

/// The corners of a text as they lie in the image.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct TextBox {
    pub top_left: Point,
    pub top_right: Point,
    pub bottom_right: Point,
    pub bottom_left: Point,
}

#[derive(Debug)]
pub struct Line {
    pub text: String,
    /// 0 to 1.
    pub confidence: f64,
    pub text_box: TextBox,
    /// The direction of reading in degrees, above -180 and at most 180: 0 to the right, 90 downwards.
    pub angle: f64,
}

/// Finds and reads the texts of images. Returns the lines of each image in the order of reading.
pub fn recognize(deployment: &str, images: &[&Image]) -> Result<Vec<Vec<Line>>, Error> {
    let handles: Vec<u32> = images.iter().map(|each| each.0).collect();
    unsafe {
        let call = |at: *mut Outcome<Slice>| raw::recognize(deployment.as_ptr(), deployment.len(), handles.as_ptr(), handles.len(), at);
        let pages = returned(call).take()?.list::<Slice>();
        Ok(pages.into_iter().map(|page| page.list::<RawLine>().into_iter().map(|each| each.value()).collect()).collect())
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

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
#[rustfmt::skip]
pub enum Author { System, User, Assistant, Tool }

#[derive(Clone, Copy)]
pub enum ContentPart<'a> {
    Text(&'a str),
    /// The place of an image in the list of the call.
    Image(u32),
}

#[derive(Clone, Debug)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    /// The JSON text of an object.
    pub arguments: String,
}

pub struct Turn<'a> {
    pub author: Author,
    pub content: &'a [ContentPart<'a>],
    pub name: Option<&'a str>,
    pub reasoning: Option<&'a str>,
    pub tool_calls: &'a [ToolCall],
    /// The call that a turn of a tool answers.
    pub tool_call_id: Option<&'a str>,
}

/// A function that the model may call.
#[derive(Default)]
pub struct Tool<'a> {
    pub name: &'a str,
    pub description: Option<&'a str>,
    /// A JSON Schema of the arguments.
    pub parameters: Option<&'a str>,
    pub strict: Option<bool>,
}

#[derive(Clone, Copy)]
#[rustfmt::skip]
pub enum ToolChoice<'a> { Auto, None, Required, Named(&'a str) }

#[derive(Clone, Copy)]
#[rustfmt::skip]
pub enum AnswerForm<'a> { Text, JsonObject, JsonSchema(&'a str), Regex(&'a str), Choice(&'a [&'a str]), Grammar(&'a str) }

#[derive(Clone, Copy)]
#[rustfmt::skip]
pub enum Overflow { Error, Shift, TruncateMiddle }

#[derive(Clone, Copy)]
#[rustfmt::skip]
pub enum ReasoningFormat { Auto, None, Deepseek }

/// All sampling parameters. Absent members and empty lists have the deployment's defaults. `wit/world.wit` explains
/// them.
#[derive(Default)]
pub struct Sampling<'a> {
    pub params: SamplingParams<'a>,
    pub typical_p: Option<f64>,
    pub presence_penalty: Option<f64>,
    pub frequency_penalty: Option<f64>,
    pub min_tokens: Option<u32>,
    pub ignore_eos: Option<bool>,
    pub stop_token_ids: &'a [u32],
    pub logit_bias: &'a [(u32, f64)],
    pub bad_words: &'a [&'a str],
    pub n: Option<u32>,
    pub logprobs: Option<u32>,
    pub prompt_logprobs: Option<u32>,
    pub reproducible: Option<bool>,
    /// A JSON object with further parameters.
    pub more: Option<&'a str>,
}

/// Absent members and empty lists have the deployment's defaults.
#[derive(Default)]
pub struct CompletionRequest<'a> {
    pub turns: &'a [Turn<'a>],
    pub sampling: Sampling<'a>,
    pub tools: &'a [Tool<'a>],
    pub tool_choice: Option<ToolChoice<'a>>,
    pub parallel_tool_calls: Option<bool>,
    pub form: Option<AnswerForm<'a>>,
    pub close_json: Option<bool>,
    pub assistant_prefix: Option<&'a str>,
    pub adapter: Option<&'a str>,
    pub overflow: Option<Overflow>,
    pub reasoning_format: Option<ReasoningFormat>,
    /// A JSON object with arguments of the model's chat template.
    pub template_arguments: Option<&'a str>,
    /// A JSON object with further parameters.
    pub more: Option<&'a str>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
#[rustfmt::skip]
pub enum FinishReason { Stop, Length, ToolCalls, ContentFilter }

#[derive(Clone, Copy, Debug)]
pub struct Usage {
    pub prompt_tokens: u32,
    pub cached_tokens: u32,
    pub completion_tokens: u32,
    pub reasoning_tokens: Option<u32>,
}

/// Milliseconds in the engine.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Timings {
    pub queue_ms: f64,
    pub prompt_ms: f64,
    pub completion_ms: f64,
}

/// What the context had no room for.
#[derive(Clone, Copy, Debug)]
pub struct Dropped {
    pub tokens: u32,
    pub messages: Option<u32>,
}

/// How all answers to a dialog were generated.
#[derive(Debug)]
pub struct CompletionOutcome {
    pub usage: Option<Usage>,
    pub timings: Option<Timings>,
    pub dropped: Option<Dropped>,
    /// JSON.
    pub prompt_scores: Option<String>,
}

/// How one answer ended.
#[derive(Debug)]
pub struct Ending {
    pub finish_reason: Option<FinishReason>,
    /// The stop text that ended the answer.
    pub stop_reason: Option<String>,
    pub usage: Option<Usage>,
}

/// A token of an answer, with the likeliest tokens at its place.
#[derive(Debug)]
pub struct AnswerToken {
    pub token: TokenScore,
    pub likeliest: Vec<TokenScore>,
}

#[derive(Debug)]
pub struct Choice {
    pub content: String,
    pub reasoning: Option<String>,
    pub tool_calls: Vec<ToolCall>,
    pub logprobs: Vec<AnswerToken>,
    pub ending: Ending,
}

#[derive(Debug)]
pub struct Completion {
    /// At least one.
    pub choices: Vec<Choice>,
    pub outcome: CompletionOutcome,
}

#[derive(Debug)]
pub struct ToolCallPiece {
    /// The place of the call among the calls of the answer.
    pub index: u32,
    pub id: Option<String>,
    pub name: Option<String>,
    pub arguments: String,
}

#[derive(Debug)]
pub struct Piece {
    /// The number of the answer.
    pub choice: u32,
    pub text: String,
    pub reasoning: String,
    pub tool_calls: Vec<ToolCallPiece>,
    pub logprobs: Vec<AnswerToken>,
    /// JSON.
    pub prompt_scores: Option<String>,
}

#[derive(Debug)]
pub struct CompletionEnd {
    /// One for each answer.
    pub endings: Vec<Ending>,
    pub outcome: CompletionOutcome,
}

/// Answers a dialog with all that the deployment can do.
pub fn complete(deployment: &str, request: &CompletionRequest, images: &[&Image]) -> Result<Completion, Error> {
    with_completion_request(deployment, request, images, |raw_request| unsafe {
        let RawCompletion { choices, outcome } = returned::<Outcome<RawCompletion>>(|at| raw::complete(raw_request, at)).take()?;
        Ok(Completion { choices: choices.list::<RawChoice>().into_iter().map(|each| each.value()).collect(), outcome: outcome.value() })
    })
}

/// Answers a dialog as `complete` does, piece by piece.
pub fn complete_stream(deployment: &str, request: &CompletionRequest, images: &[&Image]) -> Result<CompletionStream, Error> {
    let open = |raw_request: &RawCompletionRequest| unsafe { returned::<Outcome<u32>>(|at| raw::complete_stream(raw_request, at)).take() };
    with_completion_request(deployment, request, images, open).map(CompletionStream)
}

impl CompletionStream {
    /// Returns the pieces since the last call, at least one. Empty when all answers have ended.
    pub fn next(&self) -> Result<Vec<Piece>, Error> {
        unsafe {
            let some = returned::<Outcome<Slice>>(|at| raw::completion_stream_next(self.0, at)).take()?;
            Ok(some.list::<RawPiece>().into_iter().map(|each| each.value()).collect())
        }
    }

    /// Returns how the answers ended. Fails before the stream has ended.
    pub fn end(&self) -> Result<CompletionEnd, Error> {
        unsafe {
            let RawCompletion { choices, outcome } = returned::<Outcome<RawCompletion>>(|at| raw::completion_stream_end(self.0, at)).take()?;
            Ok(CompletionEnd { endings: choices.list::<RawEnding>().into_iter().map(|each| each.value()).collect(), outcome: outcome.value() })
        }
    }

    /// Sends all remaining pieces to the client, each as a value of the deployment's `chat_stream`.
    pub fn forward(&self) -> Result<(), Error> {
        unsafe { returned::<Outcome<u8>>(|at| raw::completion_stream_forward(self.0, at)).take() }.map(|_| ())
    }
}

// --- settings ---

/// Returns the value of a setting of plugin.json, as JSON. None when it has none.
pub fn setting(name: &str) -> Result<Option<String>, Error> {
    let outcome = unsafe { returned::<Outcome<Maybe<Slice>>>(|at| raw::setting(name.as_ptr(), name.len(), at)) };
    unsafe { Ok(maybe_text(outcome.take()?)) }
}

// --- cryptography ---

/// Performs a method of SubtleCrypto, such as `digest`. `args` is a JSON object, `data` base64.
pub fn crypto(method: &str, args: &str, data: &str) -> Result<String, Error> {
    let call = |at: *mut Outcome<Slice>| unsafe {
        raw::crypto(method.as_ptr(), method.len(), args.as_ptr(), args.len(), data.as_ptr(), data.len(), at)
    };
    unsafe { Ok(returned::<Outcome<Slice>>(call).take()?.string()) }
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

/// Returns the value of a key, which is text.
pub fn storage_get_text(key: &str) -> Result<Option<String>, Error> {
    unsafe { Ok(maybe_text(returned::<Outcome<Maybe<Slice>>>(|at| raw::storage_get_text(key.as_ptr(), key.len(), at)).take()?)) }
}

/// Sets the value of a key to a text. It expires after `expires_in_ms` milliseconds, if they are given.
pub fn storage_set_text(key: &str, value: &str, expires_in_ms: Option<f64>) -> Result<(), Error> {
    let (has_expiry, expiry) = optional_number(expires_in_ms);
    unsafe { returned::<Outcome<u8>>(|at| raw::storage_set_text(key.as_ptr(), key.len(), value.as_ptr(), value.len(), has_expiry, expiry, at)).take() }.map(|_| ())
}

/// Sets the value of a key, which expires after `expires_in_ms` milliseconds.
pub fn storage_set_expiring(key: &str, value: &[u8], expires_in_ms: f64) -> Result<(), Error> {
    unsafe { returned::<Outcome<u8>>(|at| raw::storage_set_expiring(key.as_ptr(), key.len(), value.as_ptr(), value.len(), expires_in_ms, at)).take() }.map(|_| ())
}

/// Adds to a stored number and returns the sum. A missing key counts as 0, and gets the expiry.
pub fn storage_increment(key: &str, by: f64, expires_in_ms: Option<f64>) -> Result<f64, Error> {
    let (has_expiry, expiry) = optional_number(expires_in_ms);
    unsafe { returned::<Outcome<f64>>(|at| raw::storage_increment(key.as_ptr(), key.len(), by, has_expiry, expiry, at)).take() }
}

/// Sets the value of a key, or removes it (`None`), if its bytes are `expected` (`None`: if it is missing). Returns
/// whether they were.
pub fn storage_compare_and_set(key: &str, expected: Option<&[u8]>, value: Option<&[u8]>, expires_in_ms: Option<f64>) -> Result<bool, Error> {
    let (has_expiry, expiry) = optional_number(expires_in_ms);
    let (old, new) = (expected.unwrap_or_default(), value.unwrap_or_default());
    unsafe {
        returned::<Outcome<u8>>(|at| {
            raw::storage_compare_and_set(
                key.as_ptr(), key.len(), expected.is_some() as u32, old.as_ptr(), old.len(), value.is_some() as u32, new.as_ptr(), new.len(), has_expiry, expiry, at,
            )
        })
        .take()
    }
    .map(|was_expected| was_expected != 0)
}

/// Returns the value of a key in base64.
pub fn storage_get_base64(key: &str) -> Result<Option<String>, Error> {
    let call = |at: *mut Outcome<Maybe<Slice>>| unsafe { raw::storage_get_base64(key.as_ptr(), key.len(), at) };
    unsafe { Ok(maybe_text(returned(call).take()?)) }
}

/// Sets the value of a key to bytes in base64, as `storage_set_text` does.
pub fn storage_set_base64(key: &str, value: &str, expires_in_ms: Option<f64>) -> Result<(), Error> {
    let (has_expiry, expiry) = optional_number(expires_in_ms);
    let call = |at: *mut Outcome<u8>| unsafe {
        raw::storage_set_base64(key.as_ptr(), key.len(), value.as_ptr(), value.len(), has_expiry, expiry, at)
    };
    unsafe { returned(call).take() }.map(|_| ())
}

/// Does the same as `storage_compare_and_set` with bytes in base64.
pub fn storage_compare_and_set_base64(
    key: &str, expected: Option<&str>, value: Option<&str>, expires_in_ms: Option<f64>,
) -> Result<bool, Error> {
    let (has_expiry, expiry) = optional_number(expires_in_ms);
    let ((has_old, old), (has_new, new)) = (optional(expected), optional(value));
    let call = |at: *mut Outcome<u8>| unsafe {
        raw::storage_compare_and_set_base64(
            key.as_ptr(), key.len(), has_old, old.as_ptr(), old.len(), has_new, new.as_ptr(), new.len(), has_expiry,
            expiry, at,
        )
    };
    unsafe { returned(call).take() }.map(|was_expected| was_expected != 0)
}

/// A key with facts about its value.
#[derive(Debug)]
pub struct Entry {
    pub key: String,
    /// Bytes of the value.
    pub size: u32,
    /// Milliseconds until the value expires.
    pub expires_in_ms: Option<f64>,
    /// The value, if it was asked for and is UTF-8.
    pub text: Option<String>,
}

/// Returns the entries of the keys that `storage_list` returns. With texts, those of at most 1 MiB, and at least one.
/// Empty when there are no more.
pub fn storage_list_entries(prefix: &str, after: Option<&str>, limit: u32, with_text: bool) -> Result<Vec<Entry>, Error> {
    let (has_after, after) = optional(after);
    unsafe {
        let some = returned::<Outcome<Slice>>(|at| {
            raw::storage_list_entries(prefix.as_ptr(), prefix.len(), has_after, after.as_ptr(), after.len(), limit, with_text as u32, at)
        });
        Ok(some.take()?.list::<RawEntry>().into_iter().map(|each| each.value()).collect())
    }
}

fn optional_number(number: Option<f64>) -> (u32, f64) {
    (number.is_some() as u32, number.unwrap_or_default())
}

// --- texts with vectors that the plugin keeps ---

#[derive(Debug)]
pub struct Collection {
    pub name: String,
    /// What makes the vectors.
    pub model: String,
    pub dimensions: u32,
    pub chunks: u32,
    /// Bytes of its texts, metadata and vectors: a whole number.
    pub bytes: f64,
}

/// A text of a collection.
#[derive(Debug)]
pub struct Chunk {
    pub id: String,
    /// The document of which it is a part.
    pub document: Option<String>,
    pub text: String,
    /// A JSON object.
    pub metadata: String,
}

#[derive(Debug)]
pub struct FoundChunk {
    pub chunk: Chunk,
    pub score: f64,
}

/// A question: a vector in base64 with its model, a text, or both.
#[derive(Clone, Copy, Default)]
pub struct VectorQuery<'a> {
    /// 32-bit floating-point numbers, little endian.
    pub vector: Option<&'a str>,
    pub model: Option<&'a str>,
    pub text: Option<&'a str>,
    /// JSON.
    pub filter: Option<&'a str>,
    /// From 1 to 100.
    pub limit: u32,
}

/// Makes a collection unless it exists.
pub fn vectors_ensure(name: &str, model: &str, dimensions: u32) -> Result<(), Error> {
    let call = |at: *mut Outcome<u8>| unsafe {
        raw::vectors_ensure(name.as_ptr(), name.len(), model.as_ptr(), model.len(), dimensions, at)
    };
    unsafe { returned(call).take() }.map(|_| ())
}

/// Returns the collections whose names come after `after`, in the order of their bytes.
pub fn vectors_list_collections(after: Option<&str>, limit: u32) -> Result<Vec<Collection>, Error> {
    let (has_after, after) = optional(after);
    let call = |at: *mut Outcome<Slice>| unsafe {
        raw::vectors_list_collections(has_after, after.as_ptr(), after.len(), limit, at)
    };
    unsafe { Ok(returned(call).take()?.list::<RawCollection>().into_iter().map(|each| each.value()).collect()) }
}

/// Removes a collection with all of its chunks. Returns whether it existed.
pub fn vectors_delete_collection(name: &str) -> Result<bool, Error> {
    let call = |at: *mut Outcome<u8>| unsafe { raw::vectors_delete_collection(name.as_ptr(), name.len(), at) };
    unsafe { returned(call).take() }.map(|was_there| was_there != 0)
}

/// Adds chunks, or replaces those with the same ids. `vectors` are those of all chunks, as 32-bit floating-point
/// numbers, little endian, in base64.
pub fn vectors_upsert(name: &str, model: &str, chunks: &[Chunk], vectors: &str) -> Result<(), Error> {
    let chunks: Vec<RawChunk> = chunks.iter().map(RawChunk::lent).collect();
    let call = |at: *mut Outcome<u8>| unsafe {
        raw::vectors_upsert(
            name.as_ptr(), name.len(), model.as_ptr(), model.len(), chunks.as_ptr(), chunks.len(), vectors.as_ptr(),
            vectors.len(), at,
        )
    };
    unsafe { returned(call).take() }.map(|_| ())
}

/// Removes chunks by their ids. Returns how many there were.
pub fn vectors_delete_chunks(name: &str, ids: &[&str]) -> Result<u32, Error> {
    let ids: Vec<Slice> = ids.iter().map(|id| Slice::lent(id)).collect();
    let call = |at: *mut Outcome<u32>| unsafe {
        raw::vectors_delete_chunks(name.as_ptr(), name.len(), 0, ids.as_ptr() as *const u8, ids.len(), at)
    };
    unsafe { returned(call).take() }
}

/// Removes all chunks of a document. Returns how many there were.
pub fn vectors_delete_document(name: &str, document: &str) -> Result<u32, Error> {
    let call = |at: *mut Outcome<u32>| unsafe {
        raw::vectors_delete_chunks(name.as_ptr(), name.len(), 1, document.as_ptr(), document.len(), at)
    };
    unsafe { returned(call).take() }
}

/// Returns the chunks whose ids come after `after`, in the order of their bytes, or those of a document. Empty when
/// there are no more.
pub fn vectors_list_chunks(
    name: &str, document: Option<&str>, after: Option<&str>, limit: u32,
) -> Result<Vec<Chunk>, Error> {
    let ((has_document, document), (has_after, after)) = (optional(document), optional(after));
    let call = |at: *mut Outcome<Slice>| unsafe {
        raw::vectors_list_chunks(
            name.as_ptr(), name.len(), has_document, document.as_ptr(), document.len(), has_after, after.as_ptr(),
            after.len(), limit, at,
        )
    };
    unsafe { Ok(returned(call).take()?.list::<RawChunk>().into_iter().map(|each| each.value()).collect()) }
}

/// Returns the chunks that fit best, the best first.
pub fn vectors_search(name: &str, query: &VectorQuery) -> Result<Vec<FoundChunk>, Error> {
    let VectorQuery { vector, model, text, filter, limit } = *query;
    let ((has_vector, vector), (has_model, model)) = (optional(vector), optional(model));
    let ((has_text, text), (has_filter, filter)) = (optional(text), optional(filter));
    let call = |at: *mut Outcome<Slice>| unsafe {
        raw::vectors_search(
            name.as_ptr(), name.len(), has_vector, vector.as_ptr(), vector.len(), has_model, model.as_ptr(),
            model.len(), has_text, text.as_ptr(), text.len(), has_filter, filter.as_ptr(), filter.len(), limit, at,
        )
    };
    unsafe {
        let found = returned(call).take()?.list::<RawFoundChunk>();
        Ok(found.into_iter().map(|each| FoundChunk { chunk: each.chunk.value(), score: each.score }).collect())
    }
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

/// The body of a request, at most 8,388,608 bytes.
pub enum Body<'a> {
    Text(&'a str),
    Base64(&'a str),
}

/// What an answer is, without its body.
#[derive(Debug)]
pub struct ResponseHead {
    pub status: u16,
    pub status_text: String,
    /// The URL of the answer, after redirects.
    pub url: String,
    /// Whether a redirect was followed.
    pub redirected: bool,
    /// Names in lower case. A name can occur several times.
    pub headers: Vec<(String, String)>,
}

impl Exchange {
    /// Sends a request with any method, and waits for the head of the answer, with any status.
    pub fn send(method: &str, url: &str, headers: &[(&str, &str)], follow_redirects: bool, body: Option<Body>) -> Result<Exchange, Error> {
        let headers: Vec<[Slice; 2]> = headers.iter().map(|(name, value)| [Slice::lent(name), Slice::lent(value)]).collect();
        let has_body = body.is_some() as u32;
        let (kind, body) = match body {
            Some(Body::Base64(base64)) => (1, base64),
            Some(Body::Text(text)) => (0, text),
            None => (0, ""),
        };
        #[rustfmt::skip]
        let sent: Outcome<u32> = unsafe {
            returned(|at| {
                raw::exchange_send(
                    method.as_ptr(), method.len(), url.as_ptr(), url.len(), headers.as_ptr(), headers.len(), follow_redirects as u32,
                    has_body, kind, body.as_ptr(), body.len(), at,
                )
            })
        };
        unsafe { sent.take() }.map(Exchange)
    }

    pub fn head(&self) -> ResponseHead {
        unsafe {
            let RawResponseHead { status, status_text, url, redirected, headers } = returned(|at| raw::exchange_head(self.0, at));
            let headers = headers.list::<[Slice; 2]>().into_iter().map(|[name, value]| (name.string(), value.string())).collect();
            ResponseHead { status, status_text: status_text.string(), url: url.string(), redirected: redirected != 0, headers }
        }
    }

    /// Returns the next bytes of the answer in base64: when there are `least` of them (1 to 8,388,608), or those before
    /// its end. Empty at the end.
    pub fn read(&self, least: u32) -> Result<String, Error> {
        unsafe { Ok(returned::<Outcome<Slice>>(|at| raw::exchange_read(self.0, least, at)).take()?.string()) }
    }

    /// Returns the same bytes read as UTF-8.
    pub fn read_text(&self, least: u32) -> Result<String, Error> {
        unsafe { Ok(returned::<Outcome<Slice>>(|at| raw::exchange_read_text(self.0, least, at)).take()?.string()) }
    }
}

// --- helpers ---

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

/// Returns a list that is lent to the host during a call.
fn lent<T>(items: &[T]) -> Slice {
    Slice { start: items.as_ptr() as *mut u8, length: items.len() }
}

fn lent_text(text: Option<&str>) -> Maybe<Slice> {
    Maybe::of(text.map(Slice::lent))
}

unsafe fn maybe_text(text: Maybe<Slice>) -> Option<String> {
    text.value().map(|each| each.string())
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RawEntry {
    key: Slice,
    size: u32,
    expires_in_ms: Maybe<f64>,
    text: Maybe<Slice>,
}

impl RawEntry {
    unsafe fn value(self) -> Entry {
        Entry { key: self.key.string(), size: self.size, expires_in_ms: self.expires_in_ms.value(), text: maybe_text(self.text) }
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RawLine {
    text: Slice,
    confidence: f64,
    text_box: TextBox,
    angle: f64,
}

impl RawLine {
    unsafe fn value(self) -> Line {
        let RawLine { text, confidence, text_box, angle } = self;
        Line { text: text.string(), confidence, text_box, angle }
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RawCollection {
    name: Slice,
    model: Slice,
    dimensions: u32,
    chunks: u32,
    bytes: f64,
}

impl RawCollection {
    unsafe fn value(self) -> Collection {
        let RawCollection { name, model, dimensions, chunks, bytes } = self;
        Collection { name: name.string(), model: model.string(), dimensions, chunks, bytes }
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RawChunk {
    id: Slice,
    document: Maybe<Slice>,
    text: Slice,
    metadata: Slice,
}

impl RawChunk {
    /// Borrows from the chunk during a call.
    fn lent(Chunk { id, document, text, metadata }: &Chunk) -> RawChunk {
        let [id, text, metadata] = [id, text, metadata].map(|each| Slice::lent(each));
        RawChunk { id, document: lent_text(document.as_deref()), text, metadata }
    }
    unsafe fn value(self) -> Chunk {
        let RawChunk { id, document, text, metadata } = self;
        Chunk { id: id.string(), document: maybe_text(document), text: text.string(), metadata: metadata.string() }
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RawFoundChunk {
    chunk: RawChunk,
    score: f64,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RawTokenScore {
    token: Slice,
    id: u32,
    logprob: f64,
    bytes: Slice,
}

unsafe fn token_scores(list: Slice) -> Vec<TokenScore> {
    list.list::<RawTokenScore>().into_iter().map(|each| each.value()).collect()
}

impl RawTokenScore {
    unsafe fn value(self) -> TokenScore {
        TokenScore { token: self.token.string(), id: self.id, logprob: self.logprob, bytes: self.bytes.bytes() }
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

impl RawAsrParams {
    /// Must not outlive the values that it is made of.
    fn new(params: &AsrParams) -> RawAsrParams {
        RawAsrParams {
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
        }
    }
}

impl RawAsrRequest {
    /// Must not outlive the values that it is made of.
    fn new(deployment: &str, audio: &Audio, params: &AsrParams) -> RawAsrRequest {
        RawAsrRequest { deployment: Slice::lent(deployment), audio: audio.0, params: RawAsrParams::new(params) }
    }
}

/// The parameters of both functions, in memory because they are too many to be passed as arguments.
#[repr(C)]
struct RawTranscribeRequest {
    deployment: Slice,
    audio: u32,
    params: RawAsrParams,
    prefix: Maybe<Slice>,
    hotwords: Maybe<Slice>,
    condition_on_previous_text: Maybe<bool>,
    prompt_reset_on_temperature: Maybe<f64>,
    patience: Maybe<f64>,
    compression_ratio_threshold: Maybe<f64>,
    repetition_penalty: Maybe<f64>,
    no_repeat_ngram_size: Maybe<u32>,
    suppress_blank: Maybe<bool>,
    suppress_tokens: Maybe<Slice>,
    max_new_tokens: Maybe<u32>,
    chunk_length: Maybe<f64>,
    clip_timestamps: Slice,
    hallucination_silence_threshold: Maybe<f64>,
    language_detection_threshold: Maybe<f64>,
    language_detection_segments: Maybe<u32>,
    all_language_probs: Maybe<bool>,
    logprobs: Maybe<bool>,
    more: Maybe<Slice>,
}

impl RawTranscribeRequest {
    /// Must not outlive the values that it is made of.
    fn new(deployment: &str, audio: &Audio, options: &TranscribeOptions) -> RawTranscribeRequest {
        RawTranscribeRequest {
            deployment: Slice::lent(deployment),
            audio: audio.0,
            params: RawAsrParams::new(&options.params),
            prefix: lent_text(options.prefix),
            hotwords: lent_text(options.hotwords),
            condition_on_previous_text: Maybe::of(options.condition_on_previous_text),
            prompt_reset_on_temperature: Maybe::of(options.prompt_reset_on_temperature),
            patience: Maybe::of(options.patience),
            compression_ratio_threshold: Maybe::of(options.compression_ratio_threshold),
            repetition_penalty: Maybe::of(options.repetition_penalty),
            no_repeat_ngram_size: Maybe::of(options.no_repeat_ngram_size),
            suppress_blank: Maybe::of(options.suppress_blank),
            suppress_tokens: Maybe::of(options.suppress_tokens.map(lent)),
            max_new_tokens: Maybe::of(options.max_new_tokens),
            chunk_length: Maybe::of(options.chunk_length),
            clip_timestamps: lent(options.clip_timestamps),
            hallucination_silence_threshold: Maybe::of(options.hallucination_silence_threshold),
            language_detection_threshold: Maybe::of(options.language_detection_threshold),
            language_detection_segments: Maybe::of(options.language_detection_segments),
            all_language_probs: Maybe::of(options.all_language_probs),
            logprobs: Maybe::of(options.logprobs),
            more: lent_text(options.more),
        }
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RawLanguageProbability {
    language: Slice,
    probability: f64,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RawDetailedSegment {
    segment: RawSegment,
    tokens: Slice,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RawDetailedTranscription {
    text: Slice,
    info: RawTranscriptionInfo,
    all_language_probs: Slice,
    segments: Slice,
}

impl RawDetailedTranscription {
    unsafe fn value(self) -> DetailedTranscription {
        let probability = |each: RawLanguageProbability| LanguageProbability { language: each.language.string(), probability: each.probability };
        let segment = |each: RawDetailedSegment| DetailedSegment { segment: each.segment.value(), tokens: token_scores(each.tokens) };
        DetailedTranscription {
            text: self.text.string(),
            language: self.info.language.string(),
            language_confidence: self.info.language_confidence,
            all_language_probs: self.all_language_probs.list().into_iter().map(probability).collect(),
            segments: self.segments.list().into_iter().map(segment).collect(),
        }
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
struct RawToolCall {
    id: Slice,
    name: Slice,
    arguments: Slice,
}

impl RawToolCall {
    fn new(call: &ToolCall) -> RawToolCall {
        RawToolCall { id: Slice::lent(&call.id), name: Slice::lent(&call.name), arguments: Slice::lent(&call.arguments) }
    }
    unsafe fn value(self) -> ToolCall {
        ToolCall { id: self.id.string(), name: self.name.string(), arguments: self.arguments.string() }
    }
}

/// A case with a text, a list or a number. The memory of a case without a value stays unread.
#[derive(Clone, Copy)]
#[repr(C)]
struct RawCase {
    case: u8,
    value: RawCaseValue,
}

#[derive(Clone, Copy)]
#[repr(C)]
union RawCaseValue {
    slice: Slice,
    number: u32,
}

impl RawCase {
    fn text(case: u8, text: &str) -> RawCase {
        RawCase { case, value: RawCaseValue { slice: Slice::lent(text) } }
    }
}

#[repr(C)]
struct RawTurn {
    author: Author,
    content: Slice,
    name: Maybe<Slice>,
    reasoning: Maybe<Slice>,
    tool_calls: Slice,
    tool_call_id: Maybe<Slice>,
}

#[repr(C)]
struct RawTool {
    name: Slice,
    description: Maybe<Slice>,
    parameters: Maybe<Slice>,
    strict: Maybe<bool>,
}

#[repr(C)]
struct RawBias {
    token: u32,
    bias: f64,
}

#[repr(C)]
struct RawSamplingParams {
    temperature: Maybe<f64>,
    top_p: Maybe<f64>,
    top_k: Maybe<i32>,
    min_p: Maybe<f64>,
    max_tokens: Maybe<u32>,
    repetition_penalty: Maybe<f64>,
    seed: Maybe<f64>,
    stop: Slice,
}

#[repr(C)]
struct RawSampling {
    params: RawSamplingParams,
    typical_p: Maybe<f64>,
    presence_penalty: Maybe<f64>,
    frequency_penalty: Maybe<f64>,
    min_tokens: Maybe<u32>,
    ignore_eos: Maybe<bool>,
    stop_token_ids: Slice,
    logit_bias: Slice,
    bad_words: Slice,
    n: Maybe<u32>,
    logprobs: Maybe<u32>,
    prompt_logprobs: Maybe<u32>,
    reproducible: Maybe<bool>,
    more: Maybe<Slice>,
}

/// The parameters of both functions, in memory because they are too many to be passed as arguments.
#[repr(C)]
struct RawCompletionRequest {
    deployment: Slice,
    request: RawCompletionArguments,
    images: Slice,
}

#[repr(C)]
struct RawCompletionArguments {
    turns: Slice,
    sampling: RawSampling,
    tools: Slice,
    tool_choice: Maybe<RawCase>,
    parallel_tool_calls: Maybe<bool>,
    form: Maybe<RawCase>,
    close_json: Maybe<bool>,
    assistant_prefix: Maybe<Slice>,
    adapter: Maybe<Slice>,
    overflow: Maybe<u8>,
    reasoning_format: Maybe<u8>,
    template_arguments: Maybe<Slice>,
    more: Maybe<Slice>,
}

fn with_completion_request<T>(
    deployment: &str,
    request: &CompletionRequest,
    images: &[&Image],
    call: impl FnOnce(&RawCompletionRequest) -> T,
) -> T {
    let slices = |texts: &[&str]| texts.iter().map(|each| Slice::lent(each)).collect::<Vec<_>>();
    let parts: Vec<Vec<RawCase>> = request.turns.iter().map(|turn| turn.content.iter().map(raw_part).collect()).collect();
    let calls: Vec<Vec<RawToolCall>> = request.turns.iter().map(|turn| turn.tool_calls.iter().map(RawToolCall::new).collect()).collect();
    let turn = |(turn, (content, tool_calls)): (&Turn, (&Vec<RawCase>, &Vec<RawToolCall>))| RawTurn {
        author: turn.author,
        content: lent(content),
        name: lent_text(turn.name),
        reasoning: lent_text(turn.reasoning),
        tool_calls: lent(tool_calls),
        tool_call_id: lent_text(turn.tool_call_id),
    };
    let turns: Vec<RawTurn> = request.turns.iter().zip(parts.iter().zip(&calls)).map(turn).collect();
    let tool = |tool: &Tool| RawTool {
        name: Slice::lent(tool.name),
        description: lent_text(tool.description),
        parameters: lent_text(tool.parameters),
        strict: Maybe::of(tool.strict),
    };
    let tools: Vec<RawTool> = request.tools.iter().map(tool).collect();
    let images: Vec<u32> = images.iter().map(|each| each.0).collect();
    let sampling = &request.sampling;
    let params = &sampling.params;
    let stop = slices(params.stop);
    let bad_words = slices(sampling.bad_words);
    let biases: Vec<RawBias> = sampling.logit_bias.iter().map(|&(token, bias)| RawBias { token, bias }).collect();
    let choices = match request.form {
        Some(AnswerForm::Choice(texts)) => slices(texts),
        _ => Vec::new(),
    };
    let form = |form| match form {
        AnswerForm::Text => RawCase::text(0, ""),
        AnswerForm::JsonObject => RawCase::text(1, ""),
        AnswerForm::JsonSchema(schema) => RawCase::text(2, schema),
        AnswerForm::Regex(regex) => RawCase::text(3, regex),
        AnswerForm::Choice(_) => RawCase { case: 4, value: RawCaseValue { slice: lent(&choices) } },
        AnswerForm::Grammar(grammar) => RawCase::text(5, grammar),
    };
    let tool_choice = |choice| match choice {
        ToolChoice::Auto => RawCase::text(0, ""),
        ToolChoice::None => RawCase::text(1, ""),
        ToolChoice::Required => RawCase::text(2, ""),
        ToolChoice::Named(name) => RawCase::text(3, name),
    };
    call(&RawCompletionRequest {
        deployment: Slice::lent(deployment),
        request: RawCompletionArguments {
            turns: lent(&turns),
            sampling: RawSampling {
                params: RawSamplingParams {
                    temperature: Maybe::of(params.temperature),
                    top_p: Maybe::of(params.top_p),
                    top_k: Maybe::of(params.top_k),
                    min_p: Maybe::of(params.min_p),
                    max_tokens: Maybe::of(params.max_tokens),
                    repetition_penalty: Maybe::of(params.repetition_penalty),
                    seed: Maybe::of(params.seed),
                    stop: lent(&stop),
                },
                typical_p: Maybe::of(sampling.typical_p),
                presence_penalty: Maybe::of(sampling.presence_penalty),
                frequency_penalty: Maybe::of(sampling.frequency_penalty),
                min_tokens: Maybe::of(sampling.min_tokens),
                ignore_eos: Maybe::of(sampling.ignore_eos),
                stop_token_ids: lent(sampling.stop_token_ids),
                logit_bias: lent(&biases),
                bad_words: lent(&bad_words),
                n: Maybe::of(sampling.n),
                logprobs: Maybe::of(sampling.logprobs),
                prompt_logprobs: Maybe::of(sampling.prompt_logprobs),
                reproducible: Maybe::of(sampling.reproducible),
                more: lent_text(sampling.more),
            },
            tools: lent(&tools),
            tool_choice: Maybe::of(request.tool_choice.map(tool_choice)),
            parallel_tool_calls: Maybe::of(request.parallel_tool_calls),
            form: Maybe::of(request.form.map(form)),
            close_json: Maybe::of(request.close_json),
            assistant_prefix: lent_text(request.assistant_prefix),
            adapter: lent_text(request.adapter),
            overflow: Maybe::of(request.overflow.map(|each| each as u8)),
            reasoning_format: Maybe::of(request.reasoning_format.map(|each| each as u8)),
            template_arguments: lent_text(request.template_arguments),
            more: lent_text(request.more),
        },
        images: lent(&images),
    })
}

fn raw_part(part: &ContentPart) -> RawCase {
    match *part {
        ContentPart::Text(text) => RawCase::text(0, text),
        ContentPart::Image(number) => RawCase { case: 1, value: RawCaseValue { number } },
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RawUsage {
    prompt_tokens: u32,
    cached_tokens: u32,
    completion_tokens: u32,
    reasoning_tokens: Maybe<u32>,
}

impl RawUsage {
    unsafe fn value(self) -> Usage {
        let RawUsage { prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens } = self;
        Usage { prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens: reasoning_tokens.value() }
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RawDropped {
    tokens: u32,
    messages: Maybe<u32>,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RawOutcome {
    usage: Maybe<RawUsage>,
    timings: Maybe<Timings>,
    dropped: Maybe<RawDropped>,
    prompt_scores: Maybe<Slice>,
}

impl RawOutcome {
    unsafe fn value(self) -> CompletionOutcome {
        CompletionOutcome {
            usage: self.usage.value().map(|each| each.value()),
            timings: self.timings.value(),
            dropped: self.dropped.value().map(|each| Dropped { tokens: each.tokens, messages: each.messages.value() }),
            prompt_scores: maybe_text(self.prompt_scores),
        }
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RawEnding {
    finish_reason: Maybe<FinishReason>,
    stop_reason: Maybe<Slice>,
    usage: Maybe<RawUsage>,
}

impl RawEnding {
    unsafe fn value(self) -> Ending {
        let usage = self.usage.value().map(|each| each.value());
        Ending { finish_reason: self.finish_reason.value(), stop_reason: maybe_text(self.stop_reason), usage }
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RawAnswerToken {
    token: RawTokenScore,
    likeliest: Slice,
}

unsafe fn answer_tokens(list: Slice) -> Vec<AnswerToken> {
    let token = |each: RawAnswerToken| AnswerToken { token: each.token.value(), likeliest: token_scores(each.likeliest) };
    list.list().into_iter().map(token).collect()
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RawChoice {
    content: Slice,
    reasoning: Maybe<Slice>,
    tool_calls: Slice,
    logprobs: Slice,
    ending: RawEnding,
}

impl RawChoice {
    unsafe fn value(self) -> Choice {
        Choice {
            content: self.content.string(),
            reasoning: maybe_text(self.reasoning),
            tool_calls: self.tool_calls.list::<RawToolCall>().into_iter().map(|each| each.value()).collect(),
            logprobs: answer_tokens(self.logprobs),
            ending: self.ending.value(),
        }
    }
}

/// A whole answer, or the end of a stream, whose list has endings in place of choices.
#[derive(Clone, Copy)]
#[repr(C)]
struct RawCompletion {
    choices: Slice,
    outcome: RawOutcome,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RawToolCallPiece {
    index: u32,
    id: Maybe<Slice>,
    name: Maybe<Slice>,
    arguments: Slice,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RawPiece {
    choice: u32,
    text: Slice,
    reasoning: Slice,
    tool_calls: Slice,
    logprobs: Slice,
    prompt_scores: Maybe<Slice>,
}

impl RawPiece {
    unsafe fn value(self) -> Piece {
        let call = |each: RawToolCallPiece| ToolCallPiece {
            index: each.index,
            id: maybe_text(each.id),
            name: maybe_text(each.name),
            arguments: each.arguments.string(),
        };
        Piece {
            choice: self.choice,
            text: self.text.string(),
            reasoning: self.reasoning.string(),
            tool_calls: self.tool_calls.list().into_iter().map(call).collect(),
            logprobs: answer_tokens(self.logprobs),
            prompt_scores: maybe_text(self.prompt_scores),
        }
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RawFileInfo {
    name: Maybe<Slice>,
    media_type: Maybe<Slice>,
    size: f64,
}

impl RawFileInfo {
    unsafe fn parts(self) -> (Option<String>, Option<String>, u64) {
        (maybe_text(self.name), maybe_text(self.media_type), self.size as u64)
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct RawTextPiece {
    text: Slice,
    length: u32,
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

#[derive(Clone, Copy)]
#[repr(C)]
struct RawResponseHead {
    status: u16,
    status_text: Slice,
    url: Slice,
    redirected: u8,
    headers: Slice,
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
    use super::{RawCompletion, RawResponseHead, RawCompletionRequest, RawDetailedTranscription, RawTranscribeRequest};
    use super::{Maybe, Outcome, RawAsrRequest, RawCaptionRecord, RawChatRequest, RawImageInfo, RawMessage, RawNewCaption, RawResponse};
    use super::{RawChunk, RawTranscriptRecord, RawTranscription, RawFileInfo, RawTextPiece, RawVideoInfo, RawVideoRecord, Slice, TokenCount};

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
    #[link(wasm_import_module = "aana:host/crypto@0.1.0")]
    extern "C" {
        #[link_name = "perform"] pub(super) fn crypto(
            method: *const u8, method_length: usize, args: *const u8, args_length: usize,
            data: *const u8, data_length: usize, at: *mut Outcome<Slice>,
        );
    }
    #[link(wasm_import_module = "aana:host/settings@0.1.0")]
    extern "C" {
        #[link_name = "get"] pub(super) fn setting(name: *const u8, name_length: usize, at: *mut Outcome<Maybe<Slice>>);
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
    #[link(wasm_import_module = "aana:host/concurrency@0.1.0")]
    extern "C" {
        #[link_name = "start-next"] pub(super) fn start_next();
        pub(super) fn wait(calls: *const u32, length: usize, has_milliseconds: u32, milliseconds: u32, at: *mut Outcome<Slice>);
        #[link_name = "take-next"] pub(super) fn take_next(call: u32);
        pub(super) fn cancel(call: u32);
    }
    #[link(wasm_import_module = "aana:host/uploads@0.1.0")]
    extern "C" {
        #[link_name = "info"] pub(super) fn upload_info(field: *const u8, field_length: usize, at: *mut Outcome<RawFileInfo>);
        #[link_name = "read"] pub(super) fn upload_read(field: *const u8, field_length: usize, offset: f64, length: u32, at: *mut Outcome<Slice>);
        #[link_name = "read-text"] pub(super) fn upload_read_text(field: *const u8, field_length: usize, offset: f64, length: u32, at: *mut Outcome<RawTextPiece>);
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
        #[link_name = "[method]video.facts"] pub(super) fn video_facts(video: u32, at: *mut Outcome<Slice>);
        #[link_name = "[method]video.frames"]
        pub(super) fn video_frames(video: u32, options: *const u8, length: usize, at: *mut Outcome<u32>);
        #[link_name = "[method]video.subtitles"]
        pub(super) fn video_subtitles(video: u32, has_track: u32, track: u32, at: *mut Outcome<Slice>);
        #[link_name = "[resource-drop]video"] pub(super) fn video_drop(video: u32);
        #[link_name = "[method]frames.next"] pub(super) fn frames_next(frames: u32, at: *mut Outcome<Maybe<f64>>);
        #[link_name = "[method]frames.image"] pub(super) fn frames_image(frames: u32, at: *mut Outcome<u32>);
        #[link_name = "[resource-drop]frames"] pub(super) fn frames_drop(frames: u32);
        #[link_name = "[static]image.open"] pub(super) fn image_open(
            has_path: u32, path: *const u8, path_length: usize, has_url: u32, url: *const u8, url_length: usize,
            has_content: u32, content: *const u8, content_length: usize, has_id: u32, id: *const u8, id_length: usize, at: *mut Outcome<u32>,
        );
        #[link_name = "[static]image.decode"] pub(super) fn image_decode(file: *const u8, length: usize, at: *mut Outcome<u32>);
        #[link_name = "[static]image.decode-base64"]
        pub(super) fn image_decode_base64(file: *const u8, length: usize, at: *mut Outcome<u32>);
        #[link_name = "[method]image.info"] pub(super) fn image_info(image: u32, at: *mut RawImageInfo);
        #[link_name = "[method]image.pixels"] pub(super) fn image_pixels(image: u32, width: u32, height: u32, at: *mut Outcome<Slice>);
        #[link_name = "[method]image.encode"]
        pub(super) fn image_encode(image: u32, options: *const u8, length: usize, at: *mut Outcome<Slice>);
        #[link_name = "[method]image.pixels-base64"]
        pub(super) fn image_pixels_base64(image: u32, width: u32, height: u32, at: *mut Outcome<Slice>);
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
        #[link_name = "call-with-images"] pub(super) fn call_with_images(
            deployment: *const u8, deployment_length: usize, method: *const u8, method_length: usize, args: *const u8, args_length: usize,
            audio: *const u32, audio_length: usize, images: *const u32, images_length: usize, at: *mut Outcome<Slice>,
        );
        #[link_name = "open-with-images"] pub(super) fn open_with_images(
            deployment: *const u8, deployment_length: usize, method: *const u8, method_length: usize, args: *const u8, args_length: usize,
            audio: *const u32, audio_length: usize, images: *const u32, images_length: usize, at: *mut Outcome<u32>,
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
        #[link_name = "transcribe-with"] pub(super) fn transcribe_with(request: &RawTranscribeRequest, at: *mut Outcome<RawDetailedTranscription>);
        #[link_name = "transcribe-stream-with"] pub(super) fn transcribe_stream_with(request: &RawTranscribeRequest, at: *mut Outcome<u32>);
        #[link_name = "[method]detailed-transcriptions.next"] pub(super) fn detailed_transcriptions_next(stream: u32, at: *mut Outcome<Slice>);
        #[link_name = "[resource-drop]detailed-transcriptions"] pub(super) fn detailed_transcriptions_drop(stream: u32);
    }
    #[link(wasm_import_module = "aana:host/ocr@0.1.0")]
    extern "C" {
        pub(super) fn recognize(deployment: *const u8, deployment_length: usize, images: *const u32, images_length: usize, at: *mut Outcome<Slice>);
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
        pub(super) fn complete(request: &RawCompletionRequest, at: *mut Outcome<RawCompletion>);
        #[link_name = "complete-stream"] pub(super) fn complete_stream(request: &RawCompletionRequest, at: *mut Outcome<u32>);
        #[link_name = "[method]completion-stream.next"] pub(super) fn completion_stream_next(stream: u32, at: *mut Outcome<Slice>);
        #[link_name = "[method]completion-stream.end"] pub(super) fn completion_stream_end(stream: u32, at: *mut Outcome<RawCompletion>);
        #[link_name = "[method]completion-stream.forward"] pub(super) fn completion_stream_forward(stream: u32, at: *mut Outcome<u8>);
        #[link_name = "[resource-drop]completion-stream"] pub(super) fn completion_stream_drop(stream: u32);
    }
    #[link(wasm_import_module = "aana:host/storage@0.1.0")]
    extern "C" {
        #[link_name = "get"] pub(super) fn storage_get(key: *const u8, key_length: usize, at: *mut Outcome<Maybe<Slice>>);
        #[link_name = "set"] pub(super) fn storage_set(key: *const u8, key_length: usize, value: *const u8, value_length: usize, at: *mut Outcome<u8>);
        #[link_name = "delete"] pub(super) fn storage_delete(key: *const u8, key_length: usize, at: *mut Outcome<u8>);
        #[link_name = "list"] pub(super) fn storage_list(
            prefix: *const u8, prefix_length: usize, has_after: u32, after: *const u8, after_length: usize, limit: u32, at: *mut Outcome<Slice>,
        );
        #[link_name = "get-text"] pub(super) fn storage_get_text(key: *const u8, key_length: usize, at: *mut Outcome<Maybe<Slice>>);
        #[link_name = "set-text"] pub(super) fn storage_set_text(
            key: *const u8, key_length: usize, value: *const u8, value_length: usize, has_expiry: u32, expiry: f64, at: *mut Outcome<u8>,
        );
        #[link_name = "set-expiring"] pub(super) fn storage_set_expiring(
            key: *const u8, key_length: usize, value: *const u8, value_length: usize, expiry: f64, at: *mut Outcome<u8>,
        );
        #[link_name = "increment"] pub(super) fn storage_increment(
            key: *const u8, key_length: usize, by: f64, has_expiry: u32, expiry: f64, at: *mut Outcome<f64>,
        );
        #[link_name = "compare-and-set"] pub(super) fn storage_compare_and_set(
            key: *const u8, key_length: usize, has_expected: u32, expected: *const u8, expected_length: usize,
            has_value: u32, value: *const u8, value_length: usize, has_expiry: u32, expiry: f64, at: *mut Outcome<u8>,
        );
        #[link_name = "get-base64"]
        pub(super) fn storage_get_base64(key: *const u8, key_length: usize, at: *mut Outcome<Maybe<Slice>>);
        #[link_name = "set-base64"] pub(super) fn storage_set_base64(
            key: *const u8, key_length: usize, value: *const u8, value_length: usize, has_expiry: u32, expiry: f64,
            at: *mut Outcome<u8>,
        );
        #[link_name = "compare-and-set-base64"] pub(super) fn storage_compare_and_set_base64(
            key: *const u8, key_length: usize, has_expected: u32, expected: *const u8, expected_length: usize,
            has_value: u32, value: *const u8, value_length: usize, has_expiry: u32, expiry: f64, at: *mut Outcome<u8>,
        );
        #[link_name = "list-entries"] pub(super) fn storage_list_entries(
            prefix: *const u8, prefix_length: usize, has_after: u32, after: *const u8, after_length: usize, limit: u32, with_text: u32, at: *mut Outcome<Slice>,
        );
    }
    #[link(wasm_import_module = "aana:host/vectors@0.1.0")]
    extern "C" {
        #[link_name = "ensure"] pub(super) fn vectors_ensure(
            name: *const u8, name_length: usize, model: *const u8, model_length: usize, dimensions: u32,
            at: *mut Outcome<u8>,
        );
        #[link_name = "list-collections"] pub(super) fn vectors_list_collections(
            has_after: u32, after: *const u8, after_length: usize, limit: u32, at: *mut Outcome<Slice>,
        );
        #[link_name = "delete-collection"]
        pub(super) fn vectors_delete_collection(name: *const u8, name_length: usize, at: *mut Outcome<u8>);
        #[link_name = "upsert"] pub(super) fn vectors_upsert(
            name: *const u8, name_length: usize, model: *const u8, model_length: usize, chunks: *const RawChunk,
            chunks_length: usize, vectors: *const u8, vectors_length: usize, at: *mut Outcome<u8>,
        );
        #[link_name = "delete-chunks"] pub(super) fn vectors_delete_chunks(
            name: *const u8, name_length: usize, by: u32, which: *const u8, length: usize, at: *mut Outcome<u32>,
        );
        #[link_name = "list-chunks"] pub(super) fn vectors_list_chunks(
            name: *const u8, name_length: usize, has_document: u32, document: *const u8, document_length: usize,
            has_after: u32, after: *const u8, after_length: usize, limit: u32, at: *mut Outcome<Slice>,
        );
        #[link_name = "search"] pub(super) fn vectors_search(
            name: *const u8, name_length: usize, has_vector: u32, vector: *const u8, vector_length: usize,
            has_model: u32, model: *const u8, model_length: usize, has_text: u32, text: *const u8, text_length: usize,
            has_filter: u32, filter: *const u8, filter_length: usize, limit: u32, at: *mut Outcome<Slice>,
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
        #[link_name = "[static]exchange.send"] pub(super) fn exchange_send(
            method: *const u8, method_length: usize, url: *const u8, url_length: usize, headers: *const [Slice; 2], headers_length: usize,
            follow_redirects: u32, has_body: u32, kind: u32, body: *const u8, body_length: usize, at: *mut Outcome<u32>,
        );
        #[link_name = "[method]exchange.head"] pub(super) fn exchange_head(exchange: u32, at: *mut RawResponseHead);
        #[link_name = "[method]exchange.read"] pub(super) fn exchange_read(exchange: u32, least: u32, at: *mut Outcome<Slice>);
        #[link_name = "[method]exchange.read-text"] pub(super) fn exchange_read_text(exchange: u32, least: u32, at: *mut Outcome<Slice>);
        #[link_name = "[resource-drop]exchange"] pub(super) fn exchange_drop(exchange: u32);
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
        pub(super) fn begin(
            media_type: *const u8, media_type_length: usize, status: u32, headers: *const [Slice; 2], headers_length: usize, at: *mut Outcome<u8>,
        );
        pub(super) fn send(base64: *const u8, length: usize, at: *mut Outcome<u8>);
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

extern "C" {
    fn __wasm_call_ctors();
}

/// Runs the constructors of libraries. Without a call of them, older linkers make one in each exported function, also
/// in
/// `cabi_realloc`, where a component must not call the host.
fn construct() {
    unsafe { __wasm_call_ctors() };
}

fn kept<T>(value: T) -> *const u8 {
    Box::into_raw(Box::new(value)) as *const u8
}

pub fn describe<P: Plugin>() -> *const u8 {
    construct();
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
    construct();
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
