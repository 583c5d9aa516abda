import type { ErrorKind } from '../../core/errors.ts';

/** An error that this package throws, for clients that rely on it. */
export interface CataloguedError {
  /** The value of `error`. */
  readonly name: string;
  /** Every kind of the error, or its status if only HTTP has it. */
  readonly as: readonly (ErrorKind | number)[];
  readonly when: string;
  /** Keys of `data`, or of its entries if it is a list. Empty if `data` is `{}`. */
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

/** Errors of requests. `docs/errors.md` is made from this list, and a test compares it with the sources. */
export const REQUEST_ERRORS: readonly CataloguedError[] = [
  // The request itself.
  one(
    'ValidationError',
    ['invalid-input', 422],
    'The input does not match its schema, or a part, field, header or query parameter is missing, repeated or unknown.',
    { data: ENTRIES, original: 422 },
  ),
  one('UploadedFileNotFound', 'invalid-input', 'The input names a file part that was not uploaded.', {
    data: `${ENTRIES}; content`,
  }),
  one('MalformedRequest', ['bad-request', 400], 'The request is not HTTP, or its form cannot be read.'),
  one('HttpsExpected', 400, 'A client used plain HTTP on a port that speaks HTTPS.'),
  one(
    'OriginNotAllowed',
    403,
    'The request comes from a page of another origin, and `cors` does not allow it, or it would change data with GET.',
    { original: 403 },
  ),
  one('HostNotAllowed', 421, 'The name in the header `host` is not a name of the server. `allowed_hosts` adds names.', {
    original: 421,
  }),
  one('NotFound', 404, 'No route has this path.', { original: 404 }),
  one(
    'ProfileRefused',
    ['conflict', 'denied', 'unavailable'],
    'Another profile is being made, the memory is short, or admins may not read the memory (`api_service.admins_see_contents`).',
  ),
  one('MethodNotAllowed', 405, 'The path does not accept this method. The header `allow` lists the accepted ones.', {
    original: 405,
  }),
  one('UpgradeRequired', 426, 'The path takes only requests that open a WebSocket.', { original: 426 }),
  one('RequestTimeout', 408, 'The request took too long to arrive.', { original: 408 }),
  one(
    'RequestTooLarge',
    ['too-large', 431],
    'The request, a file, a field, the number of files or the head exceeds a limit.',
    { data: 'limit', original: 413 },
  ),
  one('UnsupportedMediaType', 415, 'The content type, charset or content encoding is not supported.', {
    original: 415,
  }),
  one('ExpectationFailed', 417, 'The header `expect` has another value than `100-continue`.', { original: 417 }),
  one('CancelledError', 'cancelled', 'The client closed the connection. Only the log shows this error.', {
    original: 499,
  }),
  one('RedocNotFound', 'unavailable', 'The bundle of Redoc is missing and cannot be fetched.', { original: 503 }),
  // The caller.
  one('ApiKeyNotProvided', 'unauthenticated', 'The request has no API key.', { data: 'message' }),
  one('ApiKeyNotFound', 'unauthenticated', 'The API key is unknown or mistyped.', { data: 'message' }),
  one('ApiKeyExpired', 'unauthenticated', 'The API key has expired.', { data: 'message' }),
  one('ApiKeyValidationFailed', 'unavailable', 'API keys cannot be checked, because the database does not answer.', {
    data: 'message',
  }),
  one('InsufficientScope', 'denied', 'The scopes of the API key do not allow this path.', { data: 'message' }),
  one('AdminOnlyAccess', 'denied', 'The path is only for API keys of admins.', { data: 'message' }),
  one('InactiveSubscription', 'denied', 'The path needs an active subscription.', { data: 'message' }),
  one(
    'TooManyRequestsException',
    'rate-limited',
    'The caller exceeded a rate limit or a limit of its user. `Retry-After` has the time to wait.',
    { data: 'rate_limit, rate_duration; limit, retry_after_s' },
  ),
  // The application.
  one('NotReady', 'unavailable', 'The application is starting.', { original: 503 }),
  one('ShuttingDown', 'unavailable', 'The application is shutting down.', { original: 503 }),
  one(
    'RuntimeError',
    ['bad-request', 400],
    'The request asks to become a task, or a batch, but the task queue is off.',
  ),
  one('TimeoutError', 'deadline-exceeded', 'The run took longer than `limits.invocation_timeout_s`.'),
  one('OutputError', 'internal', 'The output of the endpoint does not match its schema. The log names the place.'),
  one(
    'EndpointError',
    ['unavailable', 'internal', 'conflict', 'invalid-input'],
    'The endpoint could not be initialized, or its declaration is wrong.',
  ),
  one(
    'StorageFull',
    ['unavailable', 'too-large'],
    'An upload does not fit on the disk of the server, or a plugin or a user exceeds its limit of stored data.',
  ),
  one(
    'DiskFullException',
    'unavailable',
    'A disk of the server has no space left. `data.directory` names the folder if the disk is that of temporary files.',
    { data: 'directory' },
  ),
  // WebSockets. After the handshake, an error is the last message, and its kind decides the close code.
  one(
    'TooManySockets',
    ['rate-limited', 'unavailable'],
    'The caller, or all callers together, have as many WebSockets as they may have.',
  ),
  one('InvalidAudio', 'invalid-input', 'Audio of a WebSocket has half a sample, or a value that is not a number.'),
  one('UnsupportedMessage', 'invalid-input', 'A WebSocket takes no such message.'),
  one('SocketIdle', 'deadline-exceeded', 'The client sent nothing for `sockets.idle_timeout_s`.'),
  one('SocketLost', 'deadline-exceeded', 'The client did not answer a ping for `sockets.ping_interval_s`.'),
  one('SocketExpired', 'deadline-exceeded', 'The WebSocket was open for `sockets.max_duration_s`.'),
  // Tools of the Model Context Protocol. Errors of runs are results of tools, as are the errors of endpoints.
  one('TooManySubscriptions', 'rate-limited', 'The caller has 32 subscriptions to changes of the tools of `/mcp`.'),
  one('ResultTooLarge', 'too-large', 'The result of a tool has more bytes than `mcp.max_result_bytes`.', {
    data: 'limit',
  }),
  // OpenAI's API.
  one('UnknownModel', 'not-found', 'No model of `/v1/models` that can do this has the name.', { data: 'param' }),
  one('InvalidParameter', 'bad-request', 'A parameter of a request below `/v1` is missing or wrong.', {
    data: 'param, code',
  }),
  one('UnsupportedParameter', 'bad-request', 'A parameter of a request below `/v1` has no effect here.', {
    data: 'param',
  }),
  one('ResponseNotFound', 'not-found', 'The user has no stored response with this id.', { data: 'param' }),
  one(
    'PreviousResponseNotFound',
    'bad-request',
    'The user has no stored response with the id in `previous_response_id`, or one that it continues was removed.',
    { data: 'param' },
  ),
  one('StoredFileNotFound', 'not-found', 'The user has no file of `/v1/files` with this id, or it has expired.', {
    data: 'param',
  }),
  one('FileInUse', 'conflict', 'A file that is the input of a batch which has not ended cannot be deleted.'),
  one('UploadNotFound', 'not-found', 'The user has no upload with this id.', { data: 'param' }),
  one('UploadEnded', 'conflict', 'The upload is completed, cancelled or expired.'),
  one('TooManyParts', 'bad-request', 'The upload has as many parts as it may have.'),
  one('WrongParts', 'bad-request', 'The parts of an upload are not the file that was announced.', { data: 'param' }),
  one('BatchNotFound', 'not-found', 'The user has no batch with this id.', { data: 'param' }),
  one('BatchNotEnded', 'conflict', 'A batch of messages that has not ended has no results and cannot be deleted.'),
  one('BatchEnded', 'conflict', 'A batch that has ended cannot be cancelled.'),
  // Tasks and stored things.
  one('NotFoundException', ['not-found', 404], 'No such task or other stored object exists.', {
    data: 'table, id',
    original: 404,
  }),
  one('TaskIsActive', 'bad-request', 'An assigned or running task cannot be deleted.', { data: 'id' }),
  one('TaskNotFailed', 'bad-request', 'Only failed tasks can be retried.', { data: 'id' }),
  one('TaskEnded', 'conflict', 'Only tasks that have not ended can be cancelled.', { data: 'id' }),
  one('TooManyTasks', 'rate-limited', 'The user has too many waiting tasks.', { data: 'max_waiting' }),
  one(
    'TaskStorageFull',
    'rate-limited',
    "The uploads and results of the user's tasks would exceed the limit of stored bytes.",
    { data: 'max_bytes, used_bytes' },
  ),
  one('TooManyWatchers', 'rate-limited', 'The user watches too many tasks and responses at the same time.', {
    data: 'max_watchers',
  }),
  one('IdempotencyKeyReused', 'conflict', 'The idempotency key was used for another request.', { data: 'task_id' }),
  one(
    'UploadedFileLost',
    'internal',
    'A file that was uploaded, for a task or to `/v1/files`, is missing or was changed.',
    {
      data: 'content',
    },
  ),
  one('ResultNotStored', 'internal', 'A task completed, but the database refused its result.'),
  one('EndpointNotFoundException', 'unavailable', 'The endpoint of a task is not registered at the moment.'),
  one(
    'DatabaseException',
    ['unavailable', 'internal', 'invalid-input'],
    'The database does not answer, or refuses a statement. With 422: a text that it cannot store, such as one with U+0000.',
    { data: 'message' },
  ),
  one('MediaIdAlreadyExistsException', 'conflict', 'A media with this id already exists.', { data: 'table, id' }),
  one('InvalidWebhookEventType', 'bad-request', 'No such event exists.', { data: 'event_type' }),
  one('AlertsForAdmins', 'denied', 'Only the key of an admin sets a webhook for events of alerts.', {
    data: 'event_type',
  }),
  one('TooManyPulls', 'conflict', 'The host pulls four models already.'),
  one('TooManyWebhooks', 'conflict', 'The user has too many webhooks.', { data: 'max_webhooks' }),
  one('WebhookDisabled', 'conflict', 'A delivery of a disabled webhook cannot be sent again.', { data: 'id' }),
  one('DeliveryIsActive', 'conflict', 'The delivery is being sent at the moment.', { data: 'id' }),
  one('ApiKeyAlreadyExists', 'conflict', 'An API key with this id already exists.', { data: 'key_id' }),
  // Media.
  one(
    'DownloadException',
    ['bad-request', 'unavailable'],
    'A URL cannot be fetched, or a missing model cannot be downloaded.',
    { data: 'url' },
  ),
  one('PrivateAddressException', 'denied', 'A URL leads to a private, local or metadata address.', { data: 'url' }),
  one('PathNotAllowedException', 'denied', 'The path is outside of `media.allow_paths`.', { data: 'path' }),
  one('FileNotFoundError', 'bad-request', 'The path has no file, or no readable file.', { data: 'path' }),
  one('MediaTooLargeException', 'too-large', 'The media at a URL has more bytes than `media.max_bytes`.', {
    data: 'url, max_bytes',
  }),
  one('MediaTooLongException', 'too-large', 'The media is longer than `media.max_duration_s`.', {
    data: 'video, max_duration',
  }),
  one('VideoReadingException', 'bad-request', 'The file is not a readable video.', { data: 'video, message' }),
  one('AudioReadingException', ['bad-request', 'internal'], 'The file has no readable audio.', {
    data: 'audio, message',
  }),
  one('ImageReadingException', 'bad-request', 'The file is not a readable image.', { data: 'image, message' }),
  one('ImageTooLargeException', 'too-large', 'The image has more pixels than the limit.', {
    data: 'image, max_pixels',
  }),
  one('ImagesTooLargeException', 'too-large', 'A plugin decodes images whose files are too large together.', {
    data: 'max_bytes',
  }),
  one('PdfReaderError', 'internal', 'The process that reads PDFs ended unexpectedly. The log has its last words.'),
  // Deployments.
  one('InferenceException', 'internal', 'The engine failed.', { data: 'model_name' }),
  one('PromptTooLongException', 'bad-request', 'The prompt has more tokens than the model accepts.', {
    data: 'prompt_len, max_len',
  }),
  one('ImagesNotSupported', 'bad-request', 'The dialog has an image, and the model takes none.', {
    data: 'model_name',
  }),
  one('EmptyPrompt', 'bad-request', 'The prompt is empty, and the model cannot start without one.', {
    data: 'model_name',
  }),
  one('InvalidPrompt', 'bad-request', 'The model cannot read the prompt.', { data: 'model_name' }),
  one('UnknownPrompt', 'bad-request', 'The configuration of a deployment for embeddings has no prompt of this name.', {
    data: 'model_name',
  }),
  one('TooManyDimensions', 'bad-request', 'The vectors of the model have fewer dimensions than the call wants.', {
    data: 'model_name',
  }),
  one('TooManyTexts', 'bad-request', 'The vectors of all texts together are too large for one answer.', {
    data: 'model_name',
  }),
  one(
    'InvalidSamplingParams',
    'bad-request',
    'Sampling parameters contradict each other, do not fit the model, or leave no token to choose.',
    { data: 'model_name' },
  ),
  one('UnknownAdapter', 'bad-request', 'The deployment has no LoRA adapter of that name.', {
    data: 'model_name, adapters',
  }),
  one('OverflowNotSupported', 'bad-request', 'The model cannot forget a part of its context (`overflow` "shift").', {
    data: 'model_name',
  }),
  one('SlowReader', 'bad-request', 'The client read nothing of the answer for a minute, so the model stopped.', {
    data: 'model_name',
  }),
  one(
    'DeadlineExceeded',
    'deadline-exceeded',
    'The deadline of the request passed while it waited for a model, or while the model worked on it.',
    { data: 'model_name' },
  ),
  one('EngineFull', 'unavailable', "The model's memory had no room for the request.", { data: 'model_name' }),
  one('ChatTemplateException', 'bad-request', "The model's chat template does not accept the dialog.", {
    data: 'model_name',
  }),
  one(
    'RemoteServerUnavailable',
    'unavailable',
    'The server that computes for a deployment gave no answer, or has no room. `Retry-After` has the wait that it asks for.',
    { data: 'retry_after_s' },
  ),
  one('RemoteAccessDenied', 'internal', 'The server that computes for a deployment refuses the key of the deployment.'),
  one('RemoteModelNotFound', 'internal', 'The server that computes for a deployment does not have the model.', {
    data: 'model_name',
  }),
  one('RemoteRequestRefused', 'bad-request', 'The server that computes for a deployment refuses the request.', {
    data: 'model_name',
  }),
  one(
    'NotSupportedByServer',
    'bad-request',
    'The server that computes for a deployment has no such function, for example counting of tokens.',
  ),
  one('InvalidOutput', 'internal', 'The output of a deployment does not match its schema.'),
  one(
    'DeploymentFull',
    'unavailable',
    'Too many calls wait for a replica. `Retry-After` has the time until there is room.',
    {
      data: 'deployment, max_queued_requests, retry_after_s',
    },
  ),
  one(
    'DeploymentOverloaded',
    'unavailable',
    'The calls before this one take longer than its deadline allows. `Retry-After` has the estimated wait.',
    { data: 'deployment, estimated_wait_s, retry_after_s' },
  ),
  one('DeploymentStopped', 'unavailable', 'The deployment is shutting down.', { data: 'deployment' }),
  one('DeploymentNotStarted', 'unavailable', 'The deployment is not started.', { data: 'deployment' }),
  one('DeploymentUnloaded', 'unavailable', 'An operator unloaded the deployment. It serves again when it is loaded.', {
    data: 'deployment',
  }),
  one('FailedDeployment', 'unavailable', 'The deployment could not start, and the host stopped trying.', {
    data: 'deployment, last_lines',
  }),
  one(
    'InsufficientResources',
    'unavailable',
    'The devices have no room for a replica, or the disk has no room for a model.',
    {
      data: 'deployment',
    },
  ),
  one(
    'PoisonousCallError',
    'bad-request',
    'Two replicas were lost while they worked on this call. The call is suspected as the cause and refused for ten minutes, for every caller.',
    { data: 'deployment, method, replicas, refused_for_s' },
  ),
  one(
    'DeploymentUnavailable',
    'unavailable',
    'No replica serves, because none can start at the moment. `Retry-After` has the time until the next attempt.',
    { data: 'deployment, retry_after_s' },
  ),
  one(
    'ReplicaLostError',
    'unavailable',
    'The replica was lost during the call, or was ended because its calls exceeded their time (`planned`), and the call could not be repeated.',
    { data: 'deployment, replica, signal, planned' },
  ),
  one('ArtifactNotFound', 'internal', 'Decoded audio for a deployment is missing.', { data: 'id' }),
  one('ReplicaNotReady', 'unavailable', 'The replica does not accept calls yet.'),
  one('DeploymentNotFound', 'not-found', 'No deployment has this name.'),
  one('MethodNotFound', ['not-found', 'bad-request'], 'The deployment has no such method, or it does not stream.'),
  one('NotAStream', 'internal', 'A method that does not stream was called as a streaming method.'),
  one('MessageTooLarge', 'too-large', 'The arguments or the answer of a call are too large for a replica.'),
  // Plugins.
  one('PluginTrapError', 'plugin-failed', 'The plugin crashed, or exceeded its memory limit.', {
    data: 'plugin, endpoint',
  }),
  one('PluginUnavailable', 'unavailable', 'The plugin has too many waiting requests, or is being replaced.'),
  one('InvocationTimeout', 'deadline-exceeded', 'The plugin exceeded its time limit or its limit of computing time.', {
    data: 'deadline_ms, cpu_ms, cpu_slice_ms',
  }),
  one(
    'OutputTooLarge',
    'too-large',
    'The answer of the plugin exceeds `plugin_limits.output_bytes`, 2 million values or 256 levels of nesting, or its error has too much data.',
    { data: 'limit' },
  ),
  one('TooManyHostCalls', 'too-large', 'The plugin exceeded its limit of calls of the host.', { data: 'limit' }),
  one('TooManyHandles', 'too-large', 'The plugin exceeded its limit of open media, streams and helpers.', {
    data: 'limit',
  }),
  one(
    'ArgumentsTooLarge',
    'too-large',
    'The arguments of a call by the plugin are too large, too many, or nested deeper than 256 levels.',
    { data: 'limit' },
  ),
  one(
    'HeldTooMuch',
    'too-large',
    'The inputs and results of the helpers that the plugin holds are together too large.',
    { data: 'limit' },
  ),
  one('ValueTooLarge', 'too-large', 'A value that the plugin wants to store is too large.', { data: 'bytes, limit' }),
  one('ResponseTooLarge', 'too-large', 'The answer to a request by the plugin is too large.', { data: 'max_bytes' }),
  one('CapabilityDenied', 'denied', 'The plugin uses a capability that it was not granted.', { data: 'capability' }),
  one('DeploymentDenied', 'denied', 'The plugin calls a deployment that it was not granted.', { data: 'deployment' }),
  one('HostDenied', 'denied', 'The plugin sends a request to a host that it was not granted.', { data: 'host' }),
  one('NestedHelper', 'denied', 'A helper of the plugin tries to start a helper.'),
  one('InvalidArguments', ['invalid-input', 'denied'], 'The plugin calls the host with invalid arguments.'),
  one('InvalidHandle', 'bad-request', 'The plugin uses a handle that it does not hold.'),
  one('InvalidKey', 'invalid-input', 'The plugin uses a storage key that is empty or too long.'),
  one('InvalidRequest', 'invalid-input', 'The plugin makes an invalid request.'),
  one('StreamNotEnded', 'conflict', 'A plugin asks how an answer ended before it has read it.'),
  one('NotStreaming', 'bad-request', 'The plugin writes a stream, but its endpoint does not stream.'),
];

/** Errors that only programs, commands and the operator see. */
export const PROGRAM_ERRORS: readonly CataloguedError[] = [
  one('AlreadyConnected', 'conflict', 'The application already listens or is already attached.'),
  one('AlreadyDeployed', 'conflict', 'The application was already deployed or shut down.'),
  one(
    'ApplicationInReplica',
    'internal',
    'The module of a deployment class starts an application when it is imported.',
  ),
  one('ArchiveError', 'internal', 'A fetched package cannot be unpacked.'),
  one('ClientFileError', 'invalid-input', 'The generated client cannot be written to this path.'),
  one('CommandNotFound', 'internal', 'A required program is missing.', { data: 'command' }),
  one(
    'BackupError',
    ['invalid-input', 'conflict', 'internal'],
    'A backup cannot be made or restored. The message says why, and what to do.',
  ),
  one('ConfigError', 'invalid-input', 'The configuration is wrong. The message names the key.'),
  one('ConnectionClosed', 'unavailable', 'This process closed the connection to the running application.'),
  one('ConnectionLost', 'unavailable', 'The connection to the running application broke.', { data: 'url' }),
  one('ControlProtocolError', 'bad-request', 'An attached process sent an invalid message.'),
  one('DemoError', 'internal', 'The demonstration cannot continue.'),
  one('DeploymentBusy', 'conflict', 'The deployment is starting, changing or stopping.'),
  one('DeploymentClassError', 'invalid-input', 'The declaration of a deployment class is wrong.', { data: 'class' }),
  one('DeploymentExists', 'conflict', 'Another deployment has this name.'),
  one('DeploymentImportError', 'internal', 'A replica cannot import the deployment class.'),
  one('ChangesRefused', 'conflict', 'A running application cannot apply the configuration.', { data: 'refused' }),
  one('ChangesRunning', 'conflict', 'Another configuration is being applied.'),
  one('PlanChanged', 'conflict', 'The application has changed since the plan was made.'),
  one(
    'NoPreviousConfiguration',
    'conflict',
    'No configuration was applied since the start, so there is none to go back to.',
  ),
  one('DeploymentRunning', 'conflict', 'The deployment already runs.'),
  one('DeploymentTypeChanged', 'conflict', 'The class of a deployment cannot change.'),
  one('DeploymentTypeError', 'bad-request', 'A handle was requested with a class that the deployment does not have.'),
  one('DocumentError', 'invalid-input', 'The OpenAPI document cannot be read.'),
  one('EngineEnded', 'internal', 'The engine of a replica ended unexpectedly. The replica is replaced.'),
  one('FfmpegNotFound', 'invalid-input', 'The configured ffmpeg does not run.'),
  one('ImportError', 'invalid-input', 'A module or application cannot be imported.'),
  one('InvalidInput', 'invalid-input', 'The arguments for importing or removing a model are wrong.'),
  one('InvalidModelId', 'invalid-input', 'The text is not a valid id of a model.', { data: 'id' }),
  one('ListenError', ['unavailable', 'invalid-input'], 'The address to listen on is not available.'),
  one(
    'TlsError',
    'invalid-input',
    'The certificate of the server, its key or the authorities of clients cannot be used.',
  ),
  one('MigrationError', 'conflict', 'The database cannot be brought up to date.'),
  one('MissingBuildTool', 'internal', 'A tool that the native build needs is missing.'),
  one('ModelDamaged', 'internal', 'The file of a model has changed.', { data: 'id, file' }),
  one('ModelExists', 'conflict', 'A model with this id already exists.', { data: 'id' }),
  one('ModelFormatError', 'bad-request', 'The file is not a readable model.', { data: 'file' }),
  one('ModelInUse', 'conflict', 'A model cannot be removed while a deployment loads it.', { data: 'id, deployments' }),
  one('ModelNotFound', ['not-found', 'internal'], 'No such model exists.', { data: 'id' }),
  one('NativeBuildFailed', 'internal', 'The native addon could not be built.'),
  one('NewPluginRefused', 'invalid-input', 'A plugin cannot be made in this folder.'),
  one('NotReconfigurable', 'conflict', 'The configuration of the deployment cannot change while it runs.'),
  one('NotRunning', 'unavailable', 'No application runs to which the process can attach.', { data: 'url' }),
  one('OtherVersion', 'conflict', 'The running application has another version.'),
  one(
    'NoWebhookSecret',
    'internal',
    'A webhook has no secret for its signature. The log of its deliveries shows this error.',
  ),
  one('PluginLoadError', 'internal', 'A plugin cannot be loaded.', { data: 'plugin' }),
  one('PluginNotFound', 'not-found', 'No such plugin exists.'),
  one('ProcessMemoryTooLarge', 'internal', 'A child process used too much memory.'),
  one('ProcessOutputTooLarge', 'internal', 'A child process wrote too much.'),
  one('ProcessTimeout', 'deadline-exceeded', 'A child process ran for too long.'),
  one('ReplicaProtocolError', 'internal', 'A replica sent an invalid message.'),
  one(
    'ReconfigureTimeout',
    'deadline-exceeded',
    'A replica made no progress with a changed configuration for `start_timeout_s`. It is replaced by one with the old configuration.',
  ),
  one('ReplicaStartError', 'internal', 'A replica could not be started.'),
  one(
    'RouterError',
    ['conflict', 'invalid-input'],
    'A router, or the prefix under which the application is mounted, is refused.',
  ),
  one('SeveralRunning', 'conflict', 'Several applications run, and the command names none of them.', { data: 'urls' }),
  one('YtDlpNotFound', 'invalid-input', 'The configured yt-dlp does not run.'),
  one('TypeError', 'invalid-input', 'The module exports no application.'),
];

const ORIGINAL_STATUS: ReadonlyMap<string, number> = new Map(
  [...REQUEST_ERRORS, ...PROGRAM_ERRORS].map(({ name, original }) => [name, original]),
);

/** Returns the status of an error in the original system: 400 for most errors, also for unknown ones. */
export function originalStatusOf(name: string): number {
  return ORIGINAL_STATUS.get(name) ?? 400;
}
