//! The world `plugin` of `wit/world.wit` for Rust guests, without any crate: include it as a module, implement [`Plugin`], and name that
//! type in [`export_plugin!`]. Build for `wasm32-wasi` (`wasm32-wasip1` in newer compilers) as a `cdylib`.
//!
//! Every run begins with the memory that the plugin had after `describe`: a `static` that a run changes is as it was in the next one.
#![allow(dead_code)]

use std::alloc::{alloc, handle_alloc_error, realloc, Layout};
use std::mem::MaybeUninit;

/// What a plugin offers.
pub trait Plugin {
    /// The endpoints; called once when the plugin is loaded.
    fn describe() -> Vec<Endpoint>;
    /// Runs the endpoint `name`; `input` is a JSON object that matches its schema. Returns JSON; a streaming endpoint [`write`]s and returns `null`.
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
    /// JSON Schema of the input object; its keys are the parameters.
    pub input_schema: String,
    /// JSON Schema of the output, or of one streamed value.
    pub output_schema: String,
    pub streaming: bool,
}

/// Which of the host's errors it is; each has one HTTP status.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
#[rustfmt::skip]
pub enum ErrorKind { InvalidInput, BadRequest, Denied, NotFound, Conflict, TooLarge, Unavailable, DeadlineExceeded, Cancelled, Internal }

/// Why a call failed. A plugin that cannot go on returns it from `run` with `?`, and the client gets the host's error.
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

/// At most 65,536 bytes from the host's generator.
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

/// Whether the client has gone away.
pub fn is_cancelled() -> bool {
    unsafe { raw::is_cancelled() != 0 }
}

/// Where a video comes from: exactly one of `path`, `url` and `content`.
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

#[rustfmt::skip]
pub enum Channels { Mix, Separate }

/// A media file, held by the host.
pub struct Video(u32);
/// Decoded audio, held by the host.
pub struct Audio(u32);
/// A running stream of JSON values; dropping it cancels it.
pub struct Chunks(u32);

impl Video {
    /// Fetches (or finds) and probes the media.
    pub fn open(source: &Source) -> Result<Video, Error> {
        // Each is an option: whether it is there, and then the text.
        let [path, url, content, id] = [source.path, source.url, source.content, source.media_id].map(|each| (each.is_some() as u32, each.unwrap_or("")));
        #[rustfmt::skip]
        let result: Outcome<u32> = unsafe {
            returned(|at| {
                raw::video_open(
                    path.0, path.1.as_ptr(), path.1.len(), url.0, url.1.as_ptr(), url.1.len(),
                    content.0, content.1.as_ptr(), content.1.len(), id.0, id.1.as_ptr(), id.1.len(), at,
                )
            })
        };
        unsafe { result.take() }.map(Video)
    }

    pub fn info(&self) -> VideoInfo {
        let info: RawVideoInfo = unsafe { returned(|at| raw::video_info(self.0, at)) };
        VideoInfo { duration: (info.has_duration != 0).then(|| info.duration), has_audio: info.has_audio != 0, has_video: info.has_video != 0 }
    }

    /// Decodes the audio track. A media without one gives audio of 0 seconds.
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
    /// The values made since the last call, at least one; empty when the stream has ended.
    pub fn next(&self) -> Result<Vec<String>, Error> {
        unsafe { Ok(returned::<Outcome<Slice>>(|at| raw::chunks_next(self.0, at)).take()?.strings()) }
    }
}

impl Drop for Video {
    fn drop(&mut self) {
        unsafe { raw::video_drop(self.0) }
    }
}

impl Drop for Audio {
    fn drop(&mut self) {
        unsafe { raw::audio_drop(self.0) }
    }
}

impl Drop for Chunks {
    fn drop(&mut self) {
        unsafe { raw::chunks_drop(self.0) }
    }
}

/// Calls a method of a deployment. `args` is a JSON object of its parameters; `{"$audio": n}` in it stands for `audio[n]`.
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

/// Sends one JSON value to the client; returns when the client has room for more.
pub fn write(chunk: &str) -> Result<(), Error> {
    unsafe { returned::<Outcome<u8>>(|at| raw::write(chunk.as_ptr(), chunk.len(), at)).take() }.map(|_| ())
}

/// Sends all that is left of a stream.
pub fn forward(source: &Chunks) -> Result<(), Error> {
    unsafe { returned::<Outcome<u8>>(|at| raw::forward(source.0, at)).take() }.map(|_| ())
}

// --- values in memory, laid out as the canonical ABI says ---

/// A string or a list. From the host, it is allocated with `cabi_realloc` and belongs to the plugin.
#[derive(Clone, Copy)]
#[repr(C)]
struct Slice {
    start: *mut u8,
    length: usize,
}

impl Slice {
    /// Leaks: the plugin's memory after a run is thrown away.
    fn of(text: String) -> Slice {
        let bytes = text.into_bytes().leak();
        Slice { start: bytes.as_mut_ptr(), length: bytes.len() }
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

/// A result; `T` is `u8` where it has no value.
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

#[repr(C)]
struct RawVideoInfo {
    has_duration: u8,
    duration: f64,
    has_audio: u8,
    has_video: u8,
}

/// What a function of the host writes to the place that it is given.
unsafe fn returned<T>(call: impl FnOnce(*mut T)) -> T {
    let mut place = MaybeUninit::uninit();
    call(place.as_mut_ptr());
    place.assume_init()
}

/// The host's functions, with their parameters as the canonical ABI flattens them.
#[rustfmt::skip]
mod raw {
    use super::{Outcome, RawVideoInfo, Slice};

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
    }
    #[link(wasm_import_module = "aana:host/media@0.1.0")]
    extern "C" {
        #[link_name = "[static]video.open"] pub(super) fn video_open(
            has_path: u32, path: *const u8, path_length: usize, has_url: u32, url: *const u8, url_length: usize,
            has_content: u32, content: *const u8, content_length: usize, has_id: u32, id: *const u8, id_length: usize, at: *mut Outcome<u32>,
        );
        #[link_name = "[method]video.info"] pub(super) fn video_info(video: u32, at: *mut RawVideoInfo);
        #[link_name = "[method]video.extract-audio"] pub(super) fn extract_audio(video: u32, channels: u32, at: *mut Outcome<u32>);
        #[link_name = "[resource-drop]video"] pub(super) fn video_drop(video: u32);
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
        #[link_name = "[resource-drop]chunks"] pub(super) fn chunks_drop(chunks: u32);
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

/// Where the host puts what it passes and returns.
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
