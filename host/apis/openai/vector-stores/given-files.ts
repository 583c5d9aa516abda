import type { Context } from 'koa';
import type { UserFiles } from '../../../data/files/index.ts';
import type { NewStoreFile } from '../../../data/storage/index.ts';
import { callerOf } from '../../http/guards/caller.ts';
import { invalidValue } from '../fields.ts';
import { requireFile } from '../files/file-object.ts';
import { requireReadingFiles } from '../files/read-files.ts';
import { DEFAULT_CHUNKING, type StoreFileRequest } from './store-fields.ts';

/** A file in a request, with the name of its parameter. */
export interface GivenFile {
  readonly param: string;
  readonly request: StoreFileRequest;
}

/**
 * Returns files of a request as files of a store. Throws `StoredFileNotFound`, `InvalidParameter` for a file that is
 * given twice, and `InsufficientScope` if the API key does not allow to read files.
 */
export async function storeFilesOf(
  ctx: Context,
  given: readonly GivenFile[],
  files: UserFiles,
): Promise<NewStoreFile[]> {
  const { scopes } = callerOf(ctx);
  const ids = new Set<string>();
  const found: NewStoreFile[] = [];
  for (const { param, request } of given) {
    const { file_id: id, attributes, chunking_strategy: chunking } = request;
    requireReadingFiles(scopes, id);
    if (ids.has(id)) throw invalidValue(param, `the file ${id} is given twice`);
    ids.add(id);
    const { filename, bytes } = requireFile(id, await files.find(id), param);
    const { max_chunk_size_tokens: most, chunk_overlap_tokens: overlap } =
      chunking?.type === 'static' ? chunking.static : DEFAULT_CHUNKING;
    found.push({
      ...{ file_id: id, filename, bytes, attributes: attributes ?? {} },
      ...{ max_chunk_tokens: most, chunk_overlap_tokens: overlap },
    });
  }
  return found;
}

/** Returns the files of a parameter `file_ids`, which have no attributes of their own. */
export const filesOfIds = (ids: readonly string[], shared: Omit<StoreFileRequest, 'file_id'>): GivenFile[] =>
  ids.map((id, n) => ({ param: `file_ids[${n}]`, request: { file_id: id, ...shared } }));
