import * as z from 'zod';
import { base64Bytes, type FilePart, invalidValue, unsupported } from '../../openai/index.ts';
import { MAX_CONTENT_PARTS, MAX_DATA, MAX_NAME, MAX_TEXT } from '../../../base/schemas/index.ts';
import { FileSource, ImageBlock, TextBlock } from './text-blocks.ts';

const text = z.optional(z.nullable(z.string().max(MAX_TEXT)));

/** A document. Its text is read, and its images. Files of other kinds are refused. */
export const DocumentBlock = z.object({
  type: z.literal('document'),
  title: text,
  context: text,
  source: z.discriminatedUnion('type', [
    z.object({ type: z.literal('text'), data: z.string().max(MAX_TEXT) }),
    z.object({ type: z.literal('base64'), media_type: z.string().max(MAX_NAME), data: z.string().max(MAX_DATA) }),
    z.object({
      type: z.literal('content'),
      content: z.union([
        z.string().max(MAX_TEXT),
        z.array(z.discriminatedUnion('type', [TextBlock, ImageBlock])).max(MAX_CONTENT_PARTS),
      ]),
    }),
    FileSource,
    z.object({ type: z.literal('url') }),
  ]),
});
type DocumentBlock = z.output<typeof DocumentBlock>;

/** A passage that a search of the client found. */
export const SearchResultBlock = z.object({
  type: z.literal('search_result'),
  source: z.string().max(MAX_TEXT),
  title: z.string().max(MAX_TEXT),
  content: z.array(TextBlock).max(MAX_CONTENT_PARTS),
});
type SearchResultBlock = z.output<typeof SearchResultBlock>;

/** A text or an image in a block, and where it is. */
export interface LocatedBlock {
  readonly block: TextBlock | ImageBlock;
  readonly path: string;
}

/**
 * Returns a document as the texts and images that a model reads, its title first. A file is added to `files`, and its
 * text is empty until it is read. Throws `InvalidParameter` for what is no base64, and `UnsupportedParameter` for a
 * source that the server would have to fetch.
 */
export function documentBlocks(
  { title, context, source }: DocumentBlock,
  path: string,
  files: FilePart[],
): LocatedBlock[] {
  const head = [title, context].filter((line) => line != null && line !== '');
  return [...head.map((line) => textAt(line!, path)), ...sourceBlocks(source, path, files)];
}

/** Returns a passage as the texts that a model reads: its title, its source and its own texts. */
export function searchResultBlocks({ title, source, content }: SearchResultBlock, path: string): LocatedBlock[] {
  return [
    textAt(title, path),
    textAt(source, path),
    ...content.map((block, n) => ({ block, path: `${path}.content[${n}]` })),
  ];
}

function sourceBlocks(source: DocumentBlock['source'], part: string, files: FilePart[]): LocatedBlock[] {
  const path = `${part}.source`;
  switch (source.type) {
    case 'text':
      return [textAt(source.data, `${path}.data`)];
    case 'base64': {
      const param = `${path}.data`;
      const bytes = base64Bytes(source.data);
      if (!bytes) throw invalidValue(param, 'it is not base64');
      return [fileText({ part, param, file: { name: source.media_type, bytes } }, files)];
    }
    case 'file':
      return [fileText({ part, param: `${path}.file_id`, file: { id: source.file_id } }, files)];
    case 'content': {
      const { content } = source;
      if (typeof content === 'string') return [textAt(content, `${path}.content`)];
      return content.map((block, n) => ({ block, path: `${path}.content[${n}]` }));
    }
    case 'url':
      throw unsupported(`${path}.type`, 'the server fetches no documents; give the text of the document');
  }
}

/** Returns the text of a file, which is added to `files`. It is empty until the file is read. */
function fileText(file: Pick<FilePart, 'part' | 'param' | 'file'>, files: FilePart[]): LocatedBlock {
  const block = { type: 'text' as const, text: '' };
  const put: FilePart['put'] = (content) => {
    if ('text' in content) block.text = content.text;
  };
  files.push({ ...file, kind: 'text', put });
  return { block, path: file.param };
}

const textAt = (line: string, path: string): LocatedBlock => ({ block: { type: 'text', text: line }, path });
