import { formatError } from './format-error.ts';
import type { PartedFile } from './parted-file.ts';

/** Element types of CTranslate2's files. */
export type Ct2Type = 'float32' | 'int8' | 'int16' | 'int32' | 'float16' | 'bfloat16';

export interface Ct2Variable {
  readonly name: string;
  readonly shape: readonly number[];
  readonly type: Ct2Type;
  /** Offset of the data in the file. */
  readonly offset: number;
  readonly bytes: number;
}

/** The table of variables of a CTranslate2 model. Their data stays in the file. */
export interface Ct2Model {
  readonly spec: string;
  readonly revision: number;
  readonly file: PartedFile;
  readonly variableByName: ReadonlyMap<string, Ct2Variable>;
}

const BINARY_VERSION = 6;
const TYPES: readonly Ct2Type[] = ['float32', 'int8', 'int16', 'int32', 'float16', 'bfloat16'];
const ITEM_BYTES: Readonly<Record<Ct2Type, number>> = {
  float32: 4,
  int8: 1,
  int16: 2,
  int32: 4,
  float16: 2,
  bfloat16: 2,
};
const MAX_VARIABLES = 100_000;
const MAX_RANK = 8;

/**
 * Reads the table of variables of a `model.bin`. Throws `ModelFormatError` for any other file and for a truncated one.
 */
export async function readCtranslate2(file: PartedFile): Promise<Ct2Model> {
  let at = 0;
  const take = async (length: number): Promise<Buffer> => {
    const field = await file.readField(at, length);
    at += length;
    return field;
  };
  const uint32 = async (): Promise<number> => (await take(4)).readUInt32LE(0);
  const text = async (): Promise<string> => {
    const length = (await take(2)).readUInt16LE(0); // counts the closing NUL
    if (length === 0) throw formatError(file.label, 'this is not a CTranslate2 model');
    return (await take(length)).toString('utf8', 0, length - 1);
  };

  const version = await uint32();
  if (version !== BINARY_VERSION) {
    const reason =
      version < 20
        ? `CTranslate2 files of version ${version} are not supported; only version ${BINARY_VERSION} is`
        : 'this is not a CTranslate2 model';
    throw formatError(file.label, reason);
  }
  const spec = await text();
  const revision = await uint32();
  const count = await uint32();
  if (count > MAX_VARIABLES) throw formatError(file.label, 'this is not a CTranslate2 model');
  const variableByName = new Map<string, Ct2Variable>();
  for (let index = 0; index < count; index += 1) {
    const name = await text();
    const rank = (await take(1)).readUInt8(0);
    if (rank > MAX_RANK) throw formatError(file.label, `${name} has ${rank} dimensions; the file is damaged`);
    const shape: number[] = [];
    for (let axis = 0; axis < rank; axis += 1) shape.push(await uint32());
    const code = (await take(1)).readUInt8(0);
    const type = TYPES[code];
    if (type === undefined) throw formatError(file.label, `${name} has the unknown type ${code}; the file is damaged`);
    const bytes = await uint32();
    const expected = shape.reduce((product, length) => product * length, ITEM_BYTES[type]);
    if (bytes !== expected)
      throw formatError(file.label, `${name} has ${bytes} bytes instead of ${expected}; the file is damaged`);
    variableByName.set(name, { name, shape, type, offset: at, bytes });
    at += bytes;
  }
  const aliases = await uint32();
  if (aliases > MAX_VARIABLES) throw formatError(file.label, 'its list of aliases is damaged');
  for (let index = 0; index < aliases; index += 1) {
    const alias = await text();
    const target = variableByName.get(await text());
    if (target) variableByName.set(alias, target);
  }
  if (at !== file.bytes)
    throw formatError(file.label, `its table ends at byte ${at}, but the file has ${file.bytes} bytes`);
  return { spec, revision, file, variableByName };
}

export function requireVariable(model: Ct2Model, name: string, rank: number): Ct2Variable {
  const found = model.variableByName.get(name);
  if (!found) throw formatError(model.file.label, `the model has no variable ${name}`);
  if (found.shape.length !== rank)
    throw formatError(model.file.label, `${name} has ${found.shape.length} dimensions, expected ${rank}`);
  return found;
}

/** Reads an integer that is stored as a variable, such as `encoder/num_heads`. */
export async function readScalar(model: Ct2Model, name: string): Promise<number> {
  const { type, offset, bytes } = requireVariable(model, name, 0);
  const data = await model.file.read(offset, bytes);
  if (type === 'int8') return data.readInt8(0);
  if (type === 'int16') return data.readInt16LE(0);
  if (type === 'int32') return data.readInt32LE(0);
  throw formatError(model.file.label, `${name} is not an integer`);
}
