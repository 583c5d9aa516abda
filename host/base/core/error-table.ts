// Every error that this package throws: the one place that states its kind, its status and when it occurs. `fail` makes
// the errors, and `docs/errors.md` is made from the table.

/**
 * The kind of an error, by which a caller decides what to do.
 *
 * - `invalid-input`: the request does not match the schema
 * - `bad-request`: well-formed, but cannot be served: an unreachable URL, a file that is not media
 * - `unauthenticated`: the request has no key, or its key is unknown or has expired
 * - `denied`: a private address, a path outside the allowed directories
 * - `not-found`: the named thing does not exist
 * - `conflict`: the request contradicts the present state
 * - `too-large`: over a size limit
 * - `rate-limited`: too many requests in a period of time
 * - `unavailable`: a replica was lost or a queue is full; trying again may work
 * - `deadline-exceeded`: over a time limit
 * - `cancelled`: the client went away
 * - `plugin-failed`: guest code trapped
 * - `internal`: a fault of the host
 */
export type ErrorKind = keyof typeof KINDS;

/**
 * Whose fault an error is. Health checks, retries and updates depend on it.
 *
 * - `caller`: the call itself is wrong; the same call fails everywhere and says nothing about the replica
 * - `deployment`: the code or the model that worked on the call failed
 * - `replica-lost`: the process that worked on the call ended; the call may have had no part in that
 * - `overload`: nothing worked on the call, because there was no room for it
 * - `cancelled`: the caller left, or its time was up
 */
export type Fault = 'caller' | 'deployment' | 'replica-lost' | 'overload' | 'cancelled';

interface KindDefinition {
  /** The HTTP status. */
  readonly status: number;
  readonly fault: Fault;
}

/** The status and the fault of each kind of error. */
export const KINDS = {
  'invalid-input': { status: 422, fault: 'caller' },
  'bad-request': { status: 400, fault: 'caller' },
  unauthenticated: { status: 401, fault: 'caller' },
  denied: { status: 403, fault: 'caller' },
  'not-found': { status: 404, fault: 'caller' },
  conflict: { status: 409, fault: 'caller' },
  'too-large': { status: 413, fault: 'caller' },
  'rate-limited': { status: 429, fault: 'caller' },
  unavailable: { status: 503, fault: 'overload' },
  'deadline-exceeded': { status: 504, fault: 'cancelled' },
  cancelled: { status: 499, fault: 'cancelled' },
  'plugin-failed': { status: 502, fault: 'deployment' },
  internal: { status: 500, fault: 'deployment' },
} as const satisfies Readonly<Record<string, KindDefinition>>;

interface ErrorDefinition {
  readonly kind: ErrorKind;
  /** Its HTTP status. Default: that of its kind. */
  readonly status?: number;
  /** A sentence for the documentation. */
  readonly when: string;
  /**
   * Keys of `data`; one that not each of these errors has ends with `?`. A text describes data that are no object with
   * these keys. Default: no data.
   */
  readonly data?: readonly string[] | string;
  /** Given if a task has another attempt after it. After an error of kind `unavailable` it always has one. */
  readonly retry?: true;
  /** Its status with `compat_status: original`. Default: 400. */
  readonly original?: number;
}

type Definitions = Readonly<Record<string, ErrorDefinition>>;

const ISSUES = 'list of type, loc, msg, input';

