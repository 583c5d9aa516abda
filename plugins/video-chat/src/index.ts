import { definePlugin } from 'aana-host/plugin';
import { chatWithVideo, chatWithVideoStream } from './chat-with-video.ts';
import { indexVideo } from './index-video.ts';
import { deleteVideo, videoMetadata, videoStatus } from './stored-video.ts';

export const endpoint = definePlugin([
  indexVideo,
  videoMetadata,
  videoStatus,
  deleteVideo,
  chatWithVideo,
  chatWithVideoStream,
]);
