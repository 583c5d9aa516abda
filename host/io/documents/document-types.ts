import { fail } from '../../base/core/errors.ts';

/** How a document is read. */
export type DocumentForm = 'text' | 'markdown' | 'html' | 'pdf' | 'subtitles';

/** The media types and the extensions of the names of documents. Other media types `text/…` are text, too. */
const FORMS: Readonly<Record<DocumentForm, { readonly types: readonly string[]; readonly extensions: string }>> = {
  pdf: { types: ['application/pdf'], extensions: 'pdf' },
  html: { types: ['text/html', 'application/xhtml+xml'], extensions: 'html htm xhtml' },
  markdown: { types: ['text/markdown', 'text/x-markdown'], extensions: 'md markdown' },
  subtitles: { types: ['text/vtt', 'application/x-subrip', 'text/srt'], extensions: 'vtt srt' },
  text: {
    types: ['application/json', 'application/xml', 'application/yaml', 'application/javascript', 'application/x-sh'],
    extensions: 'txt text log csv tsv json jsonl yaml yml xml tex rst c cpp h cs css go java js ts php py rb rs sh sql',
  },
};

const BY_TYPE = new Map(entries().flatMap(([form, { types }]) => types.map((type) => [type, form] as const)));
const BY_EXTENSION = new Map(
  entries().flatMap(([form, { extensions }]) => extensions.split(' ').map((extension) => [extension, form] as const)),
);

function entries(): [DocumentForm, (typeof FORMS)[DocumentForm]][] {
  return Object.entries(FORMS) as [DocumentForm, (typeof FORMS)[DocumentForm]][];
}

/**
 * Returns how a document is read, by its media type, otherwise by the extension of its name. A type that says only that
 * a file has bytes counts as none. Throws `UnsupportedDocument`, which names what is known.
 */
export function documentForm(name: string, type?: string): DocumentForm {
  const essence = type?.split(';')[0]?.trim().toLowerCase();
  if (essence && essence !== 'application/octet-stream') {
    const form = BY_TYPE.get(essence) ?? (essence.startsWith('text/') ? 'text' : undefined);
    if (form) return form;
    const known = [...BY_TYPE.keys()].join(', ');
    throw unsupported(name, `has the type ${essence.slice(0, 100)}; a document is text/*, ${known}`);
  }
  const extension = /\.([^./\\]+)$/.exec(name)?.[1]?.toLowerCase();
  const form = BY_EXTENSION.get(extension ?? '');
  if (form) return form;
  const known = [...BY_EXTENSION.keys()].map((one) => `.${one}`).join(', ');
  const given = extension === undefined ? 'has no extension' : `has the extension .${extension.slice(0, 20)}`;
  throw unsupported(name, `${given}, and no type is given; the names of documents end with ${known}`);
}

function unsupported(name: string, reason: string): Error {
  return fail('UnsupportedDocument', `the file ${JSON.stringify(name.slice(0, 100))} ${reason}`, { data: { name } });
}
