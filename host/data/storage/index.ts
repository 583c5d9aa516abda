export type { Connection, Database, Row, Statement, Value } from './database.ts';
export { mayBeCommitted, UnknownOutcomeError } from './errors.ts';
export { type AppliedMigration, HOST_MIGRATIONS, migrate, type MigrationSource, migrationState } from './migrate.ts';
export { type Listener, Listeners, type Peers } from './listeners.ts';
export { PluginStorage } from './repositories/plugin-storage.ts';
export { Pruner } from './pruner.ts';
export { API_KEYS_CHANGED, type ApiKeyRecord, hashApiKey } from './repositories/api-keys.ts';
export { type MediaRepositories, Repositories } from './repositories/index.ts';
export type { BatchAnswer, BatchEnd, BatchFile } from './repositories/openai/batch-runs.ts';
export {
  batchHasEnded,
  type BatchPage,
  type BatchRecord,
  type ListedBatch,
  type NewBatch,
  pruneBatches,
} from './repositories/openai/batches.ts';
export {
  type FileBytes,
  type FilePage,
  type FileRecord,
  type FileRepository,
  pruneFiles,
  bytesOfFile,
} from './repositories/openai/files.ts';
export { type BegunRun, responseChanged } from './repositories/openai/response-runs.ts';
export {
  type NewResponse,
  pruneResponses,
  type ResponseRecord,
  type StoredItem,
} from './repositories/openai/responses.ts';
export {
  expireUploads,
  type PartRecord,
  pruneUploads,
  uploadPartExists,
  type UploadRecord,
  type UploadStatus,
} from './repositories/openai/uploads.ts';
export { collectionOf, type VectorStoreRow } from './repositories/openai/store-texts.ts';
export type {
  NewStoreFile,
  RunLease,
  StoreFileBatch,
  StoreFileEnd,
  StoreFilePage,
  StoreFileRecord,
  VectorStoreFileErrorCode,
} from './repositories/openai/vector-store-files.ts';
export {
  type FileCounts,
  type IdPage,
  type NewVectorStore,
  pruneVectorStores,
  type VectorStoreRecord,
} from './repositories/openai/vector-stores.ts';
export type { AttemptBatch, ClaimedTask, HeldLease, Lease, Outcome } from './repositories/tasks/task-attempts.ts';
export { TASK_CANCELLED, TASKS_WAITING } from './repositories/tasks/task-log.ts';
export type {
  AttemptRecord,
  ListedTask,
  NewTask,
  StoredFile,
  TaskEvent,
  TaskFilter,
  TaskRecord,
} from './repositories/tasks/task-records.ts';
export { taskStorageFull } from './repositories/tasks/task-usage.ts';
export { type EnqueueLimits, tooManyTasks } from './repositories/tasks/tasks.ts';
export type { Metadata, MetadataValue, VectorFilter } from '../../base/schemas/vectors/vector-filter.ts';
export { checkMetadata, type StoredChunk, type VectorChunk } from './repositories/vectors/chunks.ts';
export { checkFilter } from './repositories/vectors/filter.ts';
export type { FoundChunk, VectorSearch } from './repositories/vectors/search.ts';
export type {
  ChunkPage,
  ChunkSelection,
  VectorCollection,
  VectorLimits,
  VectorRepository,
  VectorSpace,
  VectorUsage,
} from './repositories/vectors/vector-repository.ts';
export type { RateSpending } from './repositories/rate-buckets.ts';
export type { ChangeKind, ChangeRecord, WantedDeployment } from './repositories/wanted-deployments.ts';
export type { ClaimedUsage } from './repositories/usage-records.ts';
export {
  type AlertHappening,
  type ClaimedDelivery,
  DELIVERIES_WAITING,
  type DeliveryRecord,
} from './repositories/webhook-deliveries.ts';
export {
  ALERT_EVENTS,
  isAlertEvent,
  TASK_EVENTS,
  WEBHOOK_EVENTS,
  WEBHOOKS_CHANGED,
  type WebhookChange,
  type WebhookRecord,
} from './repositories/webhooks.ts';
export { openDatabase, Storage, type StorageConfig, type TracedStorage } from './storage.ts';
export { copySqlite, isSqliteOpen, readSqlite } from './sqlite/sqlite-file.ts';
export { type NeededFile, neededFiles } from './stored-paths.ts';
export { moveFile, syncFile, syncMadeFolders } from './sync-files.ts';
export { StoredWatchers } from './stored-watchers.ts';
export { whileUnavailable } from './while-unavailable.ts';
export { hasEnded, nextTaskStatus, TASK_STATUSES, type TaskStatus, type TaskTransition } from './task-state.ts';
export { DELIVERY_STATUSES, type DeliveryStatus } from './delivery-status.ts';
