import type { ErrorKind } from '../../core/errors.ts';

/** An error that this package throws, as clients can rely on it. */
export interface CataloguedError {
  /** The value of `error`. */
  readonly name: string;
  /** Each kind that it is thrown with, or a status where it is HTTP's own. */
  readonly as: readonly (ErrorKind | number)[];
  readonly when: string;
  /** Keys of `data`; for a list, those of its entries. Empty: `data` is `{}`. */
  readonly data: string;
  /** Its status with `compat_status: original`. */
  readonly original: number;
}

type Options = { readonly data?: string; readonly original?: number };

function one(
  name: string,
  as: ErrorKind | number | readonly (ErrorKind | number)[],
  when: string,
  { data = '', original = 400 }: Options = {},
): CataloguedError {
  return { name, as: [as].flat() as (ErrorKind | number)[], when, data, original };
}

const ENTRIES = 'list of type, loc, msg, input';

/**
 * Errors that a request can be answered with. `docs/errors.md` is made of this; a test compares it with the sources.
 */
export const REQUEST_ERRORS: readonly CataloguedError[] = [
  // The request itself.
  one(
    'ValidationError',
    ['invalid-input', 422],
    'The input does not match its schema, or a part, field, header or query parameter is missing, doubled or unknown.',
    { data: ENTRIES, original: 422 },
  ),
  one('UploadedFileNotFound', 'invalid-input', 'The input names a file part that was not uploaded.', {
    data: `${ENTRIES}; content`,
  }),
  one('MalformedRequest', ['bad-request', 400], 'The request is not HTTP, or its form cannot be read.'),
  one('HttpsExpected', 400, 'Plain HTTP was spoken to a port that speaks HTTPS.'),
  one(
    'OriginNotAllowed',
    403,
    'The request comes from a page of another origin, which `cors` does not allow, or would change something by GET.',
    { original: 403 },
  ),
  one(
    'HostNotAllowed',
    421,
    'The name in the header `host` is not one of the server; `allowed_hosts` has more of them.',
    { original: 421 },
  ),
  one('NotFound', 404, 'There is nothing at this path.', { original: 404 }),
  one('MethodNotAllowed', 405, 'The path does not take this method; the header `allow` has those that it takes.', {
    original: 405,
  }),
  one('RequestTimeout', 408, 'The request took too long to arrive.', { original: 408 }),
  one(
    'RequestTooLarge',
    ['too-large', 431],
    'The request, a file, a field, the number of files or the head is over a limit.',
    { data: 'limit', original: 413 },
  ),
  one('UnsupportedMediaType', 415, 'The content type, charset or content encoding is not taken.', { original: 415 }),
  one('ExpectationFailed', 417, 'The header `expect` has something else than `100-continue`.', { original: 417 }),
  one('CancelledError', 'cancelled', 'The client closed the connection; only the log has it.', { original: 499 }),
  one('RedocNotFound', 'unavailable', 'The bundle of Redoc cannot be had.', { original: 503 }),
  // Who asks.
  one('ApiKeyNotProvided', 'unauthenticated', 'The request has no API key.', { data: 'message' }),
  one('ApiKeyNotFound', 'unauthenticated', 'The API key is not known, or mistyped.', { data: 'message' }),
  one('ApiKeyExpired', 'unauthenticated', 'The API key has expired.', { data: 'message' }),
  one('ApiKeyValidationFailed', 'unavailable', 'API keys cannot be checked, because the database does not answer.', {
    data: 'message',
  }),
  one('InsufficientScope', 'denied', 'The API key is not for this path.', { data: 'message' }),
  one('AdminOnlyAccess', 'denied', 'The path is for API keys of admins.', { data: 'message' }),
  one('InactiveSubscription', 'denied', 'The path needs an active subscription.', { data: 'message' }),
  one(
    'TooManyRequestsException',
    'rate-limited',
    'Too many requests in a while; `Retry-After` says how long to wait.',
    { data: 'rate_limit, rate_duration' },
  ),
  // The application.
  one('NotReady', 'unavailable', 'The application is starting.', { original: 503 }),
  one('ShuttingDown', 'unavailable', 'The application is shutting down.', { original: 503 }),
  one('RuntimeError', 400, 'A request is to be deferred, but the task queue is switched off.'),
  one('TimeoutError', 'deadline-exceeded', 'The run took longer than `limits.invocation_timeout_s`.'),
  one(
    'OutputError',
    'internal',
    'The endpoint gave something that does not match its schema; the log names the place.',
  ),
  one(
    'EndpointError',
    ['unavailable', 'internal', 'conflict', 'invalid-input'],
    'The endpoint could not be initialized, or is declared wrongly.',
  ),
  one(
    'StorageFull',
    ['unavailable', 'too-large'],
    'An upload does not fit on the disk of the server, or a plugin stores more than it may.',
  ),
  one('DiskFullException', 'unavailable', 'Decoded media does not fit on the disk of the server.', {
    data: 'directory',
  }),
  // Tasks and stored things.
  one('NotFoundException', ['not-found', 404], 'There is no such task, or other stored thing.', {
    data: 'table, id',
    original: 404,
  }),
  one('TaskIsActive', 'bad-request', 'A task that is assigned or runs cannot be deleted.', { data: 'id' }),
  one('TaskNotFailed', 'bad-request', 'Only failed tasks can be retried.', { data: 'id' }),
  one('TaskEnded', 'conflict', 'Only tasks that have not ended can be cancelled.', { data: 'id' }),
  one('TooManyTasks', 'rate-limited', 'As many tasks of the user wait as may.', { data: 'max_waiting' }),
  one(
    'TaskStorageFull',
    'rate-limited',
    'Tasks of the user keep as many bytes of uploads and results as may be kept, or would with this one.',
    { data: 'max_bytes, used_bytes' },
  ),
  one(
    'TooManyWatchers',
    'rate-limited',
    'The user reads the events of as many tasks as may be read at the same time.',
    { data: 'max_watchers' },
  ),
  one('IdempotencyKeyReused', 'conflict', 'The idempotency key was used for another request.', { data: 'task_id' }),
  one('UploadedFileLost', 'internal', 'A file that was uploaded for a task is gone, or was changed.', {
    data: 'content',
  }),
  one('ResultNotStored', 'internal', 'A task was done, but the database refused its result.'),
  one('EndpointNotFoundException', 'unavailable', 'The endpoint of a task is not there just now.'),
  one(
    'DatabaseException',
    ['unavailable', 'internal', 'invalid-input'],
    'The database does not answer, or refuses; with 422 a text that it cannot keep, such as one with U+0000.',
    { data: 'message' },
  ),
  one('MediaIdAlreadyExistsException', 'conflict', 'There is a media of this id already.', { data: 'table, id' }),
  one('InvalidWebhookEventType', 'bad-request', 'There is no such event.', { data: 'event_type' }),
  one('TooManyWebhooks', 'conflict', 'There are as many webhooks as a user may have.', { data: 'max_webhooks' }),
  one('WebhookDisabled', 'conflict', 'A delivery of a disabled webhook cannot be sent again.', { data: 'id' }),
  one('DeliveryIsActive', 'conflict', 'The delivery is being sent right now.', { data: 'id' }),
  one('ApiKeyAlreadyExists', 'conflict', 'There is an API key of this id already.', { data: 'key_id' }),
  // Media.
  one(
    'DownloadException',
    ['bad-request', 'unavailable'],
    'A URL cannot be fetched; or a model, which is missing, cannot.',
    { data: 'url' },
  ),
  one('PrivateAddressException', 'denied', 'A URL leads to a private, local or metadata address.', { data: 'url' }),
  one('PathNotAllowedException', 'denied', 'A path is outside of `media.allow_paths`.', { data: 'path' }),
  one('FileNotFoundError', 'bad-request', 'There is no file at a path, or none that can be read.', { data: 'path' }),
  one('MediaTooLargeException', 'too-large', 'A URL has more bytes than `media.max_bytes`.', {
    data: 'url, max_bytes',
  }),
  one('MediaTooLongException', 'too-large', 'The media is longer than `media.max_duration_s`.', {
    data: 'video, max_duration',
  }),
  one('VideoReadingException', 'bad-request', 'The file is no video that can be read.', { data: 'video, message' }),
  one('AudioReadingException', ['bad-request', 'internal'], 'The file has no audio that can be read.', {
    data: 'audio, message',
  }),
  one('ImageReadingException', 'bad-request', 'The file is no image that can be read.', { data: 'image, message' }),
  one('ImageTooLargeException', 'too-large', 'The image has more pixels than are decoded.', {
    data: 'image, max_pixels',
  }),
  // Deployments.
  one('InferenceException', 'internal', 'The engine failed.', { data: 'model_name' }),
  one('PromptTooLongException', 'bad-request', 'The prompt has more tokens than the model takes.', {
    data: 'prompt_len, max_len',
  }),
  one('EmptyPrompt', 'bad-request', 'The prompt is empty, and the model cannot begin by itself.', {
    data: 'model_name',
  }),
  one('InvalidPrompt', 'bad-request', 'The model cannot read the prompt.', { data: 'model_name' }),
  one('SlowReader', 'bad-request', 'Nobody took anything of the answer for a minute, so the model gave it up.', {
    data: 'model_name',
  }),
  one(
    'DeadlineExceeded',
    'deadline-exceeded',
    'The deadline of the request passed while it waited for a model, or while the model worked on it.',
    { data: 'model_name' },
  ),
  one('EngineFull', 'unavailable', "The model's memory had no room for the request.", { data: 'model_name' }),
  one('ChatTemplateException', 'bad-request', "The model's chat template does not take the dialog.", {
    data: 'model_name',
  }),
  one('InvalidOutput', 'internal', 'A deployment gave something that does not match its schema.'),
  one('DeploymentFull', 'unavailable', 'Too many calls wait for a replica; `Retry-After` says when there is room.', {
    data: 'deployment, max_queued_requests, retry_after_s',
  }),
  one(
    'DeploymentOverloaded',
    'unavailable',
    'The calls before this one take longer than there is time for it; `Retry-After` says when to come back.',
    { data: 'deployment, estimated_wait_s, retry_after_s' },
  ),
  one('DeploymentStopped', 'unavailable', 'The deployment is shutting down.', { data: 'deployment' }),
  one('DeploymentNotStarted', 'unavailable', 'The deployment is not started.', { data: 'deployment' }),
  one('FailedDeployment', 'unavailable', 'The deployment could not start, and was given up.', {
    data: 'deployment, last_lines',
  }),
  one('InsufficientResources', 'unavailable', 'There is no room for a replica, or for a model on the disk.', {
    data: 'deployment',
  }),
  one(
    'PoisonousCallError',
    'bad-request',
    'Two replicas were lost while they worked on this call. It is suspected of that and refused for ten minutes, whoever asks.',
    { data: 'deployment, method, replicas, refused_for_s' },
  ),
  one(
    'DeploymentUnavailable',
    'unavailable',
    'No replica serves, because none of them starts just now; `Retry-After` says when the next one is tried.',
    { data: 'deployment, retry_after_s' },
  ),
  one(
    'ReplicaLostError',
    'unavailable',
    'The replica at work was lost, or ended when its calls took longer than they may (`planned`), and the call could not be repeated.',
    { data: 'deployment, replica, signal, planned' },
  ),
  one('ArtifactNotFound', 'internal', 'Decoded audio that a deployment was to read is not there.', { data: 'id' }),
  one('ReplicaNotReady', 'unavailable', 'The replica does not take calls yet.'),
  one('DeploymentNotFound', 'not-found', 'There is no deployment of this name.'),
  one('MethodNotFound', ['not-found', 'bad-request'], 'The deployment has no such method, or it does not stream.'),
  one('NotAStream', 'internal', 'A method that does not stream was called as one that does.'),
  one('MessageTooLarge', 'too-large', 'The arguments or the answer of a call are too large for a replica.'),
  // Plugins.
  one('PluginTrapError', 'plugin-failed', 'The plugin crashed, or used more memory than it may.', {
    data: 'plugin, endpoint',
  }),
  one('PluginUnavailable', 'unavailable', 'The plugin has too many requests waiting, or is being replaced.'),
  one('InvocationTimeout', 'deadline-exceeded', 'The plugin was not done in time, or computed for too long.', {
    data: 'deadline_ms, cpu_ms, cpu_slice_ms',
  }),
  one(
    'OutputTooLarge',
    'too-large',
    'The answer of the plugin is over `plugin_limits.output_bytes` or has over 2 million values or 256 levels of nesting, or its error has too much data.',
    { data: 'limit' },
  ),
  one('TooManyHostCalls', 'too-large', 'The plugin called the host more often than it may.', { data: 'limit' }),
  one('TooManyHandles', 'too-large', 'The plugin holds more media, streams and helpers than it may.', {
    data: 'limit',
  }),
  one(
    'ArgumentsTooLarge',
    'too-large',
    'The arguments of a call of the plugin are too large, too many or nested over 256 levels deep.',
    { data: 'limit' },
  ),
  one(
    'HeldTooMuch',
    'too-large',
    'Inputs and results of helpers of the plugin, which it has not dropped, are too large together.',
    { data: 'limit' },
  ),
  one('ValueTooLarge', 'too-large', 'A value that the plugin stores is too large.', { data: 'bytes, limit' }),
  one('ResponseTooLarge', 'too-large', 'The answer to a request of the plugin is too large.', { data: 'max_bytes' }),
  one('CapabilityDenied', 'denied', 'The plugin uses a capability that it was not granted.', { data: 'capability' }),
  one('DeploymentDenied', 'denied', 'The plugin calls a deployment that it was not granted.', { data: 'deployment' }),
  one('HostDenied', 'denied', 'The plugin asks a host that it was not granted.', { data: 'host' }),
  one('NestedHelper', 'denied', 'A helper of the plugin starts a helper.'),
  one(
    'InvalidArguments',
    ['invalid-input', 'denied'],
    'The plugin calls the host with arguments that cannot be taken.',
  ),
  one('InvalidHandle', 'bad-request', 'The plugin uses a handle that it does not hold.'),
  one('InvalidKey', 'invalid-input', 'The plugin stores under a key that is empty or too long.'),
  one('InvalidRequest', 'invalid-input', 'The plugin makes a request that cannot be sent.'),
  one('NotStreaming', 'bad-request', 'The plugin streams where its endpoint does not.'),
];

