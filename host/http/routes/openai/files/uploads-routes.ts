import type { Router } from '@koa/router';
import type { Context } from 'koa';
import type { UserUploads } from '../../../../files/index.ts';
import {
  COMPLETE_FIELDS,
  fileName,
  PART_FIELDS,
  partObject,
  requireUpload,
  UPLOAD_FIELDS,
  uploadObject,
} from '../../../../openai/index.ts';
import { OPENAI_ROUTES } from '../../../../openapi/index.ts';
import { callerOf } from '../../../guards/caller.ts';
import { serveRoute } from '../../serve-route.ts';
import { formRequests } from '../form-request.ts';
import { type OpenAiHttpOptions, readJsonRequest } from '../openai-request.ts';

/** Adds the routes of files of the caller that come in parts. */
export function uploadsRoutes(router: Router, options: OpenAiHttpOptions): void {
  const uploadsOf = (ctx: Context): UserUploads => options.openai.uploads.as(callerOf(ctx));
  const readPart = formRequests(PART_FIELDS, options, 'data');

  serveRoute(router, OPENAI_ROUTES.createUpload, async ({ ctx }) => {
    const { bytes, purpose, expires_after: expiry, ...given } = await readJsonRequest(ctx, UPLOAD_FIELDS, options);
    const filename = fileName(given.filename, 'filename');
    return uploadObject(await uploadsOf(ctx).create({ filename, purpose, bytes, expiresAfterS: expiry?.seconds }));
  });
  serveRoute(router, OPENAI_ROUTES.addUploadPart, async ({ ctx, params: { upload_id: id } }) => {
    await using form = await readPart(ctx);
    const part = requireUpload(id, await uploadsOf(ctx).addPart(id, form.file));
    return partObject(part.id, id, part.createdAt);
  });
  serveRoute(router, OPENAI_ROUTES.completeUpload, async ({ ctx, params: { upload_id: id } }) => {
    const { part_ids: parts, md5 } = await readJsonRequest(ctx, COMPLETE_FIELDS, options);
    return uploadObject(requireUpload(id, await uploadsOf(ctx).complete(id, parts, md5 ?? undefined)));
  });
  serveRoute(router, OPENAI_ROUTES.cancelUpload, async ({ ctx, params: { upload_id: id } }) =>
    uploadObject(requireUpload(id, await uploadsOf(ctx).cancel(id))),
  );
}
