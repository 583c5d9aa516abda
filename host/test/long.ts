/**
 * Whether measurements of whole recordings run too, which take minutes of computing: word errors of long audio, and the
 * same with more beams and voices. `npm run test:long` sets it.
 */
export const isLong = process.env['AANA_TEST_LONG'] === '1';
