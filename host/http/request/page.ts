import type { Context } from 'koa';
import * as z from 'zod';
import { PAGE_LIMITS } from '../../openapi/index.ts';
import { numberOf } from './query.ts';

const Page = z.int().min(1).max(PAGE_LIMITS.most);
const PerPage = z.int().min(1).max(PAGE_LIMITS.mostItems);

/**
 * Returns the page of a list that a request asks for; the first page has number 1. Throws `ValidationError` naming the
 * parameter.
 */
export function pageOf(ctx: Context): { readonly page: number; readonly perPage: number } {
  return {
    page: numberOf(ctx, 'page', Page) ?? 1,
    perPage: numberOf(ctx, 'per_page', PerPage) ?? PAGE_LIMITS.defaultItems,
  };
}
