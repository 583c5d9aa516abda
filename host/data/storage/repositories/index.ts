import type { Connection } from '../database.ts';
import { ApiKeyRepository } from './api-keys.ts';
import { CaptionRepository, MediaRepository, TranscriptRepository, VideoRepository } from './media.ts';
import { MediaOwner } from './media-owner.ts';
import { ControllerRepository } from './controllers.ts';
import { HostKeyRepository } from './host-keys.ts';
import { PluginValueRepository } from './plugin-storage.ts';
import { RateBucketRepository } from './rate-buckets.ts';
import { BatchRepository } from './openai/batches.ts';
import { BatchRunRepository } from './openai/batch-runs.ts';
import { FileRepository } from './openai/files.ts';
import { ResponseRunRepository } from './openai/response-runs.ts';
import { ResponseRepository } from './openai/responses.ts';
import { UploadRepository } from './openai/uploads.ts';
import { VectorStoreFileRepository } from './openai/vector-store-files.ts';
import { VectorStoreRepository } from './openai/vector-stores.ts';
import { SweepRepository } from './sweeps.ts';
import { TaskRepository } from './tasks/tasks.ts';
import { UsageRecordRepository } from './usage-records.ts';
import { UserTokenRepository } from './user-tokens.ts';
import { WantedDeploymentRepository } from './wanted-deployments.ts';
import { type VectorLimits, VectorRepository } from './vectors/vector-repository.ts';
import { WebhookDeliveryRepository } from './webhook-deliveries.ts';
import { WebhookRepository } from './webhooks.ts';

/** The collections of one plugin for one user. */
const PLUGIN_VECTORS: VectorLimits = { maxBytes: 1024 ** 3, maxCollections: 100 };

/** The stored media of one owner. */
export type MediaRepositories = Pick<Repositories, 'media' | 'videos' | 'captions' | 'transcripts'>;

/**
 * The repositories on one connection. In a transaction all of them take part. Media are the media without an owner;
 * {@link Repositories.of} returns the media of a user.
 */
export class Repositories {
  readonly connection: Connection;
  readonly media: MediaRepository;
  readonly videos: VideoRepository;
  readonly captions: CaptionRepository;
  readonly transcripts: TranscriptRepository;
  readonly tasks: TaskRepository;
  readonly webhooks: WebhookRepository;
  readonly webhookDeliveries: WebhookDeliveryRepository;
  readonly apiKeys: ApiKeyRepository;
  readonly pluginValues: PluginValueRepository;
  readonly batchRuns: BatchRunRepository;
  readonly usageRecords: UsageRecordRepository;
  readonly userTokens: UserTokenRepository;
  readonly rateBuckets: RateBucketRepository;
  readonly hostKeys: HostKeyRepository;
  readonly controllers: ControllerRepository;
  readonly wantedDeployments: WantedDeploymentRepository;
  readonly sweeps: SweepRepository;

  constructor(connection: Connection) {
    this.connection = connection;
    ({
      media: this.media,
      videos: this.videos,
      captions: this.captions,
      transcripts: this.transcripts,
    } = this.of(null));
    this.tasks = new TaskRepository(connection);
    this.webhooks = new WebhookRepository(connection);
    this.webhookDeliveries = new WebhookDeliveryRepository(connection);
    this.apiKeys = new ApiKeyRepository(connection);
    this.pluginValues = new PluginValueRepository(connection);
    this.batchRuns = new BatchRunRepository(connection);
    this.usageRecords = new UsageRecordRepository(connection);
    this.userTokens = new UserTokenRepository(connection);
    this.rateBuckets = new RateBucketRepository(connection);
    this.hostKeys = new HostKeyRepository(connection);
    this.controllers = new ControllerRepository(connection);
    this.wantedDeployments = new WantedDeploymentRepository(connection);
    this.sweeps = new SweepRepository(connection);
  }

  /**
   * Returns the media of a user, or the media without an owner (null). A user keeps at most `maxBytes`; more is refused
   * with `StorageFull`.
   */
  of(userId: string | null, { maxBytes }: { readonly maxBytes?: number | undefined } = {}): MediaRepositories {
    const owner = new MediaOwner(this.connection, userId, maxBytes);
    const media = new MediaRepository(this.connection, owner);
    return {
      media,
      videos: new VideoRepository(this.connection, media, owner),
      captions: new CaptionRepository(this.connection, owner),
      transcripts: new TranscriptRepository(this.connection, owner),
    };
  }

  /**
   * Returns the responses of OpenAI's API of a user, or those of all callers where the host requires no keys (null).
   */
  responsesOf(userId: string | null): ResponseRepository {
    return new ResponseRepository(this.connection, userId);
  }

  /** Returns the responses that tasks make, of the same owner as {@link Repositories.responsesOf}. */
  responseRunsOf(userId: string | null): ResponseRunRepository {
    return new ResponseRunRepository(this.connection, userId);
  }

  /** Returns the files of OpenAI's API of a user, or those of all callers where the host requires no keys (null). */
  filesOf(userId: string | null): FileRepository {
    return new FileRepository(this.connection, userId);
  }

  /** Returns the uploads of OpenAI's API of a user, or those of all callers where the host requires no keys (null). */
  uploadsOf(userId: string | null): UploadRepository {
    return new UploadRepository(this.connection, userId);
  }

  /**
   * Returns the collections of vectors of a user, or those of all callers where the host requires no keys (null). More
   * than the limits is refused with `StorageFull`.
   */
  vectorsOf(userId: string | null, limits?: VectorLimits): VectorRepository {
    return new VectorRepository(this.connection, userId, limits);
  }

  /**
   * Returns the collections of vectors of a plugin for a user, or for all users (null). They have at most 1 GiB
   * together, and there are at most 100.
   */
  pluginVectorsOf(plugin: string, userId: string | null): VectorRepository {
    // No id of a user has a control character.
    return new VectorRepository(this.connection, `plugin ${plugin}\n${userId ?? ''}`, PLUGIN_VECTORS);
  }

  /** Returns the batches of a user, or those of all callers where the host requires no keys (null). */
  batchesOf(userId: string | null): BatchRepository {
    return new BatchRepository(this.connection, userId);
  }

  /** Returns the vector stores of a user, or those of all callers where the host requires no keys (null). */
  vectorStoresOf(userId: string | null): VectorStoreRepository {
    return new VectorStoreRepository(this.connection, userId);
  }

  /**
   * Returns the files of the same stores. The texts of all stores of the user have at most `maxBytes`; more is refused
   * with `StorageFull`.
   */
  vectorStoreFilesOf(
    userId: string | null,
    { maxBytes }: { readonly maxBytes?: number | undefined } = {},
  ): VectorStoreFileRepository {
    return new VectorStoreFileRepository(this.connection, userId, maxBytes);
  }
}
