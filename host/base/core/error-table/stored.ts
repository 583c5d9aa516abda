import type { Definitions } from './definition.ts';

/** Errors of tasks and of stored things. */
export const STORED = {
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
  ObjectStoreUnavailable: {
    kind: 'unavailable',
    when: 'The object store does not answer, or refuses what the host asks. `data.store` names it.',
    data: ['store'],
  },
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
  VectorModelMismatch: {
    kind: 'conflict',
    when: 'A collection has vectors of another model, or with another number of dimensions.',
    data: ['collection', 'model', 'dimensions'],
  },
  VectorsUnavailable: {
    kind: 'internal',
    when: 'The database cannot store vectors, because its extension for them is missing or too old.',
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
} as const satisfies Definitions;
