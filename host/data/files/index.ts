export { StoredFiles, type StoredFilesConfig, type UserFiles } from './stored-files.ts';
export type { FileRecord } from '../storage/index.ts';
export { type Upload, Uploads, type UserUploads } from './uploads.ts';
