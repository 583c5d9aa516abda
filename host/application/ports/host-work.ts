import {
  backgroundWork,
  batchWork,
  ingestWork,
  mediaOpener,
  OPENAI_BATCHES,
  type SearchPorts,
  searchScope,
  type SearchScopes,
  storedMedia,
} from '../../apis/openai/index.ts';
import type { Config } from '../../base/config/index.ts';
import { MESSAGE_BATCHES } from '../../apis/anthropic/index.ts';
import type { HostWork } from '../../data/tasks/index.ts';
import type { Services } from '../services.ts';
import { mediaInput } from './media-input.ts';

type SearchServices = Pick<Services, 'storage' | 'directory' | 'vectorStores'>;

/** Returns what searches of vector stores need, over the parts of an application. */
export function searchPorts({ storage, directory, vectorStores }: SearchServices, { openai }: Config): SearchPorts {
  const { embedding_deployment: embeddingDeployment } = openai.vector_stores;
  return { storage, stores: vectorStores, models: directory, embeddingDeployment };
}

/** The vector stores are made after the work of tasks, so they are taken when a task runs. */
function searchScopesOf(services: SearchServices, config: Config): SearchScopes {
  return (caller, rights) => searchScope(searchPorts(services, config), caller, rights);
}

type MediaServices = Pick<Services, 'uploads' | 'openMedia'>;

/** Returns what opens the media of requests that tasks answer, and which media these may have beside their JSON. */
function mediaOfWork(services: MediaServices, config: Config) {
  const openai = mediaInput(services, config);
  return {
    openMedia: mediaOpener({ openai, limits: config.limits, tempDir: () => services.uploads.path() }),
    large: storedMedia({ openai }),
  };
}

/** Returns the work of tasks that make responses, over the parts of an application. */
export function backgroundWorkOf(
  services: SearchServices & MediaServices & Pick<Services, 'responses'>,
  config: Config,
): HostWork {
  const { storage, directory, responses } = services;
  const { openai, limits } = config;
  const { openMedia, large } = mediaOfWork(services, config);
  const endpoint = backgroundWork({
    storage,
    models: directory,
    responses,
    search: searchScopesOf(services, config),
    openMedia,
    maxDialogBytes: limits.max_json_bytes + large.bytes,
    maxStoredBytes: openai.responses.maximum_stored_bytes_per_user || undefined,
  });
  return { endpoint, workers: openai.responses.concurrent_background_responses, continues: false };
}

/** The APIs that have batches. */
export const BATCH_FORMATS = [OPENAI_BATCHES, MESSAGE_BATCHES] as const;

/** Returns the work of the tasks of batches, over the parts of an application. */
export function batchWorkOf(
  services: SearchServices & MediaServices & Pick<Services, 'files' | 'responses'>,
  config: Config,
): HostWork {
  const { storage, files, directory, responses } = services;
  const {
    openai: { batches, strict, hosted_tools: hostedTools },
    limits,
  } = config;
  const endpoint = batchWork({
    storage,
    files,
    models: directory,
    responses,
    search: searchScopesOf(services, config),
    ...mediaOfWork(services, config),
    strict,
    hostedTools,
    limits,
    maxRequests: batches.maximum_requests,
    concurrency: batches.concurrent_requests,
    formats: BATCH_FORMATS,
  });
  return { endpoint, workers: batches.concurrent_batches, continues: true };
}

/** Returns the work of tasks that read files into vector stores, over the parts of an application. */
export function ingestWorkOf(
  services: Pick<Services, 'storage' | 'files' | 'directory' | 'uploads' | 'vectorStores'>,
  { openai: { vector_stores: config }, limits }: Config,
): HostWork {
  const endpoint = ingestWork({
    storage: services.storage,
    files: services.files,
    models: services.directory,
    stores: () => services.vectorStores,
    embeddingDeployment: config.embedding_deployment,
    maxStoredBytes: config.maximum_stored_bytes_per_user || undefined,
    documents: { maxBytes: config.maximum_file_bytes, limits, tempDir: () => services.uploads.path() },
  });
  return { endpoint, workers: config.concurrent_runs, continues: true };
}
