import { defineEndpoint, z } from 'aana-host/plugin';
import { Library, Video, VideoId } from './library.ts';

/** Lists the videos of the library. */
export const listVideos = defineEndpoint({
  name: 'library_list',
  path: '/library/list',
  summary: 'List the videos of the library',
  input: z.strictObject({}),
  output: z.strictObject({ videos: z.array(Video) }),
  uses: ['storage', 'vectors'],
  run: async (_, ctx) => ({ videos: await new Library(ctx).list() }),
});

/** Removes a video from the library. */
export const removeVideo = defineEndpoint({
  name: 'library_remove',
  path: '/library/remove',
  summary: 'Remove a video from the library',
  input: z.strictObject({ video: VideoId }),
  output: z.strictObject({ removed: VideoId }),
  uses: ['storage', 'vectors'],
  async run({ video }, ctx) {
    await new Library(ctx).remove(video);
    return { removed: video };
  },
});