/** Errors that only programs, commands and the operator meet. */
export const PROGRAM_ERRORS: readonly CataloguedError[] = [
  one('AlreadyConnected', 'conflict', 'The application listens, or is attached, already.'),
  one('AlreadyDeployed', 'conflict', 'The application was deployed, or shut down, before.'),
  one(
    'ApplicationInReplica',
    'internal',
    'The module of a deployment class starts an application when it is imported.',
  ),
  one('ArchiveError', 'internal', 'A fetched package cannot be unpacked.'),
  one('ClientFileError', 'invalid-input', 'The generated client cannot be written there.'),
  one('CommandNotFound', 'internal', 'A program that is needed is not there.', { data: 'command' }),
  one('ConfigError', 'invalid-input', 'The configuration is wrong; the message names the key.'),
  one('ConnectionClosed', 'unavailable', 'The connection to the running application was closed here.'),
  one('ConnectionLost', 'unavailable', 'The connection to the running application broke.', { data: 'url' }),
  one('ControlProtocolError', 'bad-request', 'An attached process sends what is not understood.'),
  one('DemoError', 'internal', 'The demonstration could not go on.'),
  one('DeploymentBusy', 'conflict', 'The deployment is starting, changing or stopping.'),
  one('DeploymentClassError', 'invalid-input', 'A deployment class is declared wrongly.', { data: 'class' }),
  one('DeploymentExists', 'conflict', 'The name of a deployment is taken.'),
  one('DeploymentImportError', 'internal', 'A replica cannot import the deployment class.'),
  one('DeploymentRunning', 'conflict', 'The deployment runs already.'),
  one('DeploymentTypeChanged', 'conflict', 'A deployment cannot become one of another class.'),
  one('DeploymentTypeError', 'bad-request', 'A handle was asked for with another class than the deployment has.'),
  one('DocumentError', 'invalid-input', 'The OpenAPI document cannot be read.'),
  one('EngineEnded', 'internal', 'The engine of a replica ended by itself; the replica is replaced.'),
  one('FfmpegNotFound', 'invalid-input', 'The configured ffmpeg does not run.'),
  one('ImportError', 'invalid-input', 'A module or application cannot be imported.'),
  one('InvalidInput', 'invalid-input', 'A model cannot be imported or removed like this.'),
  one('InvalidModelId', 'invalid-input', 'This is no id for a model.', { data: 'id' }),
  one('ListenError', ['unavailable', 'invalid-input'], 'The address to listen on cannot be had.'),
  one(
    'TlsError',
    'invalid-input',
    'The certificate of the server, its key or the authorities of clients cannot be used.',
  ),
  one('MigrationError', 'conflict', 'The database cannot be brought up to date.'),
  one('MissingBuildTool', 'internal', 'A tool that the native build needs is not there.'),
  one('ModelDamaged', 'internal', 'The file of a model is not what it was.', { data: 'id, file' }),
  one('ModelExists', 'conflict', 'There is a model of this id already.', { data: 'id' }),
  one('ModelFormatError', 'bad-request', 'The file is no model that can be read.', { data: 'file' }),
  one('ModelNotFound', ['not-found', 'internal'], 'There is no such model.', { data: 'id' }),
  one('NativeBuildFailed', 'internal', 'The native addon could not be built.'),
  one('NewPluginRefused', 'invalid-input', 'A plugin cannot be made there.'),
  one('NotReconfigurable', 'conflict', 'The deployment cannot take another configuration while it runs.'),
  one('NotRunning', 'unavailable', 'No application runs that could be attached to.', { data: 'url' }),
  one('OtherVersion', 'conflict', 'The running application is of another version.'),
  one('NoWebhookSecret', 'internal', 'A webhook has no secret to be signed with; the log of its deliveries has it.'),
  one('PluginLoadError', 'internal', 'A plugin cannot be loaded.', { data: 'plugin' }),
  one('PluginNotFound', 'not-found', 'There is no such plugin.'),
  one('ProcessMemoryTooLarge', 'internal', 'A child process took too much memory.'),
  one('ProcessOutputTooLarge', 'internal', 'A child process wrote too much.'),
  one('ProcessTimeout', 'deadline-exceeded', 'A child process ran for too long.'),
  one('ReplicaProtocolError', 'internal', 'A replica sends what is not understood.'),
  one(
    'ReconfigureTimeout',
    'deadline-exceeded',
    'A replica made no progress with a changed configuration for `start_timeout_s`; it is replaced.',
  ),
  one('ReplicaStartError', 'internal', 'A replica could not be started.'),
  one(
    'RouterError',
    ['conflict', 'invalid-input'],
    'A router, or the prefix that the application is mounted under, cannot be taken.',
  ),
  one('SeveralRunning', 'conflict', 'Several applications run, and none was named.', { data: 'urls' }),
  one('YtDlpNotFound', 'invalid-input', 'The configured yt-dlp does not run.'),
  one('TypeError', 'invalid-input', 'What a module exports is no application.'),
];

const ORIGINAL_STATUS: ReadonlyMap<string, number> = new Map(
  [...REQUEST_ERRORS, ...PROGRAM_ERRORS].map(({ name, original }) => [name, original]),
);

/** The status that the original system gives an error: 400 for all but a few, also for those that it does not know. */
export function originalStatusOf(name: string): number {
  return ORIGINAL_STATUS.get(name) ?? 400;
}
