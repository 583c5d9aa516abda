import * as z from 'zod';

const ORIGIN = /^(\*|null|[a-z][a-z0-9+.-]*:\/\/[^\s/?#@]+)$/;

export const CorsConfig = z
  .strictObject({
    allow_origins: z
      .array(z.string().regex(ORIGIN, 'must be an origin such as https://app.example.org, without a path, or "*"'))
      .default([])
      .describe(
        'Origins whose pages may use the API from a browser, each as `https://app.example.org`; `*` is every one. None: no page of another origin may.',
      ),
    allow_origin_regex: z
      .string()
      .min(1)
      .refine(isRegularExpression, 'is no regular expression')
      .nullable()
      .default(null)
      .describe('The same, for origins that match as a whole.'),
    allow_credentials: z
      .boolean()
      .default(false)
      .describe('Whether browsers may send cookies and client certificates with such requests.'),
    allow_methods: z
      .array(z.string().regex(/^(\*|[A-Z]+)$/, 'must be a method such as POST, or "*"'))
      .default(['*'])
      .describe('Methods of such requests; `*` is every one.'),
    allow_headers: z
      .array(z.string().regex(/^(\*|[\w-]+)$/, 'must be the name of a header, or "*"'))
      .default(['*'])
      .describe('Headers that such requests may carry; `*` is every one.'),
  })
  .refine(
    ({ allow_credentials: credentials, allow_origins: origins }) => !credentials || !origins.includes('*'),
    '`allow_credentials` needs origins by name, not "*"',
  );

function isRegularExpression(text: string): boolean {
  try {
    return Boolean(new RegExp(text));
  } catch {
    return false;
  }
}
