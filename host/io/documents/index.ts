export { isPdf, readPdf } from './read-pdf.ts';
export { type DocumentText, readDocument, type ReadDocumentOptions } from './read-document.ts';
export { textOfBytes } from './text-of-bytes.ts';
