/** The exit code of the reader of PDFs for a PDF that it cannot read. The last line of stderr says why. */
export const EXIT_UNREADABLE = 3;
