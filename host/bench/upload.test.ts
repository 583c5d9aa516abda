import { writeFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { skip } from '../test/skip.ts';
import { startServer } from './plugins/processes.ts';
import { measureUpload } from './upload/measure.ts';

const Upload = suite('the memory of an upload');
const UPLOAD_MIB = 256;
const FIRST_MIB = 32;

/** Returns whether the system records the maximum memory of a process from a chosen moment on (Linux). */
function canMeasure(): boolean {
  try {
    writeFileSync('/proc/self/clear_refs', '5');
    return true;
  } catch {
    return false;
  }
}

if (!canMeasure()) skip('the memory of an upload', 'this system does not record the maximum memory of a process');
else {
  Upload('does not grow with the size of the file', async () => {
    await using server = await startServer(process.execPath, '../upload/server', process.env);
    await measureUpload(server, FIRST_MIB); // loads and compiles code, allocates buffers
    const { rssMib } = await measureUpload(server, UPLOAD_MIB);
    assert.ok(
      rssMib.peak - rssMib.before < UPLOAD_MIB / 2,
      `${UPLOAD_MIB} MiB took ${rssMib.peak - rssMib.before} MiB of memory`,
    );
  });
}

Upload.run();