/** Errors of requests. */
export const REQUEST_ERRORS = {
  // The request itself.
  ValidationError: {
    kind: 'invalid-input',
    when:
      'The input does not match its schema, or a part, field, header or query parameter is missing, repeated ' +
      'or unknown.',
    data: ISSUES,
    original: 422,
  },
  UploadedFileNotFound: {
    kind: 'invalid-input',
    when: 'The input names a file part that was not uploaded.',
    data: `${ISSUES}; content`,
  },
  MalformedRequest: { kind: 'bad-request', when: 'The request is not HTTP, or its form cannot be read.' },
  HttpsExpected: { kind: 'bad-request', when: 'A client used plain HTTP on a port that speaks HTTPS.' },
  OriginNotAllowed: {
    kind: 'denied',
    when:
      'The request comes from a page of another origin, and `cors` does not allow it, or it would change ' +
      'data with GET.',
    original: 403,
  },
  HostNotAllowed: {
    kind: 'bad-request',
    status: 421,
    when: 'The name in the header `host` is not a name of the server. `allowed_hosts` adds names.',
    original: 421,
  },
  NotFound: { kind: 'not-found', when: 'No route has this path.', original: 404 },
  ProfileRefused: { kind: 'conflict', when: 'Another profile is being made.' },
  ContentsHidden: {
    kind: 'denied',
    when: 'Admins may not read contents of users (`api_service.admins_see_contents`).',
  },
  MethodNotAllowed: {
    kind: 'bad-request',
    status: 405,
    when: 'The path does not accept this method. The header `allow` lists the accepted ones.',
    original: 405,
  },
  UpgradeRequired: {
    kind: 'bad-request',
    status: 426,
    when: 'The path takes only requests that open a WebSocket.',
    original: 426,
  },
  RequestTimeout: { kind: 'bad-request', status: 408, when: 'The request took too long to arrive.', original: 408 },
  RequestTooLarge: {
    kind: 'too-large',
    when: 'The request, a file, a field or the number of files exceeds a limit.',
    data: ['limit?', 'param?'],
    original: 413,
  },
  HeadTooLarge: {
    kind: 'too-large',
    status: 431,
    when: 'The head of the request has too many bytes or lines.',
    original: 413,
  },
  UnsupportedMediaType: {
    kind: 'bad-request',
    status: 415,
    when: 'The content type, charset or content encoding is not supported.',
    original: 415,
  },
  ExpectationFailed: {
    kind: 'bad-request',
    status: 417,
    when: 'The header `expect` has another value than `100-continue`.',
    original: 417,
  },
  CancelledError: {
    kind: 'cancelled',
    when: 'The client closed the connection. Only the log shows this error.',
    original: 499,
  },
  RedocNotFound: { kind: 'unavailable', when: 'The bundle of Redoc is missing and cannot be fetched.', original: 503 },
  // The caller.
  ApiKeyNotProvided: { kind: 'unauthenticated', when: 'The request has no API key.', data: ['message'] },
  ApiKeyNotFound: { kind: 'unauthenticated', when: 'The API key is unknown or mistyped.', data: ['message'] },
  ApiKeyExpired: { kind: 'unauthenticated', when: 'The API key has expired.', data: ['message'] },
  ApiKeyValidationFailed: {
    kind: 'unavailable',
    when: 'API keys cannot be checked, because the database does not answer.',
    data: ['message'],
  },
  InsufficientScope: { kind: 'denied', when: 'The scopes of the API key do not allow this path.', data: ['message'] },
  AdminOnlyAccess: { kind: 'denied', when: 'The path is only for API keys of admins.', data: ['message'] },
  InactiveSubscription: { kind: 'denied', when: 'The path needs an active subscription.', data: ['message'] },
  TooManyRequestsException: {
    kind: 'rate-limited',
    when: 'The caller exceeded a rate limit or a limit of its user. `Retry-After` has the time to wait.',
    data: ['rate_limit', 'rate_duration', 'limit', 'retry_after_s'],
  },
  // The application.
  NotReady: { kind: 'unavailable', when: 'The application is starting.', original: 503 },
  ShuttingDown: { kind: 'unavailable', when: 'The application is shutting down.', original: 503 },
  RuntimeError: {
    kind: 'bad-request',
    when: 'The request asks to become a task, or a batch, but the task queue is off.',
  },
  TimeoutError: {
    kind: 'deadline-exceeded',
    when: 'The run took longer than `limits.invocation_timeout_s`.',
    retry: true,
  },
  OutputError: {
    kind: 'internal',
    when:
      'The output of the endpoint does not match its schema, or is no stream although it is declared as one. ' +
      'The log names the place.',
  },
  EndpointError: { kind: 'invalid-input', when: 'The declaration of an endpoint is wrong.' },
  EndpointConflict: {
    kind: 'conflict',
    when: 'Another endpoint or route has the name or the path of the endpoint, or the plugin lacks the endpoint.',
  },
  EndpointNotInitialized: { kind: 'unavailable', when: 'The endpoint could not be initialized.' },
  StorageFull: {
    kind: 'too-large',
    when: 'A plugin or a user exceeds its limit of stored data.',
    data: ['limit?', 'max_bytes?', 'param?'],
  },
  DiskFullException: {
    kind: 'unavailable',
    when:
      'A disk of the server has no space left. `data.directory` names the folder if the disk is that of ' +
      'temporary files.',
    data: ['directory?'],
  },
  // WebSockets. After the handshake, an error is the last message, and its kind decides the close code.
  TooManySockets: { kind: 'rate-limited', when: 'The caller has as many WebSockets as it may have.' },
  SocketsFull: { kind: 'unavailable', when: 'The server has as many WebSockets as it may have.' },
  InvalidAudio: {
    kind: 'invalid-input',
    when: 'Audio of a WebSocket has half a sample, or a value that is not a number.',
  },
  UnsupportedMessage: { kind: 'invalid-input', when: 'A WebSocket takes no such message.' },
  SocketIdle: { kind: 'deadline-exceeded', when: 'The client sent nothing for `sockets.idle_timeout_s`.' },
  SocketLost: { kind: 'deadline-exceeded', when: 'The client did not answer a ping for `sockets.ping_interval_s`.' },
  SocketExpired: { kind: 'deadline-exceeded', when: 'The WebSocket was open for `sockets.max_duration_s`.' },
  // Tools of the Model Context Protocol. Errors of runs are results of tools, as are the errors of endpoints.
  TooManySubscriptions: {
    kind: 'rate-limited',
    when: 'The caller has 32 subscriptions to changes of the tools of `/mcp`.',
  },
  ResultTooLarge: {
    kind: 'too-large',
    when: 'The result of a tool has more bytes than `mcp.max_result_bytes`.',
    data: ['limit'],
  },
  // OpenAI's API.
  UnknownModel: { kind: 'not-found', when: 'No model of `/v1/models` that can do this has the name.', data: ['param'] },
  InvalidParameter: {
    kind: 'bad-request',
    when: 'A parameter of a request below `/v1` is missing or wrong.',
    data: ['param?', 'code?'],
  },
  UnsupportedParameter: {
    kind: 'bad-request',
    when: 'A parameter of a request below `/v1` has no effect here.',
    data: ['param'],
  },
  ResponseNotFound: { kind: 'not-found', when: 'The user has no stored response with this id.', data: ['param'] },
  PreviousResponseNotFound: {
    kind: 'bad-request',
    when:
      'The user has no stored response with the id in `previous_response_id`, or one that it continues ' +
      'was removed.',
    data: ['param'],
  },
  StoredFileNotFound: {
    kind: 'not-found',
    when: 'The user has no file of `/v1/files` with this id, or it has expired.',
    data: ['param'],
  },
  FileInUse: { kind: 'conflict', when: 'A file that is the input of a batch which has not ended cannot be deleted.' },
  UploadNotFound: { kind: 'not-found', when: 'The user has no upload with this id.', data: ['param'] },
  UploadEnded: { kind: 'conflict', when: 'The upload is completed, cancelled or expired.' },
  TooManyParts: { kind: 'bad-request', when: 'The upload has as many parts as it may have.' },
  WrongParts: {
    kind: 'bad-request',
    when: 'The parts of an upload are not the file that was announced.',
    data: ['param'],
  },
  BatchNotFound: { kind: 'not-found', when: 'The user has no batch with this id.', data: ['param'] },
  BatchNotEnded: {
    kind: 'conflict',
    when: 'A batch of messages that has not ended has no results and cannot be deleted.',
  },
  BatchEnded: { kind: 'conflict', when: 'A batch that has ended cannot be cancelled.' },
  // Tasks and stored things.
  NotFoundException: {
    kind: 'not-found',
    when: 'No such task or other stored object exists.',
    data: ['table?', 'id?'],
    original: 404,
  },
  TaskIsActive: { kind: 'bad-request', when: 'An assigned or running task cannot be deleted.', data: ['id'] },
  TaskNotFailed: { kind: 'bad-request', when: 'Only failed tasks can be retried.', data: ['id'] },
  TaskEnded: { kind: 'conflict', when: 'Only tasks that have not ended can be cancelled.', data: ['id'] },
  TooManyTasks: { kind: 'rate-limited', when: 'The user has too many waiting tasks.', data: ['max_waiting'] },
  TaskStorageFull: {
    kind: 'rate-limited',
    when: "The uploads and results of the user's tasks would exceed the limit of stored bytes.",
    data: ['max_bytes', 'used_bytes'],
  },
  TooManyWatchers: {
    kind: 'rate-limited',
    when: 'The user watches too many tasks and responses at the same time.',
    data: ['max_watchers'],
  },
  IdempotencyKeyReused: {
    kind: 'conflict',
    when: 'The idempotency key was used for another request.',
    data: ['task_id'],
  },
  UploadedFileLost: {
    kind: 'internal',
    when: 'A file that was uploaded, for a task or to `/v1/files`, is missing or was changed.',
    data: ['content'],
  },
  ResultNotStored: { kind: 'internal', when: 'A task completed, but the database refused its result.' },
  EndpointNotFoundException: { kind: 'unavailable', when: 'The endpoint of a task is not registered at the moment.' },
  DatabaseException: { kind: 'unavailable', when: 'The database does not answer.', data: ['message'] },
  DatabaseFault: {
    kind: 'internal',
    when: 'The database refuses a statement, is damaged or is set up wrong.',
    data: ['message'],
    retry: true,
  },
  MediaIdAlreadyExistsException: {
    kind: 'conflict',
    when: 'A media with this id already exists.',
    data: ['table', 'id'],
  },
  InvalidWebhookEventType: { kind: 'bad-request', when: 'No such event exists.', data: ['event_type'] },
  AlertsForAdmins: {
    kind: 'denied',
    when: 'Only the key of an admin sets a webhook for events of alerts.',
    data: ['event_type'],
  },
  TooManyPulls: { kind: 'conflict', when: 'The host pulls four models already.' },
  TooManyWebhooks: { kind: 'conflict', when: 'The user has too many webhooks.', data: ['max_webhooks'] },
  WebhookDisabled: { kind: 'conflict', when: 'A delivery of a disabled webhook cannot be sent again.', data: ['id'] },
  DeliveryIsActive: { kind: 'conflict', when: 'The delivery is being sent at the moment.', data: ['id'] },
  ApiKeyAlreadyExists: { kind: 'conflict', when: 'An API key with this id already exists.', data: ['key_id'] },
  // Media.
  DownloadException: { kind: 'bad-request', when: 'A URL of a request cannot be fetched.', data: ['url'] },
  UpstreamFailed: {
    kind: 'unavailable',
    when: 'A request of a plugin to another server has failed.',
    data: ['url'],
  },
  DownloadFailed: {
    kind: 'unavailable',
    when: 'A model, a package or a tool cannot be downloaded.',
    data: ['url?', 'reasons?'],
  },
  PrivateAddressException: {
    kind: 'denied',
    when: 'A URL leads to a private, local or metadata address.',
    data: ['url'],
  },
  PathNotAllowedException: { kind: 'denied', when: 'The path is outside of `media.allow_paths`.', data: ['path'] },
  FileNotFoundError: { kind: 'bad-request', when: 'The path has no file, or no readable file.', data: ['path'] },
  MediaTooLargeException: {
    kind: 'too-large',
    when: 'The media at a URL has more bytes than `media.max_bytes`.',
    data: ['url?', 'max_bytes'],
  },
  MediaTooLongException: {
    kind: 'too-large',
    when: 'The media is longer than `media.max_duration_s`.',
    data: ['video', 'max_duration'],
  },
  VideoReadingException: { kind: 'bad-request', when: 'The file is not a readable video.', data: ['video', 'message'] },
  AudioReadingException: { kind: 'bad-request', when: 'The file has no readable audio.', data: ['audio?', 'message?'] },
  DecodedAudioError: { kind: 'internal', when: 'Decoded audio for a deployment is missing or damaged.' },
  ImageReadingException: { kind: 'bad-request', when: 'The file is not a readable image.', data: ['image', 'message'] },
  ImageTooLargeException: {
    kind: 'too-large',
    when: 'The image has more pixels than the limit.',
    data: ['image', 'max_pixels'],
  },
  ImagesTooLargeException: {
    kind: 'too-large',
    when: 'A plugin decodes images whose files are too large together.',
    data: ['max_bytes'],
  },
  PdfReaderError: {
    kind: 'internal',
    when: 'The process that reads PDFs ended unexpectedly. The log has its last words.',
  },
  // Deployments.
  InferenceException: { kind: 'internal', when: 'The engine failed.', data: ['model_name'], retry: true },
  PromptTooLongException: {
    kind: 'bad-request',
    when: 'The prompt has more tokens than the model accepts.',
    data: ['prompt_len', 'max_len'],
  },
  ImagesNotSupported: {
    kind: 'bad-request',
    when: 'The dialog has an image, and the model takes none.',
    data: ['model_name?'],
  },
  EmptyPrompt: {
    kind: 'bad-request',
    when: 'The prompt is empty, and the model cannot start without one.',
    data: ['model_name'],
  },
  InvalidPrompt: { kind: 'bad-request', when: 'The model cannot read the prompt.', data: `model_name; or ${ISSUES}` },
  UnknownPrompt: {
    kind: 'bad-request',
    when: 'The configuration of a deployment for embeddings has no prompt of this name.',
    data: ['model_name'],
  },
  TooManyDimensions: {
    kind: 'bad-request',
    when: 'The vectors of the model have fewer dimensions than the call wants.',
    data: ['model_name'],
  },
  TooManyTexts: {
    kind: 'bad-request',
    when: 'The vectors of all texts together are too large for one answer.',
    data: ['model_name'],
  },
  InvalidSamplingParams: {
    kind: 'bad-request',
    when: 'Sampling parameters contradict each other, do not fit the model, or leave no token to choose.',
    data: ['model_name?'],
  },
  UnknownAdapter: {
    kind: 'bad-request',
    when: 'The deployment has no LoRA adapter of that name.',
    data: ['model_name', 'adapters'],
  },
  OverflowNotSupported: {
    kind: 'bad-request',
    when: 'The model cannot forget a part of its context (`overflow` "shift").',
    data: ['model_name'],
  },
  SlowReader: {
    kind: 'bad-request',
    when: 'The client read nothing of the answer for a minute, so the model stopped.',
    data: ['model_name'],
  },
  DeadlineExceeded: {
    kind: 'deadline-exceeded',
    when: 'The deadline of the request passed while it waited for a model, or while the model worked on it.',
    data: ['model_name'],
  },
  EngineFull: { kind: 'unavailable', when: "The model's memory had no room for the request.", data: ['model_name'] },
  ChatTemplateException: {
    kind: 'bad-request',
    when: "The model's chat template does not accept the dialog.",
    data: ['model_name'],
  },
  RemoteServerUnavailable: {
    kind: 'unavailable',
    when:
      'The server that computes for a deployment gave no answer, or has no room. `Retry-After` has the wait ' +
      'that it asks for.',
    data: ['retry_after_s?'],
  },
  RemoteAccessDenied: {
    kind: 'internal',
    when: 'The server that computes for a deployment refuses the key of the deployment.',
  },
  RemoteModelNotFound: {
    kind: 'internal',
    when: 'The server that computes for a deployment does not have the model.',
    data: ['model_name'],
  },
  RemoteRequestRefused: {
    kind: 'bad-request',
    when: 'The server that computes for a deployment refuses the request.',
    data: ['model_name'],
  },
  NotSupportedByServer: {
    kind: 'bad-request',
    when: 'The server that computes for a deployment has no such function, for example counting of tokens.',
  },
  InvalidOutput: { kind: 'internal', when: 'The output of a deployment does not match its schema.' },
  DeploymentFull: {
    kind: 'unavailable',
    when: 'Too many calls wait for a replica. `Retry-After` has the time until there is room.',
    data: ['deployment', 'max_queued_requests', 'retry_after_s'],
  },
  DeploymentOverloaded: {
    kind: 'unavailable',
    when: 'The calls before this one take longer than its deadline allows. `Retry-After` has the estimated wait.',
    data: ['deployment', 'estimated_wait_s', 'retry_after_s'],
  },
  DeploymentStopped: { kind: 'unavailable', when: 'The deployment is shutting down.', data: ['deployment?'] },
  DeploymentNotStarted: { kind: 'unavailable', when: 'The deployment is not started.', data: ['deployment'] },
  DeploymentUnloaded: {
    kind: 'unavailable',
    when: 'An operator unloaded the deployment. It serves again when it is loaded.',
    data: ['deployment'],
  },
  FailedDeployment: {
    kind: 'unavailable',
    when: 'The deployment could not start, and the host stopped trying.',
    data: ['deployment?', 'last_lines?', 'deployments?'],
  },
  InsufficientResources: {
    kind: 'unavailable',
    when: 'The devices have no room for a replica, the disk none for a model, or the memory none for a heap snapshot.',
    data: ['deployment?', 'folder?', 'needed_bytes?', 'deployments?'],
  },
  PoisonousCallError: {
    kind: 'bad-request',
    when:
      'Two replicas were lost while they worked on this call. The call is suspected as the cause and refused ' +
      'for ten minutes, for every caller.',
    data: ['deployment', 'method', 'replicas', 'refused_for_s'],
  },
  DeploymentUnavailable: {
    kind: 'unavailable',
    when: 'No replica serves, because none can start at the moment. `Retry-After` has the time until the next attempt.',
    data: ['deployment', 'retry_after_s'],
  },
  ReplicaLostError: {
    kind: 'unavailable',
    when:
      'The replica was lost during the call, or was ended because its calls exceeded their time (`planned`), ' +
      'and the call could not be repeated.',
    data: ['deployment?', 'replica?', 'signal?', 'planned?'],
  },
  ArtifactNotFound: { kind: 'internal', when: 'Decoded audio for a deployment is missing.', data: ['id?'] },
  ReplicaNotReady: { kind: 'unavailable', when: 'The replica does not accept calls yet.' },
  DeploymentNotFound: { kind: 'not-found', when: 'No deployment has this name.' },
  MethodNotFound: { kind: 'not-found', when: 'The deployment has no such method.', data: ['deployment?', 'method?'] },
  StreamMismatch: {
    kind: 'bad-request',
    when: 'The method of a deployment streams and the call does not, or the other way round.',
  },
  NotAStream: { kind: 'internal', when: 'A method that does not stream was called as a streaming method.' },
  MessageTooLarge: { kind: 'too-large', when: 'The arguments or the answer of a call are too large for a replica.' },
  // Plugins.
  PluginTrapError: {
    kind: 'plugin-failed',
    when: 'The plugin crashed, or exceeded its memory limit.',
    data: ['plugin', 'endpoint'],
  },
  PluginUnavailable: {
    kind: 'unavailable',
    when: 'The plugin has too many waiting requests, is being replaced, or lost its process.',
  },
  PluginNotConfigured: {
    kind: 'unavailable',
    when: 'A setting that the plugin needs has no value, or one that cannot be used. `plugin_settings` gives it.',
    data: ['plugin?', 'settings'],
  },
  InvocationTimeout: {
    kind: 'deadline-exceeded',
    when: 'The plugin exceeded its time limit or its limit of computing time.',
    data: ['deadline_ms?', 'cpu_ms?', 'cpu_slice_ms?'],
  },
  OutputTooLarge: {
    kind: 'too-large',
    when:
      'The answer of the plugin exceeds `plugin_limits.output_bytes`, 2 million values or 256 levels of ' +
      'nesting, or its error has too much data.',
    data: ['limit'],
  },
  TooManyHostCalls: { kind: 'too-large', when: 'The plugin exceeded its limit of calls of the host.', data: ['limit'] },
  TooManyHandles: {
    kind: 'too-large',
    when: 'The plugin exceeded its limit of open media, streams and helpers.',
    data: ['limit'],
  },
  ArgumentsTooLarge: {
    kind: 'too-large',
    when: 'The arguments of a call by the plugin are too large, too many, or nested deeper than 256 levels.',
    data: ['limit'],
  },
  HeldTooMuch: {
    kind: 'too-large',
    when: 'The inputs and results of the helpers that the plugin holds are together too large.',
    data: ['limit'],
  },
  ValueTooLarge: {
    kind: 'too-large',
    when: 'A value that the plugin wants to store is too large.',
    data: ['bytes', 'limit'],
  },
  ResponseTooLarge: {
    kind: 'too-large',
    when: 'The answer to a request by the plugin is too large.',
    data: ['max_bytes'],
  },
  CapabilityDenied: {
    kind: 'denied',
    when: 'The plugin uses a capability that it was not granted.',
    data: ['capability'],
  },
  SettingDenied: {
    kind: 'denied',
    when: 'The plugin reads a setting that its `plugin.json` does not declare.',
    data: ['setting'],
  },
  CryptoFailed: {
    kind: 'bad-request',
    when: 'The plugin calls `crypto.perform` with what its method refuses. `name` is that of the error in the standard.',
    data: ['name'],
  },
  DeploymentDenied: {
    kind: 'denied',
    when: 'The plugin calls a deployment that it was not granted.',
    data: ['deployment'],
  },
  HostDenied: { kind: 'denied', when: 'The plugin sends a request to a host that it was not granted.', data: ['host'] },
  NestedHelper: { kind: 'denied', when: 'A helper of the plugin tries to start a helper.' },
  InvalidArguments: { kind: 'invalid-input', when: 'The plugin calls the host with invalid arguments.' },
  FilesDenied: { kind: 'denied', when: 'The arguments of a call by the plugin name files of the host.' },
  InvalidHandle: { kind: 'bad-request', when: 'The plugin uses a handle that it does not hold.' },
  InvalidKey: { kind: 'invalid-input', when: 'The plugin uses a storage key that is empty or too long.' },
  StoredValueMismatch: {
    kind: 'conflict',
    when: 'A stored value is not what the plugin asks for: it is not a number, or not text.',
  },
  InvalidRequest: { kind: 'invalid-input', when: 'The plugin makes an invalid request.' },
  StreamNotEnded: { kind: 'conflict', when: 'A plugin asks how an answer ended before it has read it.' },
  NotStreaming: { kind: 'bad-request', when: 'The plugin writes a stream, but its endpoint does not stream.' },
} as const satisfies Definitions;

