export {
  type NewFile,
  StoredFiles,
  type StoredFilesConfig,
  type StoredFilesOptions,
  type UserFiles,
} from './stored-files.ts';
export type { FileRecord } from '../storage/index.ts';
export { type Upload, type UploadOrder, Uploads, type UserUploads } from './uploads.ts';
