import { type Definitions, ISSUES } from './definition.ts';

/** Errors of deployments. */
export const DEPLOYMENTS = {
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
  AudioNotSupported: {
    kind: 'bad-request',
    when: 'The dialog has audio, and the model hears none.',
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
  OnnxRunFailed: {
    kind: 'bad-request',
    when: 'An ONNX model cannot compute with the given inputs.',
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
    when: 'The client read nothing of the answer for a minute, or much less than came, so the model stopped.',
    data: ['model_name'],
  },
  DeadlineExceeded: {
    kind: 'deadline-exceeded',
    when: 'The deadline of the request passed while it waited for a model, or while the model worked on it.',
    data: ['model_name?', 'deployment?', 'timeout_s?'],
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
  ControllerSuperseded: {
    kind: 'unavailable',
    when: 'Another host has become the controller of the application, so this one changes and starts no replicas.',
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
  ArtifactNotFound: {
    kind: 'internal',
    when: 'A deployment cannot get decoded audio, a picture or an upload: it is missing, or its bytes are wrong.',
    data: ['id?'],
  },
  ReplicaNotReady: { kind: 'unavailable', when: 'The replica does not accept calls yet.' },
  DeploymentNotFound: { kind: 'not-found', when: 'No deployment has this name.' },
  HandleNotDeclared: {
    kind: 'internal',
    when: 'A deployment class asks for a handle that its `static handles` does not name.',
  },
  ModelNotNamed: {
    kind: 'bad-request',
    when: 'A method of a deployment with many models needs one, and the call names none (`multiplexedModelId`).',
  },
  ModelTooLarge: {
    kind: 'bad-request',
    when: 'A model has more bytes than its deployment class keeps of all models together (`multiplexed.maxBytes`).',
  },
  MethodNotFound: { kind: 'not-found', when: 'The deployment has no such method.', data: ['deployment?', 'method?'] },
  StreamMismatch: {
    kind: 'bad-request',
    when: 'The method of a deployment streams and the call does not, or the other way round.',
  },
  NotAStream: { kind: 'internal', when: 'A method that does not stream was called as a streaming method.' },
  MessageTooLarge: { kind: 'too-large', when: 'The arguments or the answer of a call are too large for a replica.' },
} as const satisfies Definitions;
