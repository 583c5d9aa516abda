// Generated from wit/world.wit by `npm run generate`; do not edit.
import type { CryptoCalls } from './crypto.ts';
import type { ConcurrencyCalls } from './concurrency.ts';
import type { SettingsCalls } from './settings.ts';
import type { UploadsCalls } from './uploads.ts';
import type { MediaCalls } from './media.ts';
import type { DeploymentsCalls } from './deployments.ts';
import type { AsrCalls } from './asr.ts';
import type { OcrCalls } from './ocr.ts';
import type { LlmCalls } from './llm.ts';
import type { StorageCalls } from './storage.ts';
import type { VectorsCalls } from './vectors.ts';
import type { RepositoriesCalls } from './repositories.ts';
import type { RepositoriesWriteCalls } from './repositories-write.ts';
import type { HttpCalls } from './http.ts';
import type { RemoteCalls } from './remote.ts';
import type { OutputCalls } from './output.ts';

/** All calls of guests as they cross to the host, by name. */
export interface HostCalls extends CryptoCalls, ConcurrencyCalls, SettingsCalls, UploadsCalls, MediaCalls,
  DeploymentsCalls, AsrCalls, OcrCalls, LlmCalls, StorageCalls, VectorsCalls, RepositoriesCalls,
  RepositoriesWriteCalls, HttpCalls, RemoteCalls, OutputCalls {}
