import * as z from 'zod';
import { whole } from '../../../base/core/fields.ts';
import type { Context } from 'koa';
import { answers, STORED_FAILURES } from '../../openapi/index.ts';
import type { UserFiles } from '../../../data/files/index.ts';
import { afterId, checkCursor, listPage, orderOf } from '../list-page.ts';
import { DeletedFile, FileList, fileName, FileObject, fileObject, requireFile } from './file-object.ts';
import { FILE_FIELDS, FileRequest } from './file-fields.ts';
import { callerOf } from '../../http/guards/caller.ts';
import { abortOnClose } from '../../http/request/request-context.ts';
import { type HostRouter, serveRoute } from '../../http/routes/serve-route.ts';
import { formRequests } from '../http/form-request.ts';
import type { OpenAiHttpOptions } from '../http/openai-request.ts';

const PURPOSE = 'Input should be a text of 1 to 255 characters';

/** The query of `GET /v1/files`. */
const FilesQuery = z.object({
  after: afterId('file'),
  limit: whole({ min: 1, max: 10_000, default: 10_000 }, 'Files of a page: 1 to 10000. Default: 10000.'),
  order: orderOf('file'),
  purpose: z
    .string()
    .min(1, PURPOSE)
    .max(255, PURPOSE)
    .refine((text) => !text.includes('\0'), PURPOSE)
    .optional()
    .describe('Only files with this purpose.'),
});

/** Adds the routes of the stored files of the caller. */
export function filesRoutes(router: HostRouter, options: OpenAiHttpOptions): void {
  const filesOf = (ctx: Context): UserFiles => options.openai.files.as(callerOf(ctx));
  const read = formRequests(FILE_FIELDS, options);

  serveRoute(
    router,
    {
      id: 'create_file',
      at: 'post /v1/files',
      summary: 'Stores a file, such as the requests of a batch',
      form: FileRequest,
      idle: FILE_FIELDS.idle,
      answers: answers('The file.', FileObject),
      fails: STORED_FAILURES,
    },
    async ({ ctx }) => {
      await using form = await read(ctx);
      const { purpose, expires_after: expiry } = form.request;
      const filename = fileName(form.file.filename);
      return fileObject(await filesOf(ctx).add(form.file, { filename, purpose, expiresAfterS: expiry?.seconds }));
    },
  );
  serveRoute(
    router,
    {
      id: 'list_files',
      at: 'get /v1/files',
      summary: 'The stored files',
      query: FilesQuery,
      idle: {},
      answers: answers('A page of files.', FileList),
      fails: [400, ...STORED_FAILURES],
    },
    async ({ ctx, query: { after, limit, purpose, order = 'desc' } }) => {
      checkCursor(after, 'file-');
      const found = await filesOf(ctx).list({ after, purpose, order, limit: limit + 1 });
      return listPage(found.map(fileObject), limit);
    },
  );
  serveRoute(
    router,
    {
      id: 'retrieve_file',
      at: 'get /v1/files/{file_id}',
      summary: 'A stored file, without its content',
      answers: answers('The file.', FileObject),
      fails: [404, ...STORED_FAILURES],
    },
    async ({ ctx, params: { file_id: id } }) => fileObject(requireFile(id, await filesOf(ctx).find(id))),
  );
  serveRoute(
    router,
    {
      id: 'download_file',
      at: 'get /v1/files/{file_id}/content',
      summary: 'The content of a stored file',
      answers: {
        200: {
          description: 'The bytes as they were uploaded.',
          schema: z.string().meta({ format: 'binary' }),
          type: 'application/octet-stream',
        },
      },
      fails: [404, ...STORED_FAILURES],
    },
    async ({ ctx, params: { file_id: id } }) => {
      const file = requireFile(id, await filesOf(ctx).find(id));
      ctx.attachment(file.filename);
      ctx.type = 'application/octet-stream'; // a browser must not show a file of a user as a page of this server
      ctx.length = file.bytes;
      ctx.body = await filesOf(ctx).open(file, abortOnClose(ctx));
    },
  );
  serveRoute(
    router,
    {
      id: 'delete_file',
      at: 'delete /v1/files/{file_id}',
      summary: 'Removes a stored file',
      answers: answers('The file is removed.', DeletedFile),
      fails: [404, 409, ...STORED_FAILURES],
    },
    async ({ ctx, params: { file_id: id } }) => {
      requireFile(id, await filesOf(ctx).delete(id));
      return { id, object: 'file' as const, deleted: true as const };
    },
  );
}
