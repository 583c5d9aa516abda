import { definePlugin } from 'aana-host/plugin';
import { diarizeVideo } from './diarize-video.ts';

export const endpoint = definePlugin([diarizeVideo]);
