import type { Router } from '@koa/router';
import type { Context } from 'koa';
import type { UserFiles } from '../../../../files/index.ts';
import { checkCursor, FILE_FIELDS, fileName, fileObject, listPage, requireFile } from '../../../../openai/index.ts';
import { OPENAI_ROUTES } from '../../../../openapi/index.ts';
import { callerOf } from '../../../guards/caller.ts';
import { serveRoute } from '../../serve-route.ts';
import { formRequests } from '../form-request.ts';
import type { OpenAiHttpOptions } from '../openai-request.ts';

/** Adds the routes of the stored files of the caller. */
export function filesRoutes(router: Router, options: OpenAiHttpOptions): void {
  const filesOf = (ctx: Context): UserFiles => options.openai.files.as(callerOf(ctx));
  const read = formRequests(FILE_FIELDS, options);

  serveRoute(router, OPENAI_ROUTES.createFile, async ({ ctx }) => {
    await using form = await read(ctx);
    const { purpose, expires_after: expiry } = form.request;
    const filename = fileName(form.file.filename);
    return fileObject(await filesOf(ctx).add(form.file, { filename, purpose, expiresAfterS: expiry?.seconds }));
  });
  serveRoute(router, OPENAI_ROUTES.listFiles, async ({ ctx, query: { after, limit, purpose, order = 'desc' } }) => {
    checkCursor(after, 'file-');
    const found = await filesOf(ctx).list({ after, purpose, order, limit: limit + 1 });
    return listPage(found.map(fileObject), limit);
  });
  serveRoute(router, OPENAI_ROUTES.getFile, async ({ ctx, params: { file_id: id } }) =>
    fileObject(requireFile(id, await filesOf(ctx).find(id))),
  );
  serveRoute(router, OPENAI_ROUTES.fileContent, async ({ ctx, params: { file_id: id } }) => {
    const file = requireFile(id, await filesOf(ctx).find(id));
    ctx.attachment(file.filename);
    ctx.type = 'application/octet-stream'; // a browser must not show a file of a user as a page of this server
    ctx.length = file.bytes;
    ctx.body = await filesOf(ctx).open(file);
  });
  serveRoute(router, OPENAI_ROUTES.deleteFile, async ({ ctx, params: { file_id: id } }) => {
    requireFile(id, await filesOf(ctx).delete(id));
    return { id, object: 'file' as const, deleted: true as const };
  });
}
