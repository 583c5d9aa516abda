import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { hasVnniKernels } from './processor.ts';

const Processor = suite('instructions of the processor');

const FLAGS = 'fpu sse avx2 avx512f avx512dq avx512bw avx512vl avx512_vnni amx_int8';
const withFlags = (flags: string) => hasVnniKernels(() => `processor\t: 0\nflags\t\t: ${flags}\n\nprocessor\t: 1\n`);

Processor('all flags of the kernels are needed', () => {
  assert.is(withFlags(FLAGS), process.arch === 'x64');
  for (const flag of ['avx512f', 'avx512bw', 'avx512_vnni']) {
    assert.is(withFlags(FLAGS.replace(flag, `${flag}x`)), false, flag);
  }
});

Processor('a machine without that file has no kernels', () => {
  assert.is(
    hasVnniKernels(() => ''),
    false,
  );
  assert.is(
    hasVnniKernels(() => {
      throw new Error('ENOENT');
    }),
    false,
  );
});

Processor.run();
