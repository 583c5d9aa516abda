export { isPdf, readPdf } from './read-pdf.ts';
