import { definePlugin } from 'aana-host/plugin';
import { addVideos } from './add-videos.ts';
import { askLibrary, askLibraryStream } from './ask-library.ts';
import { listVideos, removeVideo } from './list-videos.ts';
import { searchLibrary } from './search-library.ts';

export const endpoint = definePlugin([addVideos, listVideos, removeVideo, searchLibrary, askLibrary, askLibraryStream]);
