import { type Definitions, ISSUES } from './definition.ts';

/** Errors of the request itself, of its caller, and of the application as a whole. */
export const REQUESTS = {
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
  NotReady: { kind: 'unavailable', when: 'The application is starting, or is still building plugins.', original: 503 },
  HostDraining: {
    kind: 'unavailable',
    when: 'An operator drains the host, which takes no new requests and calls. Another host may take them.',
    original: 503,
  },
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
} as const satisfies Definitions;
