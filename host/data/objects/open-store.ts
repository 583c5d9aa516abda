import type { Network } from '../../io/outgoing/index.ts';
import { FolderStore } from './folder-store.ts';
import type { ObjectStore } from './object-store.ts';
import { S3Store } from './s3/s3-store.ts';

/** Named like the settings `object_store.…`; times in seconds. */
export interface ObjectStoreConfig {
  /** `s3://bucket` or `s3://bucket/prefix`; null for a folder. */
  readonly url: string | null;
  readonly endpoint: string | null;
  readonly region: string;
  readonly access_key_id: string | null;
  readonly secret_access_key: string | null;
  readonly session_token: string | null;
  readonly timeout: number;
}

export interface OpenStoreOptions {
  readonly config: ObjectStoreConfig;
  /** The folder of the store, unless the configuration names a bucket. */
  readonly dir: string;
  readonly network: Network;
  /** The folder below which this machine has copies of the objects of a bucket. */
  readonly copiesRoot: string;
  /** Returns the folder of the copies of this process, below `copiesRoot`. */
  readonly copies: () => Promise<string>;
}

/** Returns the store of a configuration. It connects when it is used. */
export function openStore(options: OpenStoreOptions): ObjectStore {
  return options.config.url === null ? new FolderStore(options.dir) : openBucket(options.config.url, options);
}

/** Returns the store in the bucket of a URL. */
export function openBucket(url: string, { config, network, copiesRoot, copies }: OpenStoreOptions): S3Store {
  const [bucket = '', ...prefix] = url.slice('s3://'.length).split('/');
  return new S3Store({
    settings: {
      bucket,
      prefix: prefix.filter((part) => part !== '').join('/'),
      endpoint: config.endpoint === null ? undefined : new URL(config.endpoint),
      region: config.region,
      accessKeyId: config.access_key_id ?? '',
      secretAccessKey: config.secret_access_key ?? '',
      sessionToken: config.session_token ?? undefined,
      timeoutMs: config.timeout * 1000,
      network,
    },
    copiesRoot,
    copies,
  });
}
