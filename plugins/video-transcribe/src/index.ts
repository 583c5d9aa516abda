import { definePlugin } from 'aana-host/plugin';
import { transcribeVideo } from './transcribe-video.ts';

export const endpoint = definePlugin([transcribeVideo]);
