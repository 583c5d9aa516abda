import { writeFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { skip } from '../test/skip.ts';
import { startServer } from './plugins/processes.ts';
import { measureUpload } from './upload/measure.ts';

const Upload = suite('the memory of an upload');
const UPLOAD_MIB = 256;
const FIRST_MIB = 32;

/** Whether the system keeps the most memory that a process had, from a moment that is chosen (Linux). */
function canMeasure(): boolean {
  try {
    writeFileSync('/proc/self/clear_refs', '5');
    return true;
  } catch {
    return false;
  }
}

if (!canMeasure()) skip('the memory of an upload', 'this system does not tell what a process had at most');
else {
  Upload('does not grow with the upload: it is the same for a file of 256 MiB as for one of 32', async () => {
    await using server = await startServer(process.execPath, '../upload/server', process.env);
    await measureUpload(server, FIRST_MIB); // code is loaded and compiled, buffers are made
    const { rssMib } = await measureUpload(server, UPLOAD_MIB);
    assert.ok(
      rssMib.peak - rssMib.before < UPLOAD_MIB / 2,
      `${UPLOAD_MIB} MiB took ${rssMib.peak - rssMib.before} MiB of memory`,
    );
  });
}

Upload.run();
