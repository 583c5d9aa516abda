import { AanaError, fail, isDiskFull } from '../../../../base/core/errors.ts';
import { tooLarge } from '../too-large.ts';
import { goneError } from '../request-context.ts';
import type { FormLimits } from './read-form.ts';

export function diskFull(cause?: unknown): AanaError {
  return fail('DiskFullException', 'the uploaded file does not fit on the disk of the server', {
    cause,
  });
}

/** Translates an error of formidable by its code (see its `FormidableError.js`). */
export function fromFormidable(error: unknown, limits: FormLimits): unknown {
  if (error instanceof AanaError || !(error instanceof Error)) return error;
  const { code, httpCode } = error as Error & { code?: unknown; httpCode?: number };
  switch (code) {
    case 1002:
      return goneError();
    case 1006:
      return tooLarge('the fields of the form are too large', limits.max_json_bytes, 'limits.max_json_bytes');
    case 1007:
      return fail('RequestTooLarge', 'the form has too many fields');
    case 1009:
      return tooLarge('the uploaded files together are too large', limits.max_body_bytes, 'limits.max_body_bytes');
    case 1015:
      return fail('RequestTooLarge', `too many files were uploaded: the limit is ${limits.max_files}`, {
        data: { limit: limits.max_files },
      });
    case 1016:
      return tooLarge('an uploaded file is too large', limits.max_file_bytes, 'limits.max_file_bytes');
    default:
      break;
  }
  if (isDiskFull(error)) return diskFull(error);
  if (httpCode === undefined) return error;
  const reason = /stream ended unexpectedly/.test(error.message)
    ? 'it does not follow the boundary of its content type, or ends early'
    : error.message;
  return fail('MalformedRequest', `the multipart form cannot be read: ${reason}`, {
    cause: error,
  });
}
