export { FileStore, type FileStoreOptions } from './file-store.ts';
