import { definePlugin } from 'aana-host/plugin';
import { imageChat, imageChatStream } from './image-chat.ts';

export const endpoint = definePlugin([imageChat, imageChatStream]);
