export { isPdf, type PdfReading, readPdf } from './read-pdf.ts';