/** Errors that only programs, commands and the operator see. */
export const PROGRAM_ERRORS = {
  AlreadyConnected: { kind: 'conflict', when: 'The application already listens or is already attached.' },
  AlreadyDeployed: { kind: 'conflict', when: 'The application was already deployed or shut down.' },
  ApplicationInReplica: {
    kind: 'internal',
    when: 'The module of a deployment class starts an application when it is imported.',
  },
  ArchiveError: { kind: 'internal', when: 'A fetched package cannot be unpacked.' },
  BackupRefused: {
    kind: 'conflict',
    when: 'A backup cannot be made or restored in the present state. The message says what to do.',
  },
  InvalidBackup: {
    kind: 'invalid-input',
    when: 'The file or folder of a backup cannot be used, or the backup is damaged.',
  },
  ClientFileError: { kind: 'invalid-input', when: 'The generated client cannot be written to this path.' },
  CommandNotFound: { kind: 'internal', when: 'A required program is missing.', data: ['command'] },
  ConfigError: { kind: 'invalid-input', when: 'The configuration is wrong. The message names the key.' },
  ConnectionClosed: { kind: 'unavailable', when: 'This process closed the connection to the running application.' },
  ConnectionLost: { kind: 'unavailable', when: 'The connection to the running application broke.', data: ['url'] },
  ControlProtocolError: { kind: 'bad-request', when: 'An attached process sent an invalid message.' },
  DemoError: { kind: 'internal', when: 'The demonstration cannot continue.' },
  DeploymentBusy: { kind: 'conflict', when: 'The deployment is starting, changing or stopping.' },
  DeploymentClassError: {
    kind: 'invalid-input',
    when: 'The declaration of a deployment class is wrong.',
    data: ['class'],
  },
  DeploymentExists: { kind: 'conflict', when: 'Another deployment has this name.' },
  DeploymentImportError: { kind: 'internal', when: 'A replica cannot import the deployment class.' },
  ChangesRefused: {
    kind: 'conflict',
    when: 'A running application cannot apply the configuration.',
    data: ['refused'],
  },
  ChangesRunning: { kind: 'conflict', when: 'Another configuration is being applied.' },
  PlanChanged: { kind: 'conflict', when: 'The application has changed since the plan was made.' },
  NoPreviousConfiguration: {
    kind: 'conflict',
    when: 'No configuration was applied since the start, so there is none to go back to.',
  },
  DeploymentRunning: { kind: 'conflict', when: 'The deployment already runs.' },
  DeploymentTypeChanged: { kind: 'conflict', when: 'The class of a deployment cannot change.' },
  DeploymentTypeError: {
    kind: 'bad-request',
    when: 'A handle was requested with a class that the deployment does not have.',
  },
  DocumentError: { kind: 'invalid-input', when: 'The OpenAPI document cannot be read.' },
  EngineEnded: { kind: 'internal', when: 'The engine of a replica ended unexpectedly. The replica is replaced.' },
  FfmpegNotFound: { kind: 'invalid-input', when: 'The configured ffmpeg does not run.' },
  ImportError: { kind: 'invalid-input', when: 'A module or application cannot be imported.' },
  InvalidInput: { kind: 'invalid-input', when: 'The arguments of a command or of a function of models are wrong.' },
  InvalidModelId: { kind: 'invalid-input', when: 'The text is not a valid id of a model.', data: ['id'] },
  ListenError: { kind: 'unavailable', when: 'The address to listen on is not available.' },
  InvalidAddress: { kind: 'invalid-input', when: 'The host cannot listen on this address.' },
  TlsError: {
    kind: 'invalid-input',
    when: 'The certificate of the server, its key or the authorities of clients cannot be used.',
  },
  MigrationError: { kind: 'conflict', when: 'The database cannot be brought up to date.' },
  MissingBuildTool: { kind: 'internal', when: 'A tool that the native build needs is missing.' },
  ModelDamaged: { kind: 'internal', when: 'The file of a model has changed.', data: ['id', 'file'] },
  ModelExists: { kind: 'conflict', when: 'A model with this id already exists.', data: ['id'] },
  ModelFormatError: { kind: 'bad-request', when: 'The file is not a readable model.', data: ['file?', 'path?'] },
  ModelInUse: {
    kind: 'conflict',
    when: 'A model cannot be removed while a deployment loads it.',
    data: ['id', 'deployments'],
  },
  ModelNotFound: { kind: 'not-found', when: 'No such model exists.', data: ['id?', 'path?'] },
  NativeBuildFailed: { kind: 'internal', when: 'The native addon could not be built.' },
  NewPluginRefused: { kind: 'invalid-input', when: 'A plugin cannot be made in this folder.' },
  NotReconfigurable: { kind: 'conflict', when: 'The configuration of the deployment cannot change while it runs.' },
  NotRunning: { kind: 'unavailable', when: 'No application runs to which the process can attach.', data: ['url?'] },
  OtherVersion: { kind: 'conflict', when: 'The running application has another version.' },
  NoWebhookSecret: {
    kind: 'internal',
    when: 'A webhook has no secret for its signature. The log of its deliveries shows this error.',
  },
  PluginLoadError: { kind: 'internal', when: 'A plugin cannot be loaded.', data: ['plugin'] },
  PluginNotFound: { kind: 'not-found', when: 'No such plugin exists.' },
  ProcessMemoryTooLarge: { kind: 'internal', when: 'A child process used too much memory.' },
  ProcessOutputTooLarge: { kind: 'internal', when: 'A child process wrote too much.' },
  ProcessTimeout: { kind: 'deadline-exceeded', when: 'A child process ran for too long.' },
  ReplicaProtocolError: { kind: 'internal', when: 'A replica sent an invalid message.' },
  ReconfigureTimeout: {
    kind: 'deadline-exceeded',
    when:
      'A replica made no progress with a changed configuration for `start_timeout_s`. It is replaced by one ' +
      'with the old configuration.',
  },
  ReplicaStartError: { kind: 'internal', when: 'A replica could not be started.' },
  RouterError: {
    kind: 'invalid-input',
    when: 'A router, or the prefix under which the application is mounted, is refused.',
  },
  SeveralRunning: {
    kind: 'conflict',
    when: 'Several applications run, and the command names none of them.',
    data: ['urls'],
  },
  YtDlpNotFound: { kind: 'invalid-input', when: 'The configured yt-dlp does not run.' },
  TypeError: { kind: 'invalid-input', when: 'The module exports no application.' },
} as const satisfies Definitions;

