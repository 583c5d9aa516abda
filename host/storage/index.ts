export type { Connection, Database, Dialect, Row, Statement, Value } from './database.ts';
export { type AppliedMigration, HOST_MIGRATIONS, migrate, type MigrationSource } from './migrate.ts';
export { PluginStorage } from './plugin-storage.ts';
export type { ApiKeyRecord } from './repositories/api-keys.ts';
export { Repositories } from './repositories/index.ts';
export type { CaptionRecord, TranscriptRecord, VideoRecord } from './repositories/media.ts';
export type { WebhookEvent, WebhookRecord } from './repositories/webhooks.ts';
export { openDatabase, Storage, type StorageConfig, type StorageOptions } from './storage.ts';
