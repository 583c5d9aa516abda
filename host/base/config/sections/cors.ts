import * as z from 'zod';
import { toggle } from '../../core/fields.ts';
import { settings } from '../registry.ts';

const ORIGIN = /^(\*|null|[a-z][a-z0-9+.-]*:\/\/[^\s/?#@]+)$/;

export const CorsConfig = z
  .strictObject({
    allow_origins: z
      .array(z.string().regex(ORIGIN, 'must be an origin such as https://app.example.org, without a path, or "*"'))
      .default([])
      .describe(
        'Origins whose pages may call the API from a browser, such as `https://app.example.org`; `*` is every ' +
          'origin. Default: same origin.',
      )
      .register(settings, { flag: '--cors-origin <origin>' }),
    allow_origin_regex: z
      .string()
      .min(1)
      .refine(isRegularExpression, 'is not a valid regular expression')
      .nullable()
      .default(null)
      .describe('Regular expression for further origins; it must match the whole origin.'),
    allow_credentials: toggle(
      false,
      'Whether browsers may send cookies and client certificates with requests of other origins.',
    ),
    allow_methods: z
      .array(z.string().regex(/^(\*|[A-Z]+)$/, 'must be a method such as POST, or "*"'))
      .default(['*'])
      .describe('Methods that requests of other origins may use; `*` is all.'),
    allow_headers: z
      .array(z.string().regex(/^(\*|[\w-]+)$/, 'must be the name of a header, or "*"'))
      .default(['*'])
      .describe('Headers that requests of other origins may carry; `*` is all.'),
  })
  .refine(
    ({ allow_credentials: credentials, allow_origins: origins }) => !credentials || !origins.includes('*'),
    'with `allow_credentials` each origin must be named; "*" is not allowed',
  );

function isRegularExpression(text: string): boolean {
  try {
    return Boolean(new RegExp(text));
  } catch {
    return false;
  }
}