const ERRORS = { ...REQUEST_ERRORS, ...PROGRAM_ERRORS };

/** The name of an error of this package. */
export type ErrorName = keyof typeof ERRORS;

export const ERROR_NAMES = Object.keys(ERRORS) as readonly ErrorName[];

/** Returns the definition of an error of this package. */
export function definitionOf(name: ErrorName): ErrorDefinition {
  return ERRORS[name];
}

/** Returns whether an error is one of this package. */
export function isErrorName(name: string): name is ErrorName {
  return Object.hasOwn(ERRORS, name);
}

/** Returns the definition of an error, or undefined if it is not one of this package. */
export function findDefinition(name: string): ErrorDefinition | undefined {
  return isErrorName(name) ? ERRORS[name] : undefined;
}

type KeysOf<N extends ErrorName> = (typeof ERRORS)[N] extends { readonly data: readonly (infer K extends string)[] }
  ? K
  : never;
type OptionalKeys<K extends string> = K extends `${infer Key}?` ? Key : never;
type RequiredKeys<K extends string> = K extends `${string}?` ? never : K;

/** The data of an error. */
export type ErrorData<N extends ErrorName> = (typeof ERRORS)[N] extends { readonly data: string }
  ? unknown
  : { readonly [K in RequiredKeys<KeysOf<N>>]: unknown } & { readonly [K in OptionalKeys<KeysOf<N>>]?: unknown };

/** Errors that always have data. */
export type NameWithData = { [N in ErrorName]: [RequiredKeys<KeysOf<N>>] extends [never] ? never : N }[ErrorName];
