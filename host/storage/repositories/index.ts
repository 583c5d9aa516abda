import type { Connection } from '../database.ts';
import { ApiKeyRepository } from './api-keys.ts';
import { CaptionRepository, MediaRepository, TranscriptRepository, VideoRepository } from './media.ts';
import { PluginValueRepository } from './plugin-values.ts';
import { TaskRepository } from './tasks.ts';
import { WebhookDeliveryRepository } from './webhook-deliveries.ts';
import { WebhookRepository } from './webhooks.ts';

/** The repositories on one connection: inside a transaction they all take part in it. */
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
    this.media = new MediaRepository(connection);
    this.videos = new VideoRepository(connection, this.media);
    this.captions = new CaptionRepository(connection);
    this.transcripts = new TranscriptRepository(connection);
    this.tasks = new TaskRepository(connection);
    this.webhooks = new WebhookRepository(connection);
    this.webhookDeliveries = new WebhookDeliveryRepository(connection);
    this.apiKeys = new ApiKeyRepository(connection);
    this.pluginValues = new PluginValueRepository(connection);
  }
}
