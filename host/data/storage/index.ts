export type { Connection, Database, Dialect, Row, Statement, Value, WriteOptions } from './database.ts';
export { mayBeCommitted, UnknownOutcomeError } from './errors.ts';
export {
  type AppliedMigration,
  HOST_MIGRATIONS,
  migrate,
  type MigrationSource,
  type MigrationState,
  migrationState,
} from './migrate.ts';
export { PluginStorage } from './plugin-storage.ts';
export { Pruner } from './pruner.ts';
export {
  API_KEYS_CHANGED,
  type ApiKeyChanges,
  type ApiKeyRecord,
  hashApiKey,
  type NewApiKey,
} from './repositories/api-keys.ts';
export { type MediaRepositories, Repositories } from './repositories/index.ts';
export type { CaptionRecord, Page, TranscriptInfo, TranscriptRecord, VideoRecord } from './repositories/media.ts';
export type { BatchAnswer, BatchEnd, BatchFile, BatchLease, BatchTokens } from './repositories/openai/batch-runs.ts';
export {
  batchHasEnded,
  type BatchPage,
  type BatchRecord,
  type BatchStatus,
  type ListedBatch,
  type NewBatch,
} from './repositories/openai/batches.ts';
export type { FilePage, FileRecord, FileRepository } from './repositories/openai/files.ts';
export { type BegunRun, responseChanged, type RunLease, type RunState } from './repositories/openai/response-runs.ts';
export type { ChainLink, NewResponse, ResponseRecord, RunStatus, StoredItem } from './repositories/openai/responses.ts';
export type { PartRecord, UploadRecord, UploadStatus } from './repositories/openai/uploads.ts';
export type { AttemptBatch, ClaimedTask, HeldLease, Lease, Outcome } from './repositories/task-attempts.ts';
export { TASK_CANCELLED, TASKS_WAITING } from './repositories/task-log.ts';
export type {
  AttemptRecord,
  ListedTask,
  NewTask,
  StoredFile,
  TaskEvent,
  TaskFilter,
  TaskRecord,
} from './repositories/task-records.ts';
export { taskStorageFull } from './repositories/task-usage.ts';
export { type EnqueueLimits, tooManyTasks } from './repositories/tasks.ts';
export type { ClaimedUsage } from './repositories/usage-records.ts';
export {
  type AlertHappening,
  type ClaimedDelivery,
  DELIVERIES_WAITING,
  type DeliveryAttempt,
  type DeliveryOutcome,
  type DeliveryRecord,
  type TaskHappening,
} from './repositories/webhook-deliveries.ts';
export {
  ALERT_EVENTS,
  isAlertEvent,
  TASK_EVENTS,
  WEBHOOK_EVENTS,
  WEBHOOKS_CHANGED,
  type WebhookAlertEvent,
  type WebhookChange,
  type WebhookEvent,
  type WebhookHealth,
  type WebhookRecord,
} from './repositories/webhooks.ts';
export { openDatabase, Storage, type StorageConfig, type StorageOptions, type TracedStorage } from './storage.ts';
export { copySqlite, isSqliteOpen, readSqlite, type SqliteFileOptions } from './sqlite/sqlite-file.ts';
export { type NeededFile, neededFiles } from './stored-paths.ts';
export { moveFile, syncFile, syncMadeFolders } from './sync-files.ts';
export { StoredWatchers } from './stored-watchers.ts';
export { whileUnavailable } from './while-unavailable.ts';
export {
  hasEnded,
  nextTaskStatus,
  statusesBefore,
  TASK_STATUSES,
  type TaskStatus,
  type TaskTransition,
} from './task-state.ts';
export { DELIVERY_STATUSES, type DeliveryStatus } from './delivery-status.ts';
