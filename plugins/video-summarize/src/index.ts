import { definePlugin } from 'aana-host/plugin';
import { summarizeVideo, summarizeVideoStream } from './summarize-video.ts';

export const endpoint = definePlugin([summarizeVideo, summarizeVideoStream]);
