import { type AanaError, fail } from '../../../base/core/errors.ts';

/** A model that is loaded, for errors. */
export interface UsedModel {
  readonly name: string;
  /** What it is loaded for. Default: anything. */
  readonly task?: string;
  /** Its file, or its folder as `path`. Default: it has several files. */
  readonly place?: { readonly file: string } | { readonly path: string };
}

/** Returns the error of a model that cannot be loaded, or is of another kind than is wanted. */
export const notUsable = ({ name, task, place }: UsedModel, reason: string, cause?: unknown): AanaError =>
  fail('ModelFormatError', `${name} cannot be used${task === undefined ? '' : ` for ${task}`}: ${reason}`, {
    data: place ?? {},
    cause,
  });
