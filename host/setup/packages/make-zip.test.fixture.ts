import { crc32, deflateRawSync } from 'node:zlib';

/** Returns a zip. Its members are uncompressed, or deflated and then `surplus` bytes shorter than it says. */
export function makeZip(members: Readonly<Record<string, Buffer>>, surplus?: number): Buffer {
  const locals: Buffer[] = [];
  const centrals: Buffer[] = [];
  let at = 0;
  for (const [name, data] of Object.entries(members)) {
    const label = Buffer.from(name);
    const common = Buffer.alloc(26);
    const packed = surplus === undefined ? data : deflateRawSync(data);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(surplus === undefined ? 0 : 8, 4);
    common.writeUInt32LE(crc32(data), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(data.length + (surplus ?? 0), 18);
    common.writeUInt16LE(label.length, 22);
    const local = Buffer.concat([Buffer.from('PK\u0003\u0004', 'latin1'), common, label, packed]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(at, 10);
    centrals.push(Buffer.concat([Buffer.from('PK\u0001\u0002\u0014\u0000', 'latin1'), common, rest, label]));
    locals.push(local);
    at += local.length;
  }
  const directory = Buffer.concat(centrals);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(centrals.length, 4);
  end.writeUInt16LE(centrals.length, 6);
  end.writeUInt32LE(directory.length, 8);
  end.writeUInt32LE(at, 12);
  return Buffer.concat([...locals, directory, Buffer.from('PK\u0005\u0006', 'latin1'), end]);
}
