import { defineEndpoint, z } from 'aana-host/plugin';
import { IndexedVideos, MediaId, Metadata, Status } from './indexed-videos.ts';

const input = z.strictObject({ media_id: MediaId });
const uses = ['storage', 'repositories', 'repositories-write'] as const;

export const videoMetadata = defineEndpoint({
  name: 'video_metadata',
  path: '/video/metadata',
  summary: 'Load the metadata of a video',
  input,
  output: z.strictObject({ metadata: Metadata }),
  uses,
  run: async ({ media_id: id }, ctx) => ({ metadata: await new IndexedVideos(ctx).metadata(id) }),
});

export const videoStatus = defineEndpoint({
  name: 'video_status',
  path: '/video/status',
  summary: 'Get the status of a video',
  description: 'Only a video with the status `completed` can be asked about.',
  input,
  output: z.strictObject({ status: Status }),
  uses,
  run: async ({ media_id: id }, ctx) => ({ status: await new IndexedVideos(ctx).status(id) }),
});

export const deleteVideo = defineEndpoint({
  name: 'delete_media',
  path: '/video/delete',
  summary: 'Delete a video',
  description: 'Deletes a video with its transcript and captions, whatever its status is.',
  input,
  output: z.strictObject({ media_id: MediaId }),
  uses,
  async run({ media_id: id }, ctx) {
    await new IndexedVideos(ctx).remove(id);
    return { media_id: id };
  },
});
