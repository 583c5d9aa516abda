import type { Context } from 'koa';
import { answers, STORED_FAILURES } from '../../openapi/index.ts';
import type { UserUploads } from '../../../data/files/index.ts';
import {
  COMPLETE_FIELDS,
  CompletionOfUpload,
  PART_FIELDS,
  PartRequest,
  UPLOAD_FIELDS,
  UploadRequest,
} from './upload-fields.ts';
import { fileName } from '../files/file-object.ts';
import { PartObject, partObject, requireUpload, UploadObject, uploadObject } from './upload-object.ts';
import { callerOf } from '../../http/guards/caller.ts';
import { type HostRouter, serveRoute } from '../../http/routes/serve-route.ts';
import { formRequests } from '../http/form-request.ts';
import { type OpenAiHttpOptions, readJsonRequest } from '../http/openai-request.ts';

/** Adds the routes of files of the caller that come in parts. */
export function uploadsRoutes(router: HostRouter, options: OpenAiHttpOptions): void {
  const uploadsOf = (ctx: Context): UserUploads => options.openai.uploads.as(callerOf(ctx));
  const readPart = formRequests(PART_FIELDS, options, 'data');

  serveRoute(
    router,
    {
      id: 'create_upload',
      at: 'post /v1/uploads',
      summary: 'Begins a file that comes in parts',
      body: UploadRequest,
      idle: UPLOAD_FIELDS.idle,
      answers: answers('The upload.', UploadObject),
      fails: STORED_FAILURES,
    },
    async ({ ctx }) => {
      const { bytes, purpose, expires_after: expiry, ...given } = await readJsonRequest(ctx, UPLOAD_FIELDS, options);
      const filename = fileName(given.filename, 'filename');
      return uploadObject(await uploadsOf(ctx).create({ filename, purpose, bytes, expiresAfterS: expiry?.seconds }));
    },
  );
  serveRoute(
    router,
    {
      id: 'add_upload_part',
      at: 'post /v1/uploads/{upload_id}/parts',
      summary: 'Adds a part to an upload',
      form: PartRequest,
      idle: PART_FIELDS.idle,
      answers: answers('The part.', PartObject),
      fails: [404, 409, ...STORED_FAILURES],
    },
    async ({ ctx, params: { upload_id: id } }) => {
      await using form = await readPart(ctx);
      const part = requireUpload(id, await uploadsOf(ctx).addPart(id, form.file));
      return partObject(part.id, id, part.createdAt);
    },
  );
  serveRoute(
    router,
    {
      id: 'complete_upload',
      at: 'post /v1/uploads/{upload_id}/complete',
      summary: 'Makes a file of parts',
      body: CompletionOfUpload,
      idle: COMPLETE_FIELDS.idle,
      answers: answers('The upload with its file.', UploadObject),
      fails: [404, 409, ...STORED_FAILURES],
    },
    async ({ ctx, params: { upload_id: id } }) => {
      const { part_ids: parts, md5 } = await readJsonRequest(ctx, COMPLETE_FIELDS, options);
      return uploadObject(requireUpload(id, await uploadsOf(ctx).complete(id, parts, md5 ?? undefined)));
    },
  );
  serveRoute(
    router,
    {
      id: 'cancel_upload',
      at: 'post /v1/uploads/{upload_id}/cancel',
      summary: 'Ends an upload and removes its parts',
      answers: answers('The upload.', UploadObject),
      fails: [404, 409, ...STORED_FAILURES],
    },
    async ({ ctx, params: { upload_id: id } }) => uploadObject(requireUpload(id, await uploadsOf(ctx).cancel(id))),
  );
}
