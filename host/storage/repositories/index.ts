import type { Connection } from '../database.ts';
import { ApiKeyRepository } from './api-keys.ts';
import { CaptionRepository, MediaRepository, TranscriptRepository, VideoRepository } from './media.ts';
import { MediaOwner } from './media-owner.ts';
import { PluginValueRepository } from './plugin-values.ts';
import { pruneResponses, ResponseRepository } from './responses.ts';
import { TaskRepository } from './tasks.ts';
import { WebhookDeliveryRepository } from './webhook-deliveries.ts';
import { WebhookRepository } from './webhooks.ts';

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
  /** Returns the responses of OpenAI's API of a user, or those of all callers where the host requires no keys (null). */
  responsesOf(userId: string | null): ResponseRepository {
    return new ResponseRepository(this.connection, userId);
  }

  /** See {@link pruneResponses}. */
  pruneResponses(before: number, limit: number): Promise<number> {
    return pruneResponses(this.connection, before, limit);
  }
}
