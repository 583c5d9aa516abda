import { definePlugin } from 'aana-host/plugin';
import { readImage } from './read-image.ts';

export const endpoint = definePlugin([readImage]);
